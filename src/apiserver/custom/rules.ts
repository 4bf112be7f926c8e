/** CEL rules: refused at registration if they cannot work, judged at every write. */
import { type ApiObject, isEqual, isFields } from '../object.ts';
import { fieldSchema, type Resolve, type Rule, type Schema } from '../schema/schema.ts';
import { listKey } from '../schema/validate.ts';
import { type Fault, faults } from '../status.ts';
import { compile, type Expression, firstLine } from './cel.ts';
import { celValue } from './cel-value.ts';

const rulesKey = 'x-kubernetes-validations';

function inside(schema: Schema): [path: string, schema: Schema][] {
  return [
    ...Object.entries(schema.properties ?? {}).map(([name, child]): [string, Schema] => [
      `.properties[${name}]`,
      child,
    ]),
    ...(schema.items === undefined ? [] : [['.items', schema.items] as [string, Schema]]),
    ...(typeof schema.additionalProperties === 'object'
      ? [['.additionalProperties', schema.additionalProperties] as [string, Schema]]
      : []),
  ];
}

export function hasRules(schema: Schema): boolean {
  return Boolean(schema[rulesKey]?.length) || inside(schema).some(([, child]) => hasRules(child));
}

/** What a definition says wrongly in its rules. */
export function ruleFaults(schema: Schema, path: string): Fault[] {
  const found: Fault[] = [];
  for (const [at, { rule, messageExpression }] of (schema[rulesKey] ?? []).entries()) {
    const here = `${path}.${rulesKey}[${at}]`;
    const sources: [string, string | undefined][] = [
      ['rule', rule],
      ['messageExpression', messageExpression],
    ];
    for (const [name, source] of sources) {
      if (source === undefined) continue;
      const made = compile(source);
      if ('complaint' in made) {
        const field = `${here}.${name}`;
        found.push(faults.invalid(field, source, `compilation failed: ${made.complaint}`));
      }
    }
  }
  return [
    ...found,
    ...inside(schema).flatMap(([name, child]) => ruleFaults(child, `${path}${name}`)),
  ];
}

/** The faults of an object by the rules all over its schema. */
export function judgeByRules(
  schema: Schema,
  resolve: Resolve,
  object: ApiObject,
  old: ApiObject | undefined,
): Fault[] {
  return judge(schema, resolve, visible(object), old === undefined ? undefined : visible(old), '');
}

/** Of its metadata a rule sees only the names. */
function visible(object: ApiObject): unknown {
  const { name, generateName } = object.metadata;
  return { ...object, metadata: generateName === undefined ? { name } : { name, generateName } };
}

function judge(
  schema: Schema,
  resolve: Resolve,
  value: unknown,
  old: unknown,
  path: string,
): Fault[] {
  const here = resolve(schema);
  if (value === undefined || value === null) return [];
  const found: Fault[] = [];
  const rules = here[rulesKey] ?? [];
  if (rules.length > 0) {
    const self = celValue(value, here, resolve);
    const oldSelf = old === undefined ? undefined : celValue(old, here, resolve);
    // What was there before and stays is held only to rules about changes.
    const isKept = old !== undefined && isEqual(value, old);
    for (const rule of rules) {
      const isSpared = isKept && !(compile(rule.rule) as Expression).isTransition;
      if (!isSpared) found.push(...judgeRule(rule, value, self, oldSelf, path));
    }
  }
  if (Array.isArray(value)) {
    if (here.items === undefined) return found;
    for (const [at, each] of value.entries()) {
      const before = earlier(here, resolve, each, old);
      found.push(...judge(here.items, resolve, each, before, `${path}[${at}]`));
    }
  } else if (isFields(value)) {
    for (const [name, each] of Object.entries(value)) {
      const child = fieldSchema(here, name);
      if (child === undefined) continue;
      const before = isFields(old) ? old[name] : undefined;
      found.push(...judge(child, resolve, each, before, path === '' ? name : `${path}.${name}`));
    }
  }
  return found;
}

/** Items of a list by key have a past; those of any other list do not. */
function earlier(list: Schema, resolve: Resolve, item: unknown, old: unknown): unknown {
  if (list['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old)) return undefined;
  const key = JSON.stringify(listKey(item, list, resolve));
  return old.find((each) => JSON.stringify(listKey(each, list, resolve)) === key);
}

function judgeRule(
  rule: Rule,
  value: unknown,
  self: unknown,
  oldSelf: unknown,
  path: string,
): Fault[] {
  const made = compile(rule.rule) as Expression;
  if (made.isTransition && oldSelf === undefined && rule.optionalOldSelf !== true) return [];
  const field = `${path}${rule.fieldPath ?? ''}` || '<nil>';
  // A plain value is shown; of a whole object the words must do.
  const invalid = (words: string): Fault =>
    typeof value === 'object'
      ? { reason: 'FieldValueInvalid', message: `Invalid value: ${words}`, field }
      : faults.invalid(field, value, words);
  try {
    if (made.evaluate(self, oldSelf) === true) return [];
  } catch (error) {
    return [invalid(`${firstLine(error)} evaluating rule: ${rule.message ?? rule.rule}`)];
  }
  const words = wordsOf(rule, self, oldSelf);
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return [faults.forbidden(field, words)];
    case 'FieldValueRequired':
      return [faults.required(field, words)];
    case 'FieldValueDuplicate':
      return [{ reason: rule.reason, message: `Duplicate value: ${words}`, field }];
    default:
      return [invalid(words)];
  }
}

function wordsOf(rule: Rule, self: unknown, oldSelf: unknown): string {
  if (rule.messageExpression !== undefined) {
    const made = compile(rule.messageExpression) as Expression;
    try {
      const words = made.evaluate(self, oldSelf);
      if (typeof words === 'string' && words.trim() !== '') return words;
    } catch {
      // The plain message serves instead, as it does in the real one.
    }
  }
  return rule.message ?? `failed rule: ${rule.rule}`;
}
