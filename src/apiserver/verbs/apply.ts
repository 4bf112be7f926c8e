/**
 * Server-side apply: the client says what it wants of an object and nothing
 * else. What it said last time and says no more goes, unless somebody else
 * wants it too; what somebody else set to another value is a conflict, unless
 * the client insists.
 */
import { type Api, collectionOf, keyIn, type ObjectTarget } from '../api.ts';
import { describePath } from '../fields/fields-v1.ts';
import { type FieldPath, isInside, outerPaths } from '../fields/leaves.ts';
import {
  type Actor,
  changedPaths,
  entriesOf,
  type FieldOwner,
  newEntry,
  ownableLeaves,
  ownersOf,
} from '../fields/managed-fields.ts';
import { mergeApplied, removePath } from '../fields/merge.ts';
import {
  type ApiObject,
  copyOf,
  type Fields,
  isEqual,
  isFields,
  type ManagedFields,
  timestamp,
} from '../object.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import type { Resolve } from '../schema/schema.ts';
import { prune } from '../schema/shape.ts';
import { validate } from '../schema/validate.ts';
import { ApiRefusal, badRequest, type Cause, notFound } from '../status.ts';
import { createDecoded, type Written } from './create.ts';
import { decode, type WriteQuery } from './decode.ts';
import { storeUpdate } from './update.ts';

export function applyConfiguration(
  api: Api,
  target: ObjectTarget,
  body: unknown,
  options: WriteQuery,
): Written {
  const { type, name, subresource } = target;
  const current = collectionOf(api, type).get(keyIn(target, name));
  const applied = decodeApplied(target, body, options, current === undefined);
  const actor: Actor = { ...options, subresource, now: timestamp(api.nowMs()) };
  const paths = new Set(ownableLeaves(type, applied).keys());
  dropForeign(target, paths);
  const mine: FieldOwner = { entry: newEntry(type, 'Apply', actor), paths };
  if (current === undefined) {
    if (subresource !== undefined) throw notFound(type, name);
    return createDecoded(api, target, applied, options, entriesOf([mine]));
  }
  const live = type.conversion?.fromStored(current.object) ?? current.object;
  const isMine = ({ entry }: FieldOwner) =>
    entry.operation === 'Apply' &&
    entry.manager === options.fieldManager &&
    (entry.subresource ?? '') === (subresource ?? '');
  const owners = ownersOf(live);
  const others = owners.filter((owner) => !isMine(owner));
  const before = owners.find(isMine);
  const merged = copyOf(
    mergeApplied(withoutOwnership(live), applied, type.schema, type.resolve),
  ) as ApiObject;
  keepLastApplied(merged, applied, options.fieldManager);
  giveUp(target, merged, before?.paths ?? new Set(), paths, others);
  settleConflicts(target, live, merged, paths, others, options);
  const isSameSet = before !== undefined && isEqual([...before.paths].sort(), [...paths].sort());
  if (isSameSet) mine.entry.time = before.entry.time as string;
  return storeUpdate(api, target, current, merged, options, entriesOf([...others, mine]));
}

/** Whose field an unknown one would be, nobody could say: refused whatever the client asked. */
function mustBeTyped(type: ResourceType, meta: Fields, body: Fields): void {
  const copy = withoutNulls(body) as Fields;
  const wrong = validate(copy, type.schema, loosely(type)).find(
    ({ reason }) => reason === 'FieldValueTypeInvalid',
  );
  const unknown = prune(copy, type.schema, type.resolve)[0];
  if (wrong === undefined && unknown === undefined) return;
  const why =
    unknown === undefined
      ? `.${wrong?.field}: ${wrong?.message.replace(/^Invalid value: /, '')}`
      : `.${unknown}: field not declared in schema`;
  const who = `${meta.namespace ?? ''}/${meta.name ?? ''}`;
  const what = `${type.group}/${type.version}, Kind=${type.kind}`;
  throw new ApiRefusal(500, '', `failed to create typed patch object (${who}; ${what}): ${why}`);
}

/** Whose type depends on more than its JSON is judged with the whole object. */
function loosely({ resolve }: ResourceType): Resolve {
  return (schema) => {
    const found = resolve(schema);
    const isLoose = found.format === 'date-time' || found['x-kubernetes-int-or-string'] === true;
    if (isLoose) return {};
    return found.type === 'integer' ? { ...found, type: 'number' } : found;
  };
}

