/** What of a schema the page shows. */
export interface Schema {
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: string | number | boolean;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly 'x-kubernetes-validations'?: ReadonlyArray<{ readonly message?: string }>;
}

export interface Definition {
  readonly resource: { readonly kind: string; readonly plural: string };
  readonly shortName: string;
  readonly spec: Schema;
  readonly status: Schema;
  readonly rules?: object;
  readonly columns: ReadonlyArray<{ readonly name: string }>;
}

export function referencePage(definitions: Readonly<Record<string, Definition>>): string;
