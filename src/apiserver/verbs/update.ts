/**
 * PUT and PATCH. Both come down to one thing: from the object as it is now and
 * what was asked, the object as it shall be. Nothing is awaited between
 * reading and storing, so no change can come in between.
 */
import { type Api, collectionOf, keyIn, type ObjectTarget } from '../api.ts';
import { recordUpdate } from '../fields/managed-fields.ts';
import { type ApiObject, type ApiObjectMeta, copyOf, isEqual, timestamp } from '../object.ts';
import { apiVersionOf } from '../resource.ts';
import { fillDefaults } from '../schema/shape.ts';
import { badRequest, conflict, faults, invalid, modified, notFound } from '../status.ts';
import type { Entry } from '../store/collection.ts';
import { createDecoded, inFieldOrder, type Written } from './create.ts';
import { decode, type WriteQuery } from './decode.ts';
import { generateNameFaults, mustBeValid } from './judge.ts';

export function replace(
  api: Api,
  target: ObjectTarget,
  body: unknown,
  options: WriteQuery,
): Written {
  const { type, name } = target;
  const object = decode(type, body, options);
  mustBeNamed(target, object);
  const current = collectionOf(api, type).get(keyIn(target, name));
  if (current === undefined) {
    if (!type.createsOnUpdate || target.subresource !== undefined) throw notFound(type, name);
    return createDecoded(api, target, object, options);
  }
  mustBeSame(target, object, current.object);
  if (!object.metadata.resourceVersion && !type.updatesUnconditionally) {
    throw invalid({ ...type, kind: type.plural }, name, [
      faults.invalid('metadata.resourceVersion', 0, 'must be specified for an update'),
    ]);
  }
  return storeUpdate(api, target, current, object, options);
}

