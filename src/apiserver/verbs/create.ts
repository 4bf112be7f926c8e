import { type Api, collectionOf, keyIn, type ResourceScope } from '../api.ts';
import { recordUpdate } from '../fields/managed-fields.ts';
import { randomSuffix } from '../names.ts';
import type { ApiObject, Fields } from '../object.ts';
import { timestamp } from '../object.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import { fillDefaults } from '../schema/shape.ts';
import { ApiRefusal, alreadyExists, badRequest, notFound } from '../status.ts';
import { decode, type WriteQuery } from './decode.ts';
import { mustBeValid } from './judge.ts';

export interface Written {
  object: ApiObject;
  code: 200 | 201;
  /** Resolves when the change is on disk. */
  safe: Promise<void>;
}

/** Creates from a body that somebody sent. */
export function create(
  api: Api,
  place: ResourceScope,
  body: unknown,
  options: WriteQuery,
): Written {
  const object = decode(place.type, body, options);
  return createDecoded(api, place, object, options);
}

export function createDecoded(
  api: Api,
  place: ResourceScope,
  object: ApiObject,
  options: WriteQuery,
  /** Server-side apply brings its own record of who owns what. */
  ownership?: ApiObject['metadata']['managedFields'],
): Written {
  const { type } = place;
  // What is no version counts for none.
  if (Number(object.metadata.resourceVersion) > 0) {
    throw new ApiRefusal(500, '', 'resourceVersion should not be set on objects to be created');
  }
  settleNamespace(api, place, object);
  settleNewMeta(api, type, object);
  if (type.isCustom && type.hasStatus) delete object.status;
  fillDefaults(object, type.schema, type.resolve);
  type.kindRules.prepareCreate?.(object);
  mustBeValid(type, object, undefined);
  options.warnings.push(...(type.kindRules.warnings?.(object) ?? []));
  const collection = collectionOf(api, type);
  const key = keyIn(place, object.metadata.name);
  if (collection.get(key) !== undefined) throw alreadyExists(type, object.metadata.name);
  const now = timestamp(api.nowMs());
  if (ownership === undefined) {
    recordUpdate(type, undefined, object, { ...options, subresource: undefined, now });
  } else {
    object.metadata.managedFields = ownership;
  }
  object.apiVersion = apiVersionOf({ group: type.group, version: type.storageVersion });
  if (options.dryRun) return { object, code: 201, safe: Promise.resolve() };
  const stored = type.conversion?.toStored(object) ?? object;
  const { entry, safe } = api.store.put(collection, key, inFieldOrder(stored));
  return { object: entry.object, code: 201, safe };
}

function settleNamespace(api: Api, { type, namespace }: ResourceScope, object: ApiObject): void {
  const said = object.metadata.namespace;
  if (!type.namespaced) {
    delete object.metadata.namespace;
    return;
  }
  if (namespace === undefined)
    throw badRequest('an empty namespace may not be set during creation');
  if (said !== undefined && said !== namespace) {
    throw badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  object.metadata.namespace = namespace;
  const home = api.store.collection('namespaces').get(namespace)?.object;
  if (home === undefined) {
    throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
  }
  if (home.metadata.deletionTimestamp !== undefined) {
    const qualified = type.group === '' ? type.plural : `${type.plural}.${type.group}`;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    throw new ApiRefusal(
      403,
      'Forbidden',
      `${qualified} "${object.metadata.name}" is forbidden: ${why}`,
      {
        name: object.metadata.name,
        kind: type.plural,
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      },
    );
  }
}

function settleNewMeta(api: Api, type: ResourceType, object: ApiObject): void {
  const { metadata } = object;
  for (const field of [
    'resourceVersion',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'selfLink',
    'managedFields',
    'generation',
  ]) {
    delete metadata[field];
  }
  if (!metadata.name && metadata.generateName) {
    metadata.name = `${metadata.generateName.slice(0, 58)}${randomSuffix(api.random)}`;
  }
  metadata.uid = api.newUid();
  metadata.creationTimestamp = timestamp(api.nowMs());
  if (type.hasGeneration) metadata.generation = 1;
}

/** The fields people look for first come first. */
export function inFieldOrder(object: ApiObject): ApiObject {
  const { apiVersion, kind, metadata, ...rest } = object;
  return { apiVersion, kind, metadata, ...(rest as Fields) };
}
