/** Who owns which field after a plain write: whoever changed it last. */
import { isEqual, type KubeObject, type ManagedFields } from '../object.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import { fromFieldsV1, isOwnable, toFieldsV1 } from './fields-v1.ts';
import { type Leaves, leavesOf, type Place } from './leaves.ts';

export interface Actor {
  fieldManager: string;
  subresource: string | undefined;
  now: string;
}

export interface Owner {
  entry: ManagedFields;
  places: Set<Place>;
}

export function ownersOf(object: KubeObject): Owner[] {
  return (object.metadata.managedFields ?? []).map((entry) => ({
    entry,
    places: fromFieldsV1(entry.fieldsV1),
  }));
}

export function ownableLeaves(type: ResourceType, object: KubeObject | undefined): Leaves {
  if (object === undefined) return new Map();
  const { managedFields: _, ...metadata } = object.metadata;
  const leaves = leavesOf({ ...object, metadata }, type.schema, type.resolve);
  for (const place of [...leaves.keys()]) if (!isOwnable(place)) leaves.delete(place);
  return leaves;
}

export function changedPlaces(before: Leaves, after: Leaves): Set<Place> {
  const changed = new Set<Place>();
  for (const [place, value] of after) {
    if (!before.has(place) || !isEqual(before.get(place), value)) changed.add(place);
  }
  return changed;
}

/** Writes `object.metadata.managedFields`. */
export function recordUpdate(
  type: ResourceType,
  old: KubeObject | undefined,
  object: KubeObject,
  actor: Actor,
): void {
  const before = ownableLeaves(type, old);
  const after = ownableLeaves(type, object);
  const changed = changedPlaces(before, after);
  const owners = ownersOf(object);
  const isActor = ({ entry }: Owner) =>
    entry.operation === 'Update' &&
    entry.manager === actor.fieldManager &&
    (entry.subresource ?? '') === (actor.subresource ?? '');
  let mine = owners.find(isActor);
  if (mine === undefined && changed.size > 0) {
    mine = { entry: newEntry(type, 'Update', actor), places: new Set() };
    owners.push(mine);
  }
  for (const owner of owners) {
    const sizeBefore = owner.places.size;
    let isChanged = false;
    for (const place of [...owner.places]) {
      const isTaken = owner !== mine && changed.has(place);
      const isGone = before.has(place) && !after.has(place);
      if (isTaken || isGone) owner.places.delete(place);
    }
    isChanged ||= owner.places.size !== sizeBefore;
    if (owner === mine) {
      for (const place of changed) owner.places.add(place);
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

export function entriesOf(owners: Owner[]): ManagedFields[] {
  return owners
    .filter(({ places }) => places.size > 0)
    .map(({ entry, places }) => {
      const { fieldsV1: _, subresource, ...rest } = entry;
      return {
        ...rest,
        fieldsV1: toFieldsV1(places),
        ...(subresource === undefined ? {} : { subresource }),
      };
    });
}

function setOwners(object: KubeObject, owners: Owner[]): void {
  const entries = entriesOf(owners);
  if (entries.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = entries;
}