export function mustBeNamed({ name, namespace }: ObjectTarget, { metadata }: ApiObject): void {
  if (!metadata.name) {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (metadata.name !== name) {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  if (namespace !== undefined && (metadata.namespace ?? namespace) !== namespace) {
    throw badRequest('the namespace of the object does not match the namespace on the request');
  }
}

/** Who names a uid means no other object of that name. */
function mustBeSame({ type, name }: ObjectTarget, { metadata }: ApiObject, old: ApiObject): void {
  if (!metadata.uid || metadata.uid === old.metadata.uid) return;
  const why = `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${old.metadata.uid}`;
  throw conflict(type, name, why);
}

type Ownership = NonNullable<ApiObjectMeta['managedFields']>;

/** Stores `object` in place of `current`, unless that changes nothing. */
export function storeUpdate(
  api: Api,
  target: ObjectTarget,
  current: Entry,
  object: ApiObject,
  options: WriteQuery,
  /** Server-side apply brings its own record of who owns what. */
  ownership?: Ownership,
): Written {
  const { type, name, subresource } = target;
  const old = type.conversion?.fromStored(current.object) ?? current.object;
  const { metadata } = object;
  if (metadata.resourceVersion && metadata.resourceVersion !== old.metadata.resourceVersion) {
    throw modified(type, name);
  }
  const refused = generateNameFaults(type, metadata.generateName);
  if (metadata.uid && metadata.uid !== old.metadata.uid) {
    refused.push(faults.invalid('metadata.uid', metadata.uid, 'field is immutable'));
  }
  if (refused.length > 0) throw invalid(type, name, refused);
  const asked = metadata.managedFields;
  object.metadata = settledMeta(metadata, old.metadata);
  // A client may write the record of owners itself (kubectl does, when it moves to server-side apply).
  if (asked !== undefined && !isReset(asked)) object.metadata.managedFields = asked;
  const part = type.subresources.find((each) => each.name === subresource);
  if (subresource === 'status') keepAllButStatus(target, object, old);
  else if (part !== undefined) part.prepare?.(object, old);
  else {
    if (type.hasStatus) object.status = copyOf(old.status);
    if (object.status === undefined) delete object.status;
    fillDefaults(object, type.schema, type.resolve);
    type.kindRules.prepareUpdate?.(object, old);
  }
  object.apiVersion = apiVersionOf({ group: type.group, version: type.storageVersion });
  if (type.hasGeneration && subresource === undefined && isNewSpec(type.hasStatus, object, old)) {
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  // A part may change what the whole may not.
  if (part === undefined) mustBeValid(type, object, old);
  options.warnings.push(...(type.kindRules.warnings?.(object) ?? []));
  if (ownership !== undefined) object.metadata.managedFields = ownership;
  else if (isReset(asked)) delete object.metadata.managedFields;
  const isSame = isEqual(withoutOwnership(object), withoutOwnership(old));
  if (isSame && isSameOwnership(object, old)) {
    return { object: current.object, code: 200, safe: api.store.settled() };
  }
  if (ownership === undefined && !isReset(asked)) {
    recordUpdate(type, old, object, { ...options, subresource, now: timestamp(api.nowMs()) });
  }
  if (options.dryRun) return { object: inFieldOrder(object), code: 200, safe: Promise.resolve() };
  const collection = collectionOf(api, type);
  const { finalizers, deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
  const isLeaving = deletionTimestamp !== undefined && !finalizers?.length;
  if (isLeaving && !deletionGracePeriodSeconds && !isHeldBySpec(object)) {
    // The last finalizer is gone: so is the object.
    const { safe } = api.store.remove(collection, current.key);
    return { object: inFieldOrder(object), code: 200, safe };
  }
  const stored = type.conversion?.toStored(object) ?? object;
  const { entry, safe } = api.store.put(collection, current.key, inFieldOrder(stored));
  return { object: entry.object, code: 200, safe };
}

/** A namespace keeps its finalizers in its spec. */
export function isHeldBySpec(object: ApiObject): boolean {
  if (object.kind !== 'Namespace' || object.apiVersion !== 'v1') return false;
  return ((object.spec as { finalizers?: string[] })?.finalizers ?? []).length > 0;
}

/** What clients may not touch is what it was. */
function settledMeta(asked: ApiObjectMeta, old: ApiObjectMeta): ApiObjectMeta {
  const settled: ApiObjectMeta = { ...asked };
  for (const field of [
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'generation',
    'generateName',
    'managedFields',
    'selfLink',
  ]) {
    if (old[field] === undefined) delete settled[field];
    else settled[field] = copyOf(old[field]);
  }
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences']) {
    const value = settled[field] as object | undefined;
    if (value === null || (value !== undefined && Object.keys(value).length === 0))
      delete settled[field];
  }
  return settled;
}

function keepAllButStatus({ type }: ObjectTarget, object: ApiObject, old: ApiObject): void {
  if (type.isCustom) {
    const { status, apiVersion, kind } = object;
    for (const field of Object.keys(object)) delete object[field];
    Object.assign(object, copyOf(old), { apiVersion, kind });
    if (status === undefined) delete object.status;
    else object.status = status;
    fillDefaults(object, type.schema, type.resolve);
  } else type.kindRules.prepareStatus?.(object, old);
}

function isNewSpec(hasStatus: boolean, object: ApiObject, old: ApiObject): boolean {
  const rest = ({ metadata: _m, status, apiVersion: _a, kind: _k, ...fields }: ApiObject) =>
    hasStatus ? fields : { ...fields, status };
  return !isEqual(rest(object), rest(old));
}

const isReset = (asked: unknown) =>
  Array.isArray(asked) && (asked.length === 0 || (asked.length === 1 && isEqual(asked[0], {})));

function withoutOwnership(object: ApiObject): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Times alone are no change. */
function isSameOwnership(object: ApiObject, old: ApiObject): boolean {
  const timeless = ({ metadata }: ApiObject) =>
    (metadata.managedFields ?? []).map(({ time: _, ...rest }) => rest);
  return isEqual(timeless(object), timeless(old));
}
