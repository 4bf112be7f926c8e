/**
 * An object as the set of its fields: the paths that somebody can own. A
 * path is a list of steps as FieldsV1 writes them (`f:name`, `k:{...}`,
 * `v:...`), joined to one text; with it goes what stands there.
 */
import { isFields } from '../object.ts';
import { fieldSchema, type Resolve, type Schema } from '../schema/schema.ts';
import { listKey } from '../schema/validate.ts';

export type FieldPath = string;
export type Leaves = Map<FieldPath, unknown>;

const separator = '\0';

export const stepsOfPath = (path: FieldPath): string[] => path.split(separator);
export const pathOf = (steps: string[]): FieldPath => steps.join(separator);
export const within = (path: FieldPath, step: string): FieldPath =>
  path === '' ? step : `${path}${separator}${step}`;
export const isInside = (path: FieldPath, outer: FieldPath): boolean =>
  path.startsWith(`${outer}${separator}`);

/** What stands at an item of a keyed list beside its fields: that it is there. */
const present = Symbol('present');

export function leavesOf(value: unknown, schema: Schema, resolve: Resolve): Leaves {
  const leaves: Leaves = new Map();
  gather(value, schema, resolve, '', leaves);
  return leaves;
}

function gather(
  value: unknown,
  schema: Schema | undefined,
  resolve: Resolve,
  path: FieldPath,
  leaves: Leaves,
): void {
  const here = resolve(schema);
  if (Array.isArray(value)) gatherList(value, here, resolve, path, leaves);
  else if (isFields(value) && here['x-kubernetes-map-type'] !== 'atomic') {
    const entries = Object.entries(value).filter(([, each]) => each !== undefined);
    if (entries.length === 0 && path !== '') leaves.set(path, value);
    for (const [name, each] of entries) {
      gather(each, fieldSchema(here, name), resolve, within(path, `f:${name}`), leaves);
    }
  } else leaves.set(path, value);
}

function gatherList(
  value: unknown[],
  here: Schema,
  resolve: Resolve,
  path: FieldPath,
  leaves: Leaves,
): void {
  const type = here['x-kubernetes-list-type'] ?? 'atomic';
  if (type === 'atomic' || value.length === 0) {
    leaves.set(path, value);
    return;
  }
  for (const item of value) {
    const step = stepFor(item, here, resolve);
    const at = within(path, step);
    leaves.set(at, present);
    if (type === 'map') gather(item, here.items, resolve, at, leaves);
  }
}

/** How an item of a set or of a keyed list is named. */
export function stepFor(item: unknown, list: Schema, resolve: Resolve): string {
  return list['x-kubernetes-list-type'] === 'map'
    ? `k:${JSON.stringify(listKey(item, list, resolve))}`
    : `v:${JSON.stringify(item)}`;
}

/** What a path lies in, from the root. */
export function outerPaths(path: FieldPath): FieldPath[] {
  const steps = stepsOfPath(path);
  return steps.slice(1).map((_, at) => pathOf(steps.slice(0, at + 1)));
}
