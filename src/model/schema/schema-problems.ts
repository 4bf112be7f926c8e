import { check, type ResourceSchema, type ValueOf } from './schema.ts';

/**
 * What is wrong with a value by its schema, as an API server would refuse it.
 * Every problem is a clause that begins with the field's path, so that whoever
 * knows the file can point at the line. As in Go, null is the same as absent. The
 * checks of a value run when everything inside it is right.
 */
export function schemaProblems(schema: ResourceSchema, value: unknown, path: string): string[] {
  if (isAbsent(value)) return [`${path} is missing`];
  const wrong = valueProblem(schema, value);
  if (wrong !== undefined) return [`${path} ${wrong}`];
  const inside = Array.isArray(value)
    ? listProblems(schema, value, path)
    : isJsonMap(value)
      ? mapProblems(schema, value, path)
      : [];
  return inside.length > 0 ? inside : (schema[check]?.(value as never, path) ?? []);
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

/** A value in a sentence, cut where nobody reads on. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 57)}...` : json;
}

export function isJsonMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isAbsent = (value: unknown) => value === undefined || value === null;

function valueProblem(schema: ResourceSchema, value: unknown): string | undefined {
  const not = (what: string) => `is ${shown(value)}, not ${what}`;
  switch (schema.type) {
    case 'object':
      return isJsonMap(value) ? undefined : not('a map');
    case 'array':
      if (!Array.isArray(value)) return not('a list');
      return sizeProblem(value.length, 'entries', schema.minItems, schema.maxItems);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : not('true or false');
    case 'integer':
      return isWithin(schema, value) ? undefined : not(`a whole number${rangeText(schema)}`);
    case 'string':
      return typeof value === 'string' ? textProblem(schema, value) : not('a string');
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
  const not = (what: string) => `is ${shown(value)}, not ${what}`;
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    return not(`one of ${schema.enum.join(', ')}`);
  }
  if (schema.format === 'date-time' && !(rfc3339.test(value) && Date.parse(value) > -Infinity)) {
    return not('a time like 2026-01-31T12:00:00Z');
  }
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) {
    return `is ${shown(value)}, which does not match ${schema.pattern}`;
  }
  return sizeProblem([...value].length, 'characters', schema.minLength, schema.maxLength);
}

function sizeProblem(size: number, of: string, least = 0, most = Infinity): string | undefined {
  if (size < least) return size === 0 ? 'is empty' : `has ${size} ${of}, fewer than ${least}`;
  return size > most ? `has ${size} ${of}, more than ${most}` : undefined;
}

function listProblems(schema: ResourceSchema, value: unknown[], path: string): string[] {
  const { items } = schema;
  const inside = value.flatMap((item, at) =>
    isAbsent(item) || items === undefined
      ? [`${path}[${at}] is empty`]
      : schemaProblems(items, item, `${path}[${at}]`),
  );
  return inside.length > 0 ? inside : repeated(schema, value, path);
}

/** Entries that count as the same in a list that is a set, or a map by some of their fields. */
function repeated(schema: ResourceSchema, value: unknown[], path: string): string[] {
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'set' && type !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const seen = value.map((item) =>
    JSON.stringify(
      type === 'set' ? item : keys.map((key) => (item as Record<string, unknown>)[key]),
    ),
  );
  return seen.flatMap((key, at) =>
    seen.indexOf(key) < at ? [`${path}[${at}] repeats ${path}[${seen.indexOf(key)}]`] : [],
  );
}

function mapProblems(
  schema: ResourceSchema,
  value: Record<string, unknown>,
  path: string,
): string[] {
  const { additionalProperties: each, properties = {}, required = [] } = schema;
  if (each !== undefined) {
    return Object.entries(value).flatMap(([key, item]) =>
      schemaProblems(each, item, `${path}["${key}"]`),
    );
  }
  return Object.entries(properties).flatMap(([name, field]) => {
    if (isAbsent(value[name]) && !required.includes(name)) return [];
    return schemaProblems(field, value[name], path === '' ? name : `${path}.${name}`);
  });
}
