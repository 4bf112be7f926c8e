/** Who owns which field after a plain write: whoever changed it last. */
import { type ApiObject, isEqual, type ManagedFields } from '../object.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import { fromFieldsV1, isOwnable, toFieldsV1 } from './fields-v1.ts';
import { type FieldPath, type Leaves, leavesOf } from './leaves.ts';

export interface Actor {
  fieldManager: string;
  subresource: string | undefined;
  now: string;
}

export interface FieldOwner {
  entry: ManagedFields;
  paths: Set<FieldPath>;
}

export function ownersOf(object: ApiObject): FieldOwner[] {
  return (object.metadata.managedFields ?? []).map((entry) => ({
    entry,
    paths: fromFieldsV1(entry.fieldsV1),
  }));
}

export function ownableLeaves(type: ResourceType, object: ApiObject | undefined): Leaves {
  if (object === undefined) return new Map();
  const { managedFields: _, ...metadata } = object.metadata;
  const leaves = leavesOf({ ...object, metadata }, type.schema, type.resolve);
  for (const path of [...leaves.keys()]) if (!isOwnable(path)) leaves.delete(path);
  return leaves;
}

export function changedPaths(before: Leaves, after: Leaves): Set<FieldPath> {
  const changed = new Set<FieldPath>();
  for (const [path, value] of after) {
    if (!before.has(path) || !isEqual(before.get(path), value)) changed.add(path);
  }
  return changed;
}

/** Writes `object.metadata.managedFields`. */
export function recordUpdate(
  type: ResourceType,
  old: ApiObject | undefined,
  object: ApiObject,
  actor: Actor,
): void {
  const before = ownableLeaves(type, old);
  const after = ownableLeaves(type, object);
  const changed = changedPaths(before, after);
  const owners = ownersOf(object);
  const isActor = ({ entry }: FieldOwner) =>
    entry.operation === 'Update' &&
    entry.manager === actor.fieldManager &&
    (entry.subresource ?? '') === (actor.subresource ?? '');
  let mine = owners.find(isActor);
  if (mine === undefined && changed.size > 0) {
    mine = { entry: newEntry(type, 'Update', actor), paths: new Set() };
    owners.push(mine);
  }
  for (const owner of owners) {
    const sizeBefore = owner.paths.size;
    let isChanged = false;
    for (const path of [...owner.paths]) {
      const isTaken = owner !== mine && changed.has(path);
      const isGone = before.has(path) && !after.has(path);
      if (isTaken || isGone) owner.paths.delete(path);
    }
    isChanged ||= owner.paths.size !== sizeBefore;
    if (owner === mine) {
      for (const path of changed) owner.paths.add(path);
      isChanged ||= changed.size > 0;
    }
    if (isChanged) owner.entry = { ...owner.entry, time: actor.now };
  }
  setOwners(object, owners);
}

export function newEntry(
  type: ResourceType,
  operation: 'Apply' | 'Update',
  { fieldManager, subresource, now }: Actor,
): ManagedFields {
  return {
    manager: fieldManager,
    operation,
    apiVersion: apiVersionOf(type),
    time: now,
    fieldsType: 'FieldsV1',
    ...(subresource === undefined ? {} : { subresource }),
  };
}

export function entriesOf(owners: FieldOwner[]): ManagedFields[] {
  return owners
    .filter(({ paths }) => paths.size > 0)
    .map(({ entry, paths }) => {
      const { fieldsV1: _, subresource, ...rest } = entry;
      return {
        ...rest,
        fieldsV1: toFieldsV1(paths),
        ...(subresource === undefined ? {} : { subresource }),
      };
    });
}

function setOwners(object: ApiObject, owners: FieldOwner[]): void {
  const entries = entriesOf(owners);
  if (entries.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = entries;
}
