/**
 * What happens to an object before it is judged: fields nobody declared go,
 * defaults come. Both walk the object along its schema and change it in place.
 */
import { copyOf, isFields, put } from '../object.ts';
import { fieldSchema, type Resolve, type Schema } from './schema.ts';

/** Drops undeclared fields; returns their paths, for strict clients. */
export function prune(value: unknown, schema: Schema, resolve: Resolve): string[] {
  const dropped: string[] = [];
  pruneInto(dropped, value, schema, resolve, '');
  return dropped;
}

function pruneInto(
  dropped: string[],
  value: unknown,
  schema: Schema,
  resolve: Resolve,
  path: string,
): void {
  const here = resolve(schema);
  if (Array.isArray(value)) {
    if (here.items === undefined) return;
    for (const [at, each] of value.entries()) {
      pruneInto(dropped, each, here.items, resolve, `${path}[${at}]`);
    }
  }
  if (!isFields(value)) return;
  const isOpen =
    here['x-kubernetes-preserve-unknown-fields'] === true ||
    here.additionalProperties === true ||
    // Without a type anything goes: a Quantity, a piece of JSON.
    (here.type === undefined &&
      here.properties === undefined &&
      here.additionalProperties === undefined);
  for (const key of Object.keys(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    if (here['x-kubernetes-embedded-resource'] && isEmbeddedField(key)) continue;
    const child = fieldSchema(here, key);
    if (child !== undefined) pruneInto(dropped, value[key], child, resolve, at);
    else if (!isOpen) {
      delete value[key];
      dropped.push(at);
    }
  }
}

function isEmbeddedField(key: string): boolean {
  return key === 'apiVersion' || key === 'kind' || key === 'metadata';
}

/** Puts defaults where nothing is given; a null where null is not allowed counts as nothing. */
export function fillDefaults(value: unknown, schema: Schema, resolve: Resolve): void {
  const here = resolve(schema);
  if (Array.isArray(value)) {
    if (here.items !== undefined) for (const each of value) fillDefaults(each, here.items, resolve);
    return;
  }
  if (!isFields(value)) return;
  for (const [name, child] of Object.entries(here.properties ?? {})) {
    const field = resolve(child);
    if (value[name] === null && field.nullable !== true) delete value[name];
    if (value[name] === undefined && field.default !== undefined)
      put(value, name, copyOf(field.default));
    if (value[name] !== undefined) fillDefaults(value[name], field, resolve);
  }
  if (isFields(here.additionalProperties)) {
    for (const [name, each] of Object.entries(value)) {
      if (here.properties?.[name] === undefined)
        fillDefaults(each, here.additionalProperties, resolve);
    }
  }
}

const zeros: Record<string, unknown> = { string: '', integer: 0, number: 0, boolean: false };

/** What Go makes of a null in a list or a map: the zero of its type. */
function zeroOf(schema: Schema): unknown {
  if (schema.type === 'object') return {};
  return zeros[schema.type ?? ''] ?? null;
}

/**
 * Built-in kinds read null as absence, and do not keep an empty map or list
 * that nothing asks for. An empty struct is kept: being there is what it says.
 */
export function dropEmpty(value: unknown, schema: Schema | undefined, resolve: Resolve): void {
  const here = resolve(schema);
  if (isOpaque(here)) return;
  if (Array.isArray(value)) {
    const items = resolve(here.items);
    for (const [at, each] of value.entries()) {
      if (each === null) value[at] = zeroOf(items);
      else dropEmpty(each, items, resolve);
    }
  } else if (isFields(value)) {
    for (const [key, each] of Object.entries(value)) {
      const isOfMap = here.properties === undefined && isFields(here.additionalProperties);
      const child = resolve(fieldSchema(here, key));
      if (each === null && isOfMap) put(value, key, zeroOf(child));
      else {
        dropEmpty(each, child, resolve);
        const isMap = isFields(each) && child.additionalProperties !== undefined;
        const isList = Array.isArray(each) && child.type === 'array';
        const isEmpty = (isMap || isList) && Object.keys(each).length === 0;
        if (each === null || (isEmpty && !here.required?.includes(key))) delete value[key];
      }
    }
  }
}

/** What may be anything is somebody else's: a revision's data, byte by byte. */
function isOpaque(schema: Schema): boolean {
  const { type, properties, additionalProperties } = schema;
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  return ![type, properties, additionalProperties].some((each) => each !== undefined) && !isOpen;
}

/** What a schema requires and nobody said is what Go makes of it: nothing, zero, false. */
export function fillZeros(value: unknown, schema: Schema | undefined, resolve: Resolve): void {
  const here = resolve(schema);
  if (Array.isArray(value)) for (const each of value) fillZeros(each, here.items, resolve);
  else if (isFields(value)) {
    for (const name of here.required ?? []) {
      const zero = zeros[resolve(here.properties?.[name]).type ?? ''];
      if (value[name] === undefined && zero !== undefined) put(value, name, zero);
    }
    for (const [key, each] of Object.entries(value)) {
      fillZeros(each, fieldSchema(here, key), resolve);
    }
  }
}
