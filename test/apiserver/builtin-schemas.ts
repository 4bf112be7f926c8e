/**
 * The shape of the built-in kinds, read from a real API server: which fields
 * there are, of which type, which lists are keyed by what. Names and types
 * only; what a field means is Kubernetes' own documentation.
 */
import { builtinKinds } from '../../src/apiserver/builtin/kinds.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Definition = { [key: string]: Json };

/** Kept of a schema: what decides about a value, not what explains it. */
const kept = [
  'type',
  'format',
  'required',
  'default',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-patch-strategy',
  'x-kubernetes-group-version-kind',
];

interface OpenApi {
  components: { schemas: Record<string, Definition> };
}

export async function readBuiltinSchemas(
  read: (path: string) => Promise<unknown>,
): Promise<Record<string, Definition>> {
  const found: Record<string, Definition> = {};
  const documents = new Map<string, OpenApi>();
  for (const wanted of builtinKinds) {
    const { group, version } = wanted;
    const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
    const document = documents.get(path) ?? ((await read(`/openapi/v3/${path}`)) as OpenApi);
    documents.set(path, document);
    const { schemas } = document.components;
    const take = (name: string) => {
      if (found[name] !== undefined) return;
      const reduced = reduce(schemas[name] as Definition);
      found[name] = reduced;
      for (const other of references(reduced)) take(other);
    };
    const name = Object.keys(schemas).find((each) => isOf(schemas[each], wanted));
    if (name === undefined) throw new Error(`${path} has no ${wanted.kind}`);
    take(name);
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** One line a definition, so that a change of one kind is a change of few lines. */
export function asText(schemas: Record<string, Definition>): string {
  const lines = Object.entries(schemas).map(
    ([name, schema]) => `"${name}":${JSON.stringify(schema)}`,
  );
  return `{\n${lines.join(',\n')}\n}\n`;
}

function isOf(schema: Definition | undefined, wanted: object): boolean {
  const kinds = (schema?.['x-kubernetes-group-version-kind'] ?? []) as Definition[];
  return kinds.some((kind) => Object.entries(wanted).every(([key, value]) => kind[key] === value));
}

function reduce(schema: Definition): Definition {
  // A reference with a default or a description beside it comes wrapped.
  const wrapped = (schema.allOf as Definition[] | undefined)?.[0];
  const reduced: Definition = wrapped === undefined ? {} : { $ref: wrapped.$ref as string };
  if (schema.$ref !== undefined) reduced.$ref = schema.$ref;
  for (const key of kept) {
    // Default "" or {} says nothing: it is what absence means.
    const value = schema[key];
    if (value === undefined) continue;
    if (key === 'default' && (value === '' || value === 0 || typeof value === 'object')) continue;
    // The kinds of DeleteOptions and the like: one for each group.
    if (key === 'x-kubernetes-group-version-kind' && (value as Json[]).length > 1) continue;
    reduced[key] = value;
  }
  if (schema.oneOf !== undefined && schema.format === 'int-or-string') {
    reduced['x-kubernetes-int-or-string'] = true;
    delete reduced.type;
  }
  if (schema.properties !== undefined) {
    reduced.properties = Object.fromEntries(
      Object.entries(schema.properties as Record<string, Definition>).map(([name, each]) => [
        name,
        reduce(each),
      ]),
    );
  }
  if (schema.items !== undefined) reduced.items = reduce(schema.items as Definition);
  if (typeof schema.additionalProperties === 'object' && schema.additionalProperties !== null) {
    reduced.additionalProperties = reduce(schema.additionalProperties as Definition);
  }
  return reduced;
}

function references(schema: Json): string[] {
  if (Array.isArray(schema)) return schema.flatMap(references);
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string'
      ? [value.slice(value.lastIndexOf('/') + 1)]
      : references(value),
  );
}
