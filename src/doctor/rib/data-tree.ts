/**
 * One way to look into what routers give as JSON or XML: a list of one may be the one alone, and
 * a text may be wrapped as `{ data: … }` (Junos, and XML as `readXml` reads it).
 */
import { isMap } from './rib-dump.ts';

export type Tree = Record<string, unknown>;

/** All children of that name, as maps. */
export function all(node: unknown, name: string): Tree[] {
  if (!isMap(node)) return [];
  const value = node[name];
  const list = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return list.map((one) => (isMap(one) ? one : { data: one }));
}

/** The text of the first child of that name; undefined where there is none. */
export function word(node: unknown, ...names: string[]): string | undefined {
  for (const name of names) {
    const [first] = all(node, name);
    if (first === undefined) continue;
    const { data } = first;
    const text = Array.isArray(data) ? data[0] : data;
    if (typeof text === 'string') return text.trim();
    if (typeof text === 'number' || typeof text === 'boolean') return String(text);
    return '';
  }
  return undefined;
}

/** A wrapping has few members; what has more is a table of something else. */
const mostWrappings = 50;

/** The first map anywhere below that has such a child; the wrapping of an API is passed through. */
export function holderOf(value: unknown, name: string, depth = 0): Tree | undefined {
  if (depth > 40) return undefined;
  if (Array.isArray(value)) {
    for (const one of value.slice(0, mostWrappings)) {
      const found = holderOf(one, name, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isMap(value)) return undefined;
  if (name in value) return value;
  return holderOf(Object.values(value), name, depth + 1);
}
