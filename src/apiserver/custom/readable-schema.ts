/**
 * Whether what a definition calls a schema is one at all. Its own description is the built-in
 * JSONSchemaProps; a body that does not keep to it cannot be read, as in Go.
 */
import definitions from '../builtin/schemas.json' with { type: 'json' };
import { isFields } from '../object.ts';
import { resolver, type Schema } from '../schema/schema.ts';
import { validate } from '../schema/validate.ts';
import type { Fault } from '../status.ts';

const prefix = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps';
const builtin = definitions as unknown as Record<string, Schema>;
const schemaProps = builtin[prefix] as Schema;

const resolve = resolver({
  ...builtin,
  [`${prefix}OrArray`]: schemaProps,
  [`${prefix}OrBool`]: { anyOf: [{ type: 'boolean' }, schemaProps] },
});

/** Takes nulls away, as reading does in Go, and says what is of another type than it must be. */
export function readSchema(schema: unknown, path: string): Fault[] {
  dropNulls(schema);
  return validate(schema, schemaProps, resolve, path);
}

/** These hold values of the resource, of which null is one. */
const data = ['default', 'enum', 'example'];

function dropNulls(value: unknown): void {
  if (Array.isArray(value)) {
    for (const [at, each] of value.entries()) {
      if (each === null) value[at] = {};
      else dropNulls(each);
    }
  } else if (isFields(value)) {
    for (const [key, each] of Object.entries(value)) {
      if (data.includes(key)) continue;
      if (each === null) delete value[key];
      else dropNulls(each);
    }
  }
}
