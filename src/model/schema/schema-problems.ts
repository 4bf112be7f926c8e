import { check, type ResourceSchema, type ValueOf } from './schema.ts';

/**
 * What is wrong with a value by its schema, as an API server would refuse it.
 * Every problem is a clause that begins with the field's path, so that whoever
 * knows the file can point at the line. As in Go, null is the same as absent. The
 * checks of a value run when everything inside it is right.
 */
export function schemaProblems(schema: ResourceSchema, value: unknown, path: string): string[] {
  const problems: string[] = [];
  collect(schema, value, path, problems);
  return problems;
}

/** One array for all that is found: whole clusters are held to their schemas, and mostly nothing is. */
function collect(schema: ResourceSchema, value: unknown, path: string, problems: string[]): void {
  const before = problems.length;
  const wrong = isAbsent(value) ? 'is missing' : valueProblem(schema, value);
  if (wrong !== undefined) problems.push(`${path} ${wrong}`);
  else if (Array.isArray(value)) collectInList(schema, value, path, problems);
  else if (schema.type === 'object') collectInMap(schema, value as JsonMap, path, problems);
  const holds = schema[check];
  if (holds !== undefined && problems.length === before) {
    problems.push(...holds(value as never, path));
  }
}

/** A value without problems, with the defaults of the fields that it leaves out. */
export function withDefaults<S extends ResourceSchema>(schema: S, value: unknown): ValueOf<S> {
  const fields: Record<string, unknown> = { ...(value as object) };
  for (const [name, { default: byDefault }] of Object.entries(schema.properties ?? {})) {
    if (!isAbsent(fields[name])) continue;
    if (byDefault === undefined) delete fields[name];
    else fields[name] = byDefault;
  }
  return fields as ValueOf<S>;
}

/** A value in a sentence, cut where nobody reads on. What a map or a list holds may be a secret. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isJsonMap(value)) return 'a map';
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 57)}...` : json;
}

type JsonMap = Record<string, unknown>;

export function isJsonMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isAbsent = (value: unknown) => value === undefined || value === null;

const not = (value: unknown, what: string) => `is ${shown(value)}, not ${what}`;

function valueProblem(schema: ResourceSchema, value: unknown): string | undefined {
  switch (schema.type) {
    case 'object':
      return isJsonMap(value) ? undefined : not(value, 'a map');
    case 'array':
      if (!Array.isArray(value)) return not(value, 'a list');
      return sizeProblem(value.length, 'entries', schema.minItems, schema.maxItems);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : not(value, 'true or false');
    case 'integer':
      return isWithin(schema, value) ? undefined : not(value, `a whole number${rangeText(schema)}`);
    case 'string':
      return typeof value === 'string' ? textProblem(schema, value) : not(value, 'a string');
  }
}

function isWithin({ minimum, maximum }: ResourceSchema, value: unknown): boolean {
  if (!Number.isInteger(value)) return false;
  return Number(value) >= (minimum ?? -Infinity) && Number(value) <= (maximum ?? Infinity);
}

function rangeText({ minimum, maximum }: ResourceSchema): string {
  if (minimum === undefined) return '';
  return maximum === undefined ? ` of at least ${minimum}` : ` from ${minimum} to ${maximum}`;
}

const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

function textProblem(schema: ResourceSchema, value: string): string | undefined {
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    return not(value, `one of ${schema.enum.join(', ')}`);
  }
  if (schema.format === 'date-time' && !(rfc3339.test(value) && Date.parse(value) > -Infinity)) {
    return not(value, 'a time like 2026-01-31T12:00:00Z');
  }
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) {
    return `is ${shown(value)}, which does not match ${schema.pattern}`;
  }
  // The API server counts characters, of which there are never more than UTF-16 units.
  if (value.length <= (schema.maxLength ?? Infinity) && !schema.minLength) return undefined;
  return sizeProblem([...value].length, 'characters', schema.minLength, schema.maxLength);
}

function sizeProblem(size: number, of: string, least = 0, most = Infinity): string | undefined {
  if (size < least) return size === 0 ? 'is empty' : `has ${size} ${of}, fewer than ${least}`;
  return size > most ? `has ${size} ${of}, more than ${most}` : undefined;
}

function collectInList(
  schema: ResourceSchema,
  value: unknown[],
  path: string,
  problems: string[],
): void {
  const before = problems.length;
  for (const [at, item] of value.entries()) {
    if (isAbsent(item)) problems.push(`${path}[${at}] is empty`);
    else if (schema.items) collect(schema.items, item, `${path}[${at}]`, problems);
  }
  const type = schema['x-kubernetes-list-type'];
  if (problems.length > before || type === undefined || type === 'atomic') return;
  // Entries that count as the same in a set, or in a map by some of their fields.
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const first = new Map<string, number>();
  for (const [at, item] of value.entries()) {
    const id = JSON.stringify(type === 'set' ? item : keys.map((key) => (item as JsonMap)[key]));
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, at);
    else problems.push(`${path}[${at}] repeats ${path}[${earlier}]`);
  }
}

function collectInMap(
  { additionalProperties: each, properties, required }: ResourceSchema,
  value: JsonMap,
  path: string,
  problems: string[],
): void {
  if (each !== undefined) {
    for (const key of Object.keys(value)) collect(each, value[key], `${path}["${key}"]`, problems);
  }
  for (const name in properties) {
    if (isAbsent(value[name]) && !required?.includes(name)) continue;
    collect(properties[name]!, value[name], path === '' ? name : `${path}.${name}`, problems);
  }
}
