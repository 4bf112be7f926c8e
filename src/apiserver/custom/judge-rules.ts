/** What CEL rules say of an object that somebody wants to write. */
import { type ApiObject, isEqual, isFields } from '../object.ts';
import { fieldSchema, type Resolve, type Rule, type Schema } from '../schema/schema.ts';
import { listKey } from '../schema/validate.ts';
import { type Fault, faults } from '../status.ts';
import { compile, type Expression, firstLine } from './cel.ts';
import { OverBudget, perObject } from './cel-cost.ts';
import { celValue } from './cel-value.ts';
import { rulesKey } from './rules.ts';

/** The faults of an object by the rules all over its schema. */
export function judgeByRules(
  schema: Schema,
  resolve: Resolve,
  object: ApiObject,
  old: ApiObject | undefined,
): Fault[] {
  const judgement = new Judgement(resolve);
  judgement.visit(schema, visible(object), old === undefined ? undefined : visible(old), '');
  return judgement.found;
}

/** Of its metadata a rule sees only the names. */
function visible(object: ApiObject): unknown {
  const { name, generateName } = object.metadata;
  return { ...object, metadata: generateName === undefined ? { name } : { name, generateName } };
}

class Judgement {
  readonly found: Fault[] = [];
  readonly #resolve: Resolve;
  /** What the rules that are left may cost. Used up: none of them is run. */
  #budget = perObject;

  constructor(resolve: Resolve) {
    this.#resolve = resolve;
  }

  visit(schema: Schema, value: unknown, old: unknown, path: string): void {
    const here = this.#resolve(schema);
    if (value === undefined || value === null) return;
    this.#judge(here, value, old, path);
    if (Array.isArray(value)) {
      if (here.items === undefined) return;
      const before = this.#earlier(here, old);
      for (const [at, each] of value.entries()) {
        this.visit(here.items, each, before?.(each), `${path}[${at}]`);
      }
    } else if (isFields(value)) {
      for (const [name, each] of Object.entries(value)) {
        const child = fieldSchema(here, name);
        if (child === undefined) continue;
        const before = isFields(old) ? old[name] : undefined;
        this.visit(child, each, before, path === '' ? name : `${path}.${name}`);
      }
    }
  }

  #judge(here: Schema, value: unknown, old: unknown, path: string): void {
    const rules = here[rulesKey] ?? [];
    if (rules.length === 0 || this.#budget <= 0) return;
    const self = celValue(value, here, this.#resolve);
    const oldSelf = old === undefined ? undefined : celValue(old, here, this.#resolve);
    // What was there before and stays is held only to rules about changes.
    const isKept = old !== undefined && isEqual(value, old);
    for (const rule of rules) {
      const isSpared = isKept && !(compile(rule.rule) as Expression).isTransition;
      if (isSpared || this.#budget <= 0) continue;
      const fault = this.#judgeRule(rule, value, self, oldSelf, path);
      if (fault !== undefined) this.found.push(fault);
    }
  }

  /** Items of a list by key have a past; those of any other list do not. */
  #earlier(list: Schema, old: unknown): ((item: unknown) => unknown) | undefined {
    if (list['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old)) return undefined;
    const keyOf = (item: unknown) => JSON.stringify(listKey(item, list, this.#resolve));
    const byKey = new Map(old.map((each) => [keyOf(each), each]));
    return (item) => byKey.get(keyOf(item));
  }

  #judgeRule(
    rule: Rule,
    value: unknown,
    self: unknown,
    oldSelf: unknown,
    path: string,
  ): Fault | undefined {
    const { isTransition } = compile(rule.rule) as Expression;
    if (isTransition && oldSelf === undefined && rule.optionalOldSelf !== true) return undefined;
    const field = `${path}${rule.fieldPath ?? ''}` || '<nil>';
    // A plain value is shown; of a whole object the words must do.
    const invalid = (words: string): Fault =>
      typeof value === 'object'
        ? { reason: 'FieldValueInvalid', message: `Invalid value: ${words}`, field }
        : faults.invalid(field, value, words);
    try {
      if (this.#evaluate(rule.rule, self, oldSelf) === true) return undefined;
    } catch (error) {
      const words = `${firstLine(error)} evaluating rule: ${rule.message ?? rule.rule}`;
      if (!(error instanceof OverBudget)) return invalid(words);
      this.#budget = 0;
      return invalid(`${words}: no further validation rules will be run`);
    }
    const words = this.#wordsOf(rule, self, oldSelf);
    switch (rule.reason) {
      case 'FieldValueForbidden':
        return faults.forbidden(field, words);
      case 'FieldValueRequired':
        return faults.required(field, words);
      case 'FieldValueDuplicate':
        return { reason: rule.reason, message: `Duplicate value: ${words}`, field };
      default:
        return invalid(words);
    }
  }

  #evaluate(source: string, self: unknown, oldSelf: unknown): unknown {
    const made = compile(source) as Expression;
    const { value, cost } = made.evaluate(self, oldSelf, this.#budget);
    this.#budget -= cost;
    return value;
  }

  #wordsOf(rule: Rule, self: unknown, oldSelf: unknown): string {
    if (rule.messageExpression !== undefined) {
      try {
        const words = this.#evaluate(rule.messageExpression, self, oldSelf);
        if (typeof words === 'string' && words.trim() !== '') return words;
      } catch {
        // The plain message serves instead, as it does in the real one.
      }
    }
    return rule.message ?? `failed rule: ${rule.rule}`;
  }
}
