/** Judges a value by its schema, in the words the real API server uses. */
import { type Fields, isEqual, isFields } from '../object.ts';
import { maxSteps, regularExpression } from '../regular-expression.ts';
import { type Fault, faults } from '../status.ts';
import { isOfFormat } from './formats.ts';
import { fieldSchema, type Resolve, type Schema } from './schema.ts';

export function validate(value: unknown, schema: Schema, resolve: Resolve, path = ''): Fault[] {
  const here = resolve(schema);
  if (value === null && here.nullable === true) return [];
  const found = wrongType(value, here, path);
  if (found !== undefined) return [found];
  return [
    ...enumFaults(value, here, path),
    ...(typeof value === 'string' ? stringFaults(value, here, path) : []),
    ...(typeof value === 'number' ? numberFaults(value, here, path) : []),
    ...(Array.isArray(value) ? listFaults(value, here, resolve, path) : []),
    ...(isFields(value) ? objectFaults(value, here, resolve, path) : []),
    ...logicFaults(value, here, resolve, path),
  ];
}

const typeOf = (value: unknown) => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? 'integer' : 'number';
  return typeof value;
};

function wrongType(value: unknown, here: Schema, path: string): Fault | undefined {
  const type = typeOf(value);
  const wanted = here['x-kubernetes-int-or-string'] ? 'integer,string' : here.type;
  if (wanted === undefined) return undefined;
  if (wanted.split(',').includes(type) || (wanted === 'number' && type === 'integer')) {
    return undefined;
  }
  return faults.type(path, type, `${path} in body must be of type ${wanted}: "${type}"`);
}

function enumFaults(value: unknown, here: Schema, path: string): Fault[] {
  if (here.enum === undefined || here.enum.some((each) => isEqual(each, value))) return [];
  return [faults.unsupported(path, value, here.enum)];
}

function stringFaults(value: string, here: Schema, path: string): Fault[] {
  const found: Fault[] = [];
  const length = [...value].length;
  if (here.maxLength !== undefined && length > here.maxLength) {
    found.push(faults.tooLong(path, here.maxLength));
  }
  if (here.minLength !== undefined && length < here.minLength) {
    found.push(
      faults.invalid(
        path,
        value,
        `${path} in body should be at least ${here.minLength} chars long`,
      ),
    );
  }
  if (here.pattern !== undefined) found.push(...patternFaults(value, here.pattern, path));
  if (here.format !== undefined && !isOfFormat(here.format, value)) {
    found.push(
      faults.type(path, value, `${path} in body must be of type ${here.format}: "${value}"`),
    );
  }
  return found;
}

function patternFaults(value: string, pattern: string, path: string): Fault[] {
  const made = regularExpression(pattern);
  // Nobody can register such a definition; one that was kept by an older version stays usable.
  if ('complaint' in made) return [];
  if (made.steps(value) > maxSteps) {
    const words = `${path} in body is too long to be matched with '${pattern}'`;
    return [{ reason: 'FieldValueInvalid', message: `Invalid value: ${words}`, field: path }];
  }
  if (made.test(value)) return [];
  return [faults.invalid(path, value, `${path} in body should match '${pattern}'`)];
}

function numberFaults(value: number, here: Schema, path: string): Fault[] {
  const found: Fault[] = [];
  const { minimum, maximum, multipleOf } = here;
  const say = (words: string) =>
    found.push(faults.invalid(path, value, `${path} in body ${words}`));
  if (minimum !== undefined) {
    if (here.exclusiveMinimum && value <= minimum) say(`should be greater than ${minimum}`);
    else if (value < minimum) say(`should be greater than or equal to ${minimum}`);
  }
  if (maximum !== undefined) {
    if (here.exclusiveMaximum && value >= maximum) say(`should be less than ${maximum}`);
    else if (value > maximum) say(`should be less than or equal to ${maximum}`);
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) {
    say(`should be a multiple of ${multipleOf}`);
  }
  if (here.format === 'int32' && (value < -(2 ** 31) || value >= 2 ** 31)) {
    say('must be of type int32');
  }
  return found;
}

