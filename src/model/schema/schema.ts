/**
 * The schema of a resource is one value, and everything follows from it: the
 * definition that the API server gets (../crd.ts), what is wrong with an
 * object that never met an API server (schema-problems.ts), and the limits,
 * defaults and TypeScript types that readers use.
 *
 * It is OpenAPI v3 as Kubernetes wants it (structural), with one thing beside it:
 * a CEL rule needs an engine, so every value with rules also carries a `check`
 * that says the same in TypeScript. The symbol keeps it out of the JSON. That rules and
 * checks agree is tested against the embedded API server (schema-agreement.test.ts).
 */
export interface ResourceSchema {
  readonly type: 'string' | 'integer' | 'boolean' | 'array' | 'object';
  readonly format?: 'int64' | 'date-time';
  readonly description?: string;
  readonly default?: string | number | boolean;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: ResourceSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, ResourceSchema>>;
  readonly additionalProperties?: ResourceSchema;
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
  readonly [check]?: Check;
}

export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
}

/** Finds what the schema alone cannot say, in a value that has the right shape: clauses that begin with a path. */
export type Check = (value: never, path: string) => string[];

export const check: unique symbol = Symbol('check');

/** The TypeScript type of what a schema allows. A field with a default is always there once read. */
export type ValueOf<S> = S extends { enum: ReadonlyArray<infer Word> }
  ? Word
  : S extends { type: 'string' }
    ? string
    : S extends { type: 'integer' }
      ? number
      : S extends { type: 'boolean' }
        ? boolean
        : S extends { items: infer Item }
          ? ReadonlyArray<ValueOf<Item>>
          : S extends { properties: infer Fields }
            ? FieldsOf<Fields, Sure<S, Fields>>
            : S extends { additionalProperties: infer Each }
              ? Readonly<Record<string, ValueOf<Each>>>
              : Readonly<Record<string, unknown>>;

type Sure<S, Fields> =
  | (S extends { required: ReadonlyArray<infer Name> } ? Name : never)
  | {
      [Name in keyof Fields]: Fields[Name] extends { default: unknown } ? Name : never;
    }[keyof Fields];

type FieldsOf<Fields, Always> = {
  readonly [Name in keyof Fields as Name extends Always ? Name : never]: ValueOf<Fields[Name]>;
} & {
  readonly [Name in keyof Fields as Name extends Always ? never : Name]?:
    | ValueOf<Fields[Name]>
    | null
    | undefined;
};

/** The rules of a value, and their twin in TypeScript. */
export const ruled = <Value>(
  rules: readonly CelRule[],
  twin: (value: Value, path: string) => string[],
) => ({ 'x-kubernetes-validations': rules, [check]: twin as Check }) as const;
