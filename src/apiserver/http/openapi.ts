/**
 * OpenAPI v3, one document for each group and version: what kubectl validates
 * by, explains from, and reads merge keys out of. Made when it is asked for
 * and kept until the set of resources changes.
 */
import { createHash } from 'node:crypto';
import { builtinDefinitions } from '../builtin/kinds.ts';
import type { Registry } from '../registry.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import type { Schema } from '../schema/schema.ts';
import { patchTypes } from '../verbs/patch.ts';

const gvk = 'x-kubernetes-group-version-kind';

interface Document {
  body: object;
  hash: string;
}

const made = new WeakMap<Registry, { revision: number; documents: Map<string, Document> }>();

function documents(registry: Registry): Map<string, Document> {
  const known = made.get(registry);
  if (known?.revision === registry.revision) return known.documents;
  const byPath = new Map<string, ResourceType[]>();
  for (const type of registry.all()) {
    const path = `${type.group === '' ? 'api' : 'apis'}/${apiVersionOf(type)}`;
    byPath.set(path, [...(byPath.get(path) ?? []), type]);
  }
  const fresh = new Map<string, Document>();
  for (const [path, types] of byPath) {
    const body = documentOf(path, types);
    const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex').toUpperCase();
    fresh.set(path, { body, hash });
  }
  made.set(registry, { revision: registry.revision, documents: fresh });
  return fresh;
}

export function openApiPaths(registry: Registry): object {
  const paths: Record<string, object> = {};
  for (const [path, { hash }] of documents(registry)) {
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` };
  }
  return { paths };
}

export function openApi(registry: Registry, path: string): object | undefined {
  return documents(registry).get(path)?.body;
}

/** All of it in the older form: the schemas, without the paths. */
export function swagger(registry: Registry): object {
  const definitions: Record<string, object> = {};
  for (const { body } of documents(registry).values()) {
    const { schemas } = (body as { components: { schemas: Record<string, Schema> } }).components;
    for (const [name, schema] of Object.entries(schemas)) definitions[name] = olderForm(schema);
  }
  const text = JSON.stringify(definitions).replaceAll('#/components/schemas/', '#/definitions/');
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: 'embedded' },
    paths: {},
    definitions: JSON.parse(text),
  };
}

/** What takes any field says nothing else there: kubectl would refuse fields beside those it names. */
function olderForm(schema: Schema & { [gvk]?: object }): object {
  if (schema['x-kubernetes-preserve-unknown-fields'] !== true || !schema[gvk]) return schema;
  return { type: 'object', [gvk]: schema[gvk] };
}

/**
 * The same in protobuf, without any schema: what a client does not find there
 * it leaves to the server, which looks at every object of a List by itself.
 */
export const swaggerProtobuf = Buffer.from([0x0a, 3, ...Buffer.from('2.0')]);

function documentOf(path: string, types: ResourceType[]): object {
  const schemas: Record<string, Schema> = {};
  const take = (schema: unknown): void => {
    for (const name of references(schema)) {
      if (schemas[name] !== undefined) continue;
      schemas[name] = builtinDefinitions[name] as Schema;
      take(schemas[name]);
    }
  };
  const paths: Record<string, object> = {};
  for (const type of types) {
    const name = type.isCustom ? customName(type) : (references(type.schema)[0] as string);
    const kinds = [{ group: type.group, version: type.version, kind: type.kind }];
    const named = {
      ...(type.isCustom ? type.schema : builtinDefinitions[name]),
      'x-kubernetes-group-version-kind': kinds,
    };
    schemas[name] = named;
    take(named);
    Object.assign(paths, pathsOf(path, type, name));
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'embedded' },
    paths,
    components: { schemas },
  };
}

function customName({ group, version, kind }: ResourceType): string {
  return [...group.split('.').reverse(), version, kind].join('.');
}

function references(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string'
      ? [value.slice(value.lastIndexOf('/') + 1)]
      : references(value),
  );
}

function pathsOf(root: string, type: ResourceType, schemaName: string): Record<string, object> {
  const { group, version, kind, plural, namespaced } = type;
  const gvk = { 'x-kubernetes-group-version-kind': { group, version, kind } };
  const parameter = (name: string) => ({
    name,
    in: 'query',
    schema: { type: 'string', uniqueItems: true },
  });
  const content = {
    'application/json': { schema: { $ref: `#/components/schemas/${schemaName}` } },
  };
  const responses = { 200: { description: 'OK', content } };
  const write = {
    parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map(parameter),
    responses,
    ...gvk,
  };
  const act = (action: string, operation: object) => ({
    'x-kubernetes-action': action,
    ...operation,
  });
  const accepted = Object.keys(patchTypes).filter(
    (media) => !(type.isCustom && media.includes('strategic')),
  );
  const patchBody = {
    content: Object.fromEntries(accepted.map((media) => [media, { schema: { type: 'object' } }])),
    required: true,
  };
  const place = namespaced ? `/${root}/namespaces/{namespace}/${plural}` : `/${root}/${plural}`;
  const read = { parameters: [], responses, ...gvk };
  return {
    [place]: { get: act('list', read), post: act('post', { ...write, requestBody: { content } }) },
    [`${place}/{name}`]: {
      get: act('get', read),
      put: act('put', { ...write, requestBody: { content } }),
      patch: act('patch', { ...write, requestBody: patchBody }),
      delete: act('delete', read),
    },
  };
}