/** `creationTimestamp: null`, as generated files have it, says nothing. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(withoutNulls);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== null)
      .map(([key, each]) => [key, withoutNulls(each)]),
  );
}

function decodeApplied(
  target: ObjectTarget,
  body: unknown,
  options: WriteQuery,
  isNew: boolean,
): ApiObject {
  const { name, namespace, type } = target;
  if (body !== null && body !== undefined && !isFields(body)) {
    throw badRequest('error decoding YAML: the applied configuration is no object');
  }
  const { apiVersion = '', kind = '' } = body ?? {};
  if (!isFields(body) || apiVersion !== apiVersionOf(type) || kind !== type.kind) {
    throw badRequest(`invalid object type: ${String(apiVersion)}, Kind=${String(kind)}`);
  }
  const meta = (isFields(body.metadata) ? body.metadata : {}) as Fields;
  if (meta.managedFields !== undefined && meta.managedFields !== null)
    throw badRequest('metadata.managedFields must be nil');
  if (meta.name !== undefined && meta.name !== name) {
    throw badRequest(
      `the name of the object (${meta.name}) does not match the name on the URL (${name})`,
    );
  }
  if (typeof meta.namespace === 'string' && meta.namespace !== (namespace ?? meta.namespace)) {
    throw badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  mustBeTyped(type, meta, body);
  const applied = decode(type, copyOf(body), options);
  // Like the real one: it does not matter to an object that is made now.
  if (isNew) delete applied.metadata.resourceVersion;
  applied.metadata.name = name;
  if (namespace !== undefined) applied.metadata.namespace ??= namespace;
  return applied;
}

/** The status is applied by itself, and nothing else with it. */
function dropForeign({ type, subresource }: ObjectTarget, paths: Set<FieldPath>): void {
  if (!type.hasStatus) return;
  for (const path of [...paths]) {
    const isStatus = path === 'f:status' || isInside(path, 'f:status');
    if (isStatus !== (subresource === 'status')) paths.delete(path);
  }
}

function withoutOwnership(object: ApiObject): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** What was applied before, is not any more, and nobody else holds. */
function giveUp(
  { type }: ObjectTarget,
  merged: ApiObject,
  before: Set<FieldPath>,
  now: Set<FieldPath>,
  others: FieldOwner[],
): void {
  // Held is what somebody names, and whatever that lies in.
  const held = new Set<FieldPath>();
  for (const paths of [now, ...others.map((owner) => owner.paths)]) {
    for (const path of paths) for (const each of [path, ...outerPaths(path)]) held.add(each);
  }
  const gone = new Set([...before].filter((path) => !held.has(path)));
  // With an item goes what is in it; without its key it could not be found any more.
  for (const path of gone) {
    if (outerPaths(path).some((outer) => gone.has(outer))) continue;
    removePath(merged, path, type.schema, type.resolve);
  }
}

function settleConflicts(
  { type }: ObjectTarget,
  live: ApiObject,
  merged: ApiObject,
  paths: Set<FieldPath>,
  others: FieldOwner[],
  { force, fieldManager }: WriteQuery,
): void {
  const own = ownFromBefore(type, live, fieldManager);
  const changed = changedPaths(ownableLeaves(type, live), ownableLeaves(type, merged));
  const causes: (Cause & { who: string })[] = [];
  for (const { entry, paths: theirs } of others) {
    for (const path of [...theirs].filter((each) => changed.has(each) && paths.has(each)).sort()) {
      if (force || own.has(path)) theirs.delete(path);
      else {
        const who = nameOf(entry);
        causes.push({
          reason: 'FieldManagerConflict',
          message: `conflict with ${who}`,
          field: describePath(path),
          who,
        });
      }
    }
  }
  if (causes.length > 0) throw conflicts(causes);
}

/** Whoever applies is known by name; a plain write also by when and through which version. */
function nameOf({ manager = '', subresource, operation, apiVersion, time }: ManagedFields): string {
  const inside =
    subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  const write = operation === 'Update' ? ` using ${apiVersion} at ${time}` : '';
  return `${JSON.stringify(manager)}${inside}${write}`;
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** So that `kubectl apply` from the client side can go on from here. */
function keepLastApplied(merged: ApiObject, applied: ApiObject, manager: string): void {
  const annotations = merged.metadata.annotations;
  if (manager !== 'kubectl' || annotations?.[lastApplied] === undefined) return;
  annotations[lastApplied] = `${JSON.stringify(sorted(applied))}\n`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

/**
 * What kubectl applied from the client side before, and nobody changed since:
 * it is kubectl's own when it moves to server-side apply.
 */
function ownFromBefore(type: ResourceType, live: ApiObject, manager: string): Set<FieldPath> {
  const text = live.metadata.annotations?.[lastApplied];
  if (manager !== 'kubectl' || text === undefined) return new Set();
  try {
    const said = ownableLeaves(type, JSON.parse(text) as ApiObject);
    const now = ownableLeaves(type, live);
    return new Set(
      [...said].flatMap(([path, value]) => (isEqual(now.get(path), value) ? [path] : [])),
    );
  } catch {
    // An annotation that cannot be read claims nothing.
    return new Set();
  }
}

function conflicts(causes: (Cause & { who: string })[]): ApiRefusal {
  const only = causes.length === 1;
  const said = only
    ? `Apply failed with 1 conflict: ${causes[0]?.message}: ${causes[0]?.field}`
    : `Apply failed with ${causes.length} conflicts: ${[...new Set(causes.map(({ who }) => who))]
        .map((who) => {
          const fields = causes
            .filter((cause) => cause.who === who)
            .map(({ field }) => `- ${field}`);
          return `conflicts with ${who}:\n${fields.join('\n')}`;
        })
        .join('\n')}`;
  return new ApiRefusal(409, 'Conflict', said, {
    causes: causes.map(({ who: _, ...cause }) => cause),
  });
}
