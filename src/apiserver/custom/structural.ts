/**
 * A schema must be structural: every field has a type of its own, and nothing
 * that adds fields hides inside allOf and the like. Otherwise pruning,
 * defaults and ownership of fields would mean nothing.
 */
import { regularExpression } from '../regular-expression.ts';
import type { Schema } from '../schema/schema.ts';
import { type Fault, faults } from '../status.ts';

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

export function structuralFaults(schema: Schema, path: string, isRoot = true): Fault[] {
  const found: Fault[] = [];
  const isTyped = schema.type !== undefined && schema.type !== '';
  if (isRoot && schema.type !== 'object') {
    found.push(faults.invalid(`${path}.type`, schema.type ?? '', 'must be object at the root'));
  } else if (
    !isTyped &&
    schema['x-kubernetes-int-or-string'] !== true &&
    schema['x-kubernetes-preserve-unknown-fields'] !== true
  ) {
    found.push(faults.required(`${path}.type`, 'must not be empty for specified object fields'));
  }
  if (isTyped && !types.includes(schema.type as string)) {
    found.push(faults.unsupported(`${path}.type`, schema.type, types));
  }
  if (schema.type === 'array' && schema.items === undefined) {
    found.push(faults.required(`${path}.items`, 'must be specified'));
  }
  if (schema['x-kubernetes-list-type'] === 'map') {
    if (!schema['x-kubernetes-list-map-keys']?.length) {
      found.push(
        faults.required(
          `${path}.x-kubernetes-list-map-keys`,
          'must not be empty if x-kubernetes-list-type is map',
        ),
      );
    }
    for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
      const isSure =
        schema.items?.required?.includes(key) ||
        schema.items?.properties?.[key]?.default !== undefined;
      if (!isSure) {
        found.push(
          faults.required(
            `${path}.items.properties[${key}].default`,
            'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
          ),
        );
      }
    }
  }
  if (schema.properties !== undefined && isObject(schema.additionalProperties)) {
    found.push(
      faults.forbidden(`${path}.additionalProperties`, 'must not be set together with properties'),
    );
  }
  if (isRoot) found.push(...patternFaults(schema, path));
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    // The object's own metadata is the server's: said or not said, it is the same.
    if (isRoot && (name === 'metadata' || name === 'apiVersion' || name === 'kind')) continue;
    found.push(...structuralFaults(child, `${path}.properties[${name}]`, false));
  }
  if (schema.items !== undefined) {
    found.push(...structuralFaults(schema.items, `${path}.items`, false));
  }
  if (isObject(schema.additionalProperties)) {
    found.push(
      ...structuralFaults(schema.additionalProperties, `${path}.additionalProperties`, false),
    );
  }
  return found;
}

/** Patterns that Go could not read, wherever they stand. */
function patternFaults(schema: Schema, path: string): Fault[] {
  const found: Fault[] = [];
  if (schema.pattern !== undefined) {
    const made = regularExpression(schema.pattern);
    if ('complaint' in made) {
      const why = `must be a valid regular expression, but isn't: ${made.complaint}`;
      found.push(faults.invalid(`${path}.pattern`, schema.pattern, why));
    }
  }
  const inside: [string, unknown][] = [
    ...Object.entries(schema.properties ?? {}).map(([name, child]): [string, Schema] => [
      `properties[${name}]`,
      child,
    ]),
    ...(['allOf', 'anyOf', 'oneOf'] as const).flatMap((name) =>
      (schema[name] ?? []).map((child, at): [string, Schema] => [`${name}[${at}]`, child]),
    ),
    ['items', schema.items],
    ['additionalProperties', schema.additionalProperties],
    ['not', schema.not],
  ];
  for (const [name, child] of inside) {
    if (isObject(child)) found.push(...patternFaults(child, `${path}.${name}`));
  }
  return found;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null;
}
