/** Server-side apply's two changes to an object: what is applied comes in, what is given up goes. */
import { copyOf, type Fields, isEqual, isFields, put } from '../object.ts';
import { fieldSchema, type Resolve, type Schema } from '../schema/schema.ts';
import { type FieldPath, stepFor, stepsOfPath } from './leaves.ts';

export function mergeApplied(
  live: unknown,
  applied: unknown,
  schema: Schema | undefined,
  resolve: Resolve,
): unknown {
  const here = resolve(schema);
  if (isFields(applied) && isFields(live) && here['x-kubernetes-map-type'] !== 'atomic') {
    const merged: Fields = { ...live };
    for (const [name, value] of Object.entries(applied)) {
      const have = Object.hasOwn(live, name) ? live[name] : undefined;
      put(merged, name, mergeApplied(have, value, fieldSchema(here, name), resolve));
    }
    return merged;
  }
  if (Array.isArray(applied) && Array.isArray(live))
    return mergeLists(live, applied, here, resolve);
  return copyOf(applied);
}

function mergeLists(
  live: unknown[],
  applied: unknown[],
  here: Schema,
  resolve: Resolve,
): unknown[] {
  const type = here['x-kubernetes-list-type'] ?? 'atomic';
  if (type === 'atomic') return copyOf(applied);
  const wanted = new Map(applied.map((item) => [stepFor(item, here, resolve), item]));
  const merged = live.map((item) => {
    const step = stepFor(item, here, resolve);
    const own = wanted.get(step);
    wanted.delete(step);
    return own === undefined ? item : mergeApplied(item, own, here.items, resolve);
  });
  return [...merged, ...copyOf([...wanted.values()])];
}

/** Takes one path out; holders that are left empty by it go too. */
export function removePath(root: Fields, path: FieldPath, schema: Schema, resolve: Resolve): void {
  removeSteps(root, stepsOfPath(path), schema, resolve);
}

function removeSteps(
  at: unknown,
  steps: string[],
  schema: Schema | undefined,
  resolve: Resolve,
): void {
  const here = resolve(schema);
  const [step = '', ...rest] = steps;
  const name = step.slice(2);
  if (step.startsWith('f:')) {
    if (!isFields(at) || !Object.hasOwn(at, name)) return;
    if (rest.length === 0) {
      delete at[name];
      return;
    }
    const held = at[name] as object;
    removeSteps(held, rest, fieldSchema(here, name), resolve);
    if (typeof held === 'object' && Object.keys(held).length === 0) delete at[name];
    return;
  }
  if (!Array.isArray(at)) return;
  const index = at.findIndex((item) =>
    step.startsWith('v:') ? isEqual(item, JSON.parse(name)) : stepFor(item, here, resolve) === step,
  );
  if (index < 0) return;
  if (rest.length === 0) at.splice(index, 1);
  else removeSteps(at[index], rest, here.items, resolve);
}
