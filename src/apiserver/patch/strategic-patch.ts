/**
 * Strategic merge patch: like a merge patch, but lists whose schema names a
 * merge key are merged item by item. With the directives that kubectl writes:
 * $patch (replace, delete), $retainKeys, $deleteFromPrimitiveList,
 * $setElementOrder.
 */
import { copyOf, type Fields, isEqual, isFields, put } from '../object.ts';
import { fieldSchema, type Resolve, type Schema } from '../schema/schema.ts';
import { badRequest } from '../status.ts';

const deleteFrom = '$deleteFromPrimitiveList/';
const setOrder = '$setElementOrder/';

export function applyStrategicPatch(
  target: unknown,
  patch: unknown,
  schema: Schema,
  resolve: Resolve,
): Fields {
  // A null changes nothing.
  const given = patch === null ? {} : patch;
  if (!isFields(given)) throw badRequest('a strategic merge patch is an object');
  return mergeObject(isFields(target) ? target : {}, given, schema, resolve);
}

function mergeObject(target: Fields, patch: Fields, schema: Schema, resolve: Resolve): Fields {
  const here = resolve(schema);
  if (patch.$patch === 'replace') return without(patch, '$patch');
  if (patch.$patch === 'delete') return {};
  const result: Fields = { ...target };
  if (Array.isArray(patch.$retainKeys)) {
    for (const key of Object.keys(result)) if (!patch.$retainKeys.includes(key)) delete result[key];
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(deleteFrom)) {
      const name = key.slice(deleteFrom.length);
      const gone = new Set(mustBeList(key, value).map(textOf));
      const have = Object.hasOwn(result, name) ? result[name] : undefined;
      if (Array.isArray(have))
        put(
          result,
          name,
          have.filter((each) => !gone.has(textOf(each))),
        );
    }
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) continue;
    if (value === null) delete result[key];
    else {
      const have = Object.hasOwn(result, key) ? result[key] : undefined;
      put(result, key, mergeField(have, value, resolve(fieldSchema(here, key)), resolve));
    }
  }
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(setOrder)) continue;
    const name = key.slice(setOrder.length);
    const mergeKey = resolve(fieldSchema(here, name))['x-kubernetes-patch-merge-key'];
    const list = mustBeList(key, order);
    if (Object.hasOwn(result, name) && Array.isArray(result[name])) {
      put(result, name, inOrder(result[name], list, mergeKey));
    }
  }
  return result;
}

function mustBeList(directive: string, value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw badRequest(`unable to find api field for ${directive}: its value is no list`);
}

/** Values of such lists are texts and numbers. */
const textOf = (value: unknown) => JSON.stringify(value);

function mergeField(have: unknown, value: unknown, schema: Schema, resolve: Resolve): unknown {
  if (Array.isArray(value)) return mergeList(have, value, schema, resolve);
  if (!isFields(value)) return value;
  const strategies = (schema['x-kubernetes-patch-strategy'] ?? '').split(',');
  if (strategies.includes('replace')) return copyOf(value);
  return mergeObject(isFields(have) ? have : {}, value, schema, resolve);
}

function mergeList(have: unknown, patch: unknown[], schema: Schema, resolve: Resolve): unknown[] {
  const isReplaced = patch.some((each) => isFields(each) && each.$patch === 'replace');
  const isMerged = (schema['x-kubernetes-patch-strategy'] ?? '').split(',').includes('merge');
  if (isReplaced) {
    return patch.filter((each) => !(isFields(each) && each.$patch === 'replace')).map(copyOf);
  }
  if (!isMerged || !Array.isArray(have)) return patch.filter(isNoDeletion).map(clean);
  const key = schema['x-kubernetes-patch-merge-key'];
  if (key === undefined) {
    const there = new Set(have.map(textOf));
    const more = patch.filter((each) => !there.has(textOf(each)));
    return settled([...have, ...copyOf(more)], patch, have, undefined);
  }
  let result = [...have];
  for (const item of patch) {
    if (!isFields(item) || item[key] === undefined) {
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    }
    const isIt = (other: unknown) => isFields(other) && isEqual(other[key], item[key]);
    if (item.$patch === 'delete') {
      result = result.filter((other) => !isIt(other));
      continue;
    }
    const at = result.findIndex(isIt);
    const merged = mergeObject(
      isFields(result[at]) ? result[at] : {},
      item,
      schema.items ?? {},
      resolve,
    );
    if (at < 0) result.push(merged);
    else result[at] = merged;
  }
  return settled(result, patch, have, key);
}

const keyBy = (mergeKey: string | undefined) => (each: unknown) =>
  JSON.stringify(mergeKey !== undefined && isFields(each) ? each[mergeKey] : each);

/** What the patch names in the patch's order, new ones before what only the target has. */
function settled(
  merged: unknown[],
  patch: unknown[],
  have: unknown[],
  mergeKey: string | undefined,
): unknown[] {
  const keyOf = keyBy(mergeKey);
  const rankIn = (list: unknown[]) => new Map(list.map((each, at) => [keyOf(each), at] as const));
  const [inPatch, before] = [rankIn(patch), rankIn(have)];
  const rank = (each: unknown) => inPatch.get(keyOf(each)) ?? 0;
  const named = merged.filter((each) => inPatch.has(keyOf(each))).sort((a, b) => rank(a) - rank(b));
  const others = merged.filter((each) => !inPatch.has(keyOf(each)));
  const result: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const [mine, theirs] = [before.get(keyOf(others[0])), before.get(keyOf(named[0]))];
    const isFirst = mine !== undefined && theirs !== undefined && mine < theirs;
    result.push((isFirst ? others : named).shift());
  }
  return [...result, ...named, ...others];
}

const isNoDeletion = (each: unknown) => !(isFields(each) && each.$patch === 'delete');

/** The patch's own directives, in a part that is new to the target. */
function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clean);
  if (!isFields(value)) return value;
  const result: Fields = {};
  for (const [key, each] of Object.entries(value)) {
    if (!key.startsWith('$') && each !== null) put(result, key, clean(each));
  }
  return result;
}

function without(fields: Fields, key: string): Fields {
  const result = copyOf(fields);
  delete result[key];
  return result;
}

/** Items named in `order` in that order; the others keep their place relative to what they followed. */
function inOrder(list: unknown[], order: unknown[], mergeKey: string | undefined): unknown[] {
  const keyOf = keyBy(mergeKey);
  const rank = new Map(order.map((each, at) => [keyOf(each), at]));
  const ordered = list
    .filter((each) => rank.has(keyOf(each)))
    .sort((a, b) => (rank.get(keyOf(a)) ?? 0) - (rank.get(keyOf(b)) ?? 0));
  let next = 0;
  return list.map((each) => (rank.has(keyOf(each)) ? ordered[next++] : each));
}
