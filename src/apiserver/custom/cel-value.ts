/**
 * An object as CEL sees it: whole numbers apart from fractions, times as
 * times, and field names that are no identifiers under the names Kubernetes
 * gives them.
 */
import { type Fields, isFields, put } from '../object.ts';
import { fieldSchema, type Resolve, type Schema } from '../schema/schema.ts';

const keywords = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

export function escapeName(name: string): string {
  if (keywords.has(name)) return `__${name}__`;
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
}

export function celValue(value: unknown, schema: Schema | undefined, resolve: Resolve): unknown {
  const here = resolve(schema);
  if (typeof value === 'number') {
    return here.type !== 'number' && Number.isInteger(value) ? BigInt(value) : value;
  }
  if (typeof value === 'string') {
    return here.format === 'date-time' || here.format === 'date' ? new Date(value) : value;
  }
  if (Array.isArray(value)) return value.map((each) => celValue(each, here.items, resolve));
  if (!isFields(value)) return value;
  const seen: Fields = {};
  for (const [name, each] of Object.entries(value)) {
    const isDeclared = here.properties !== undefined && Object.hasOwn(here.properties, name);
    const key = isDeclared ? escapeName(name) : name;
    put(seen, key, celValue(each, fieldSchema(here, name), resolve));
  }
  return seen;
}
