/** DELETE of one object: at once, or a mark that others act on. */
import { type Api, collectionOf, keyIn, type ObjectTarget, type ResourceScope } from '../api.ts';
import { type ApiObject, copyOf, timestamp } from '../object.ts';
import { conflict, forbidden, notFound, type Status } from '../status.ts';
import type { Entry } from '../store/collection.ts';
import { inFieldOrder } from './create.ts';
import { isHeldBySpec } from './update.ts';

export interface DeleteQuery {
  gracePeriodSeconds?: number;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  orphanDependents?: boolean;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: string[];
}

export interface Deleted {
  /** The object while it is held back (or where the kind answers with it), a Status once it is gone. */
  answer: ApiObject | Status;
  isObject: boolean;
  code: 200 | 202;
  safe: Promise<void>;
}

export function remove(api: Api, target: ObjectTarget, options: DeleteQuery): Deleted {
  const { type, name } = target;
  const current = collectionOf(api, type).get(keyIn(target, name));
  if (current === undefined) throw notFound(type, name);
  mustMeetPreconditions(target, current.object, options);
  const why = type.kindRules.refuseDelete?.(current.object);
  if (why !== undefined) throw forbidden(type, name, why);
  return removeEntry(api, target, current, options);
}

export function removeEntry(
  api: Api,
  place: ResourceScope,
  current: Entry,
  options: DeleteQuery,
): Deleted {
  const { type } = place;
  const collection = collectionOf(api, type);
  const isDryRun = (options.dryRun ?? []).includes('All');
  const marked = mark(api, place, current.object, options);
  const isHeld =
    (marked.metadata.finalizers ?? []).length > 0 ||
    (marked.metadata.deletionGracePeriodSeconds ?? 0) > 0 ||
    isHeldBySpec(marked);
  if (isHeld) {
    const isMarkedAlready = current.object.metadata.deletionTimestamp !== undefined;
    const isSame =
      isMarkedAlready &&
      marked.metadata.deletionGracePeriodSeconds ===
        current.object.metadata.deletionGracePeriodSeconds;
    if (isDryRun || isSame) {
      return { answer: marked, isObject: true, code: 200, safe: api.store.settled() };
    }
    const { entry, safe } = api.store.put(collection, current.key, inFieldOrder(marked));
    return { answer: entry.object, isObject: true, code: 200, safe };
  }
  const safe = isDryRun ? Promise.resolve() : api.store.remove(collection, current.key).safe;
  if (type.returnsDeleted) return { answer: marked, isObject: true, code: 200, safe };
  return { answer: goneStatus(place, current.object), isObject: false, code: 200, safe };
}

function mustMeetPreconditions(
  { type, name }: ObjectTarget,
  { metadata }: ApiObject,
  { preconditions = {} }: DeleteQuery,
): void {
  const named = { ...type, plural: type.kind };
  const { uid, resourceVersion } = preconditions;
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      named,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      named,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

/** The object with its deletion time, and with the finalizers that the way of deleting asks for. */
function mark(
  api: Api,
  { type }: ResourceScope,
  object: ApiObject,
  options: DeleteQuery,
): ApiObject {
  const asked = options.gracePeriodSeconds;
  const graceSeconds = type.kindRules.graceSeconds?.(object, asked) ?? 0;
  const marked = copyOf(object);
  const { metadata } = marked;
  const isFirst = metadata.deletionTimestamp === undefined;
  if (isFirst) {
    metadata.deletionTimestamp = timestamp(api.nowMs() + graceSeconds * 1000);
    metadata.deletionGracePeriodSeconds = graceSeconds;
    if (type.hasGeneration) metadata.generation = (metadata.generation ?? 0) + 1;
    for (const finalizer of [...(type.kindRules.deleteFinalizers ?? []), ...propagation(options)]) {
      if (!metadata.finalizers?.includes(finalizer)) {
        metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
      }
    }
    if (isHeldBySpec(marked))
      marked.status = { ...(marked.status as object), phase: 'Terminating' };
  } else if (asked !== undefined && asked < (metadata.deletionGracePeriodSeconds ?? 0)) {
    // In more of a hurry than the first one.
    metadata.deletionGracePeriodSeconds = asked;
    metadata.deletionTimestamp = timestamp(api.nowMs() + asked * 1000);
  }
  return marked;
}

export const foreground = 'foregroundDeletion';
export const orphan = 'orphan';

function propagation({ propagationPolicy, orphanDependents }: DeleteQuery): string[] {
  if (propagationPolicy === 'Foreground') return [foreground];
  return propagationPolicy === 'Orphan' || orphanDependents === true ? [orphan] : [];
}

function goneStatus({ type }: ResourceScope, { metadata }: ApiObject): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: metadata.name,
      ...(type.group === '' ? {} : { group: type.group }),
      kind: type.plural,
      uid: metadata.uid,
    },
  };
}
