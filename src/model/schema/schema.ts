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

type More = Omit<ResourceSchema, 'type' | 'description'>;
type NoMore = Record<never, never>;

export const textField = <const M extends More = NoMore>(description: string, more?: M) =>
  ({ type: 'string', ...described(description), ...(more as M) }) as const;

export const nameField = (description = '') => textField(description, { maxLength: 253 });
export const uidField = (description = '') => textField(description, { maxLength: 128 });
export const timeField = (description = '') => textField(description, { format: 'date-time' });

export const integerField = <const M extends More = NoMore>(description: string, more?: M) =>
  ({ type: 'integer', format: 'int64', ...described(description), ...(more as M) }) as const;

export const countField = (description = '') => integerField(description, { minimum: 0 });

export const flagField = <const M extends More = NoMore>(description: string, more?: M) =>
  ({ type: 'boolean', ...described(description), ...(more as M) }) as const;

/** A list; `atomic` unless `more` says otherwise: whoever applies it owns it whole. */
export const listField = <const I extends ResourceSchema, const M extends More = NoMore>(
  description: string,
  maxItems: number,
  items: I,
  more?: M,
) =>
  ({
    type: 'array',
    ...described(description),
    maxItems,
    'x-kubernetes-list-type': 'atomic',
    items,
    ...more,
  }) as { readonly type: 'array'; readonly maxItems: number; readonly items: I } & M;

export const objectField = <
  const P extends Readonly<Record<string, ResourceSchema>>,
  const R extends ReadonlyArray<keyof P & string>,
  const M extends More = NoMore,
>(
  description: string,
  required: R,
  properties: P,
  more?: M,
) =>
  ({
    type: 'object',
    ...described(description),
    ...(required.length > 0 ? { required } : {}),
    properties,
    ...(more as M),
  }) as {
    readonly type: 'object';
    readonly description?: string;
    readonly required: R;
    readonly properties: P;
  } & M;

/** A list of objects. */
export const recordList = <
  const P extends Readonly<Record<string, ResourceSchema>>,
  const R extends ReadonlyArray<keyof P & string>,
>(
  maxItems: number,
  required: R,
  properties: P,
) => listField('', maxItems, objectField('', required, properties));

const described = (description: string) => (description === '' ? {} : { description });

/** The rules of a value, and their twin in TypeScript. */
export const ruled = <Value>(
  rules: readonly CelRule[],
  twin: (value: Value, path: string) => string[],
) => ({ 'x-kubernetes-validations': rules, [check]: twin as Check }) as const;
