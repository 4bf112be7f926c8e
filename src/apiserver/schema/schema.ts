/**
 * A schema, as a CustomResourceDefinition carries it and as the built-in kinds
 * are described: one form for both, so that pruning, defaults, validation,
 * patches by key and field ownership are each written once.
 */
export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  nullable?: boolean;
  default?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  required?: string[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: 'atomic' | 'granular';
  'x-kubernetes-patch-merge-key'?: string;
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-validations'?: Rule[];
}

/** A CEL rule. */
export interface Rule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** Finds what a `$ref` names; custom resources have none. */
export type Resolve = (schema: Schema | undefined) => Schema;

const nothing: Schema = {};

export function resolver(definitions: Record<string, Schema>): Resolve {
  return (schema) => {
    if (schema === undefined) return nothing;
    if (schema.$ref === undefined) return schema;
    const target = definitions[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)] ?? nothing;
    // What stands beside the reference (a list type, a default) belongs to this use of it.
    return Object.keys(schema).length === 1 ? target : { ...target, ...schema };
  };
}

/** The schema of an object's field, if there is one. */
export function fieldSchema(schema: Schema, name: string): Schema | undefined {
  const known = Object.hasOwn(schema.properties ?? {}, name)
    ? schema.properties?.[name]
    : undefined;
  if (known !== undefined) return known;
  const { additionalProperties } = schema;
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}