function listFaults(value: unknown[], here: Schema, resolve: Resolve, path: string): Fault[] {
  const found: Fault[] = [];
  if (here.maxItems !== undefined && value.length > here.maxItems) {
    return [faults.tooMany(path, value.length, here.maxItems)];
  }
  if (here.minItems !== undefined && value.length < here.minItems) {
    const words = `${path} in body should have at least ${here.minItems} items`;
    found.push(faults.invalid(path, value.length, words));
  }
  if (here.items !== undefined) {
    for (const [at, each] of value.entries()) {
      found.push(...validate(each, here.items, resolve, `${path}[${at}]`));
    }
  }
  return [...found, ...duplicates(value, here, resolve, path)];
}

/** Items that count as the same in a set or map. */
function duplicates(value: unknown[], here: Schema, resolve: Resolve, path: string): Fault[] {
  const type = here['x-kubernetes-list-type'];
  if (type !== 'set' && type !== 'map') return [];
  // A built-in list (only those have merge keys) is not held to its type: a node of both
  // families has two addresses of type InternalIP.
  if (here['x-kubernetes-patch-merge-key'] !== undefined) return [];
  const seen = new Set<string>();
  const found: Fault[] = [];
  for (const [at, each] of value.entries()) {
    const key = type === 'set' ? each : listKey(each, here, resolve);
    const text = JSON.stringify(key);
    if (seen.has(text)) found.push(faults.duplicate(`${path}[${at}]`, key));
    seen.add(text);
  }
  return found;
}

/** The key fields of an item of a list of type map; absent ones by their default. */
export function listKey(item: unknown, list: Schema, resolve: Resolve): Fields {
  const key: Fields = {};
  const fields = isFields(item) ? item : {};
  for (const name of [...(list['x-kubernetes-list-map-keys'] ?? [])].sort()) {
    const value = fields[name] ?? resolve(resolve(list.items).properties?.[name]).default;
    if (value !== undefined) key[name] = value;
  }
  return key;
}

function objectFaults(value: Fields, here: Schema, resolve: Resolve, path: string): Fault[] {
  const found: Fault[] = [];
  const inside = (name: string) => (path === '' ? name : `${path}.${name}`);
  for (const name of here.required ?? []) {
    if (value[name] === undefined || value[name] === null) {
      const field = resolve(here.properties?.[name]);
      if (value[name] === null && field.nullable) continue;
      found.push(faults.required(inside(name)));
    }
  }
  const count = Object.keys(value).length;
  if (here.maxProperties !== undefined && count > here.maxProperties) {
    found.push(faults.tooMany(path, count, here.maxProperties));
  }
  if (here.minProperties !== undefined && count < here.minProperties) {
    const words = `${path} in body should have at least ${here.minProperties} properties`;
    found.push(faults.invalid(path, count, words));
  }
  for (const [name, each] of Object.entries(value)) {
    const child = fieldSchema(here, name);
    if (child === undefined) continue;
    // A null is no value; whether one is required was said above.
    if (each === null && resolve(child).nullable !== true && here.required?.includes(name))
      continue;
    found.push(...validate(each, child, resolve, inside(name)));
  }
  return found;
}

function logicFaults(value: unknown, here: Schema, resolve: Resolve, path: string): Fault[] {
  const holds = (schema: Schema) => validate(value, schema, resolve, path).length === 0;
  const found: Fault[] = [];
  for (const each of here.allOf ?? []) found.push(...validate(value, each, resolve, path));
  if (here.anyOf !== undefined && !here.anyOf.some(holds)) {
    found.push(
      faults.invalid(path, '', `${path} in body must validate at least one schema (anyOf)`),
    );
  }
  if (here.oneOf !== undefined && here.oneOf.filter(holds).length !== 1) {
    found.push(
      faults.invalid(path, '', `${path} in body must validate one and only one schema (oneOf)`),
    );
  }
  if (here.not !== undefined && holds(here.not)) {
    found.push(faults.invalid(path, '', `${path} in body must not validate the schema (not)`));
  }
  return found;
}
