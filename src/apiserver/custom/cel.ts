/** CEL with Kubernetes' extensions, as far as rules use them; see docs/apiserver.md for the rest. */
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { describeError } from '../../base/errors.ts';
import { type RegularExpression, regularExpression } from '../regular-expression.ts';
import { charge, meter, type Part, partsOf, withinBudget } from './cel-cost.ts';
import { registerNetworks } from './cel-network.ts';

export interface Expression {
  /** Speaks of `oldSelf`: only for changes. */
  isTransition: boolean;
  /** Throws OverBudget when it costs more than one rule, or `budget`, may. */
  evaluate(self: unknown, oldSelf: unknown, budget: number): { value: unknown; cost: number };
}

const environment = registerNetworks(
  new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
  })
    .registerVariable('self', 'dyn')
    .registerVariable('oldSelf', 'dyn'),
)
  .registerFunction('string.replace(string, string): string', replaceAll)
  .registerFunction(
    'string.replace(string, string, int): string',
    (text: string, from: string, to: string, times: bigint) => {
      if (times < 0n) return replaceAll(text, from, to);
      let [done, rest] = ['', text];
      for (let left = times; left > 0n; left--) {
        const at = rest.indexOf(from);
        if (at < 0) break;
        done += rest.slice(0, at) + to;
        rest = rest.slice(at + from.length);
      }
      return done + rest;
    },
  )
  .registerFunction('string.charAt(int): string', (text: string, at: bigint) => {
    return [...text][Number(at)] ?? '';
  })
  // The interpreter has a `matches` of its own, by JavaScript's rules; see inOurNames.
  .registerFunction('string.matchesRe2(string): bool', (text: string, pattern: string) =>
    expressionFor(pattern, text).test(text),
  )
  .registerFunction('string.find(string): string', (text: string, pattern: string) => {
    return expressionFor(pattern, text).find(text) ?? '';
  })
  .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
    expressionFor(pattern, text).findAll(text),
  )
  .registerFunction('isURL(string): bool', (text: string) => URL.canParse(text))
  .registerFunction('list.isSorted(): bool', (list: Comparable[]) =>
    list.every((each, at) => at === 0 || (list[at - 1] as Comparable) <= each),
  )
  .registerFunction('list.sum(): dyn', (list: unknown[]) => sum(list))
  .registerFunction('list.min(): dyn', (list: Comparable[]) => extreme(list, (a, b) => a < b))
  .registerFunction('list.max(): dyn', (list: Comparable[]) => extreme(list, (a, b) => a > b))
  .registerFunction('list.indexOf(dyn): int', (list: unknown[], value: unknown) =>
    BigInt(list.indexOf(value)),
  );

type Comparable = string | bigint | number;

function replaceAll(text: string, from: string, to: string): string {
  const pieces = text.split(from);
  charge((text.length + pieces.length * to.length) / 10);
  return pieces.join(to);
}

/** A million is what a rule may cost, and what a match of `maxSteps` does. */
const stepsPerCost = 20;

function expressionFor(pattern: string, text: string): RegularExpression {
  const made = regularExpression(pattern);
  if ('complaint' in made) throw new Error(made.complaint);
  charge(made.steps(text) / stepsPerCost);
  return made;
}

function sum(list: unknown[]): unknown {
  if (list.every((each) => typeof each === 'bigint')) {
    return (list as bigint[]).reduce((total, each) => total + each, 0n);
  }
  return (list as number[]).reduce((total, each) => total + Number(each), 0);
}

function extreme(list: Comparable[], isBetter: (a: Comparable, b: Comparable) => boolean): unknown {
  const [first, ...rest] = list;
  if (first === undefined) throw new Error('min/max called on empty list');
  return rest.reduce((best, each) => (isBetter(each, best) ? each : best), first);
}

const compiled = new Map<string, Expression | { complaint: string }>();

/** Compiled once; a complaint when it cannot be. */
export function compile(source: string): Expression | { complaint: string } {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  const made = compileAfresh(source);
  // Rules come from definitions, of which there are few; a client that floods us is forgotten.
  if (compiled.size > 10_000) compiled.clear();
  compiled.set(source, made);
  return made;
}

function compileAfresh(source: string): Expression | { complaint: string } {
  try {
    const program = environment.parse(source);
    const wrong = inOurNames(program.ast);
    if (wrong !== undefined) return { complaint: wrong };
    const { valid, error } = program.check();
    if (!valid) return { complaint: firstLine(error) };
    meter(program.ast);
    const words = source.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, '""');
    return {
      isTransition: /\boldSelf\b/.test(words),
      evaluate: (self, oldSelf, budget) => withinBudget(() => program({ self, oldSelf }), budget),
    };
  } catch (error) {
    return { complaint: firstLine(error) };
  }
}

const takePatterns = ['matches', 'find', 'findAll'];

/** Calls of `matches` become ours. A pattern that stands in the rule is read now: the complaint. */
function inOurNames(root: ASTNode): string | undefined {
  for (const part of partsOf(root)) {
    if (part.op !== 'rcall') continue;
    const [name, receiver, operands] = part.args as [string, Part, Part[]];
    const [first] = operands;
    if (takePatterns.includes(name) && first?.op === 'value' && typeof first.args === 'string') {
      const made = regularExpression(first.args);
      if ('complaint' in made) return `invalid ${name} argument: ${made.complaint}`;
    }
    if (name === 'matches') part.args = ['matchesRe2', receiver, operands];
  }
  return undefined;
}

export function firstLine(error: unknown): string {
  const line = describeError(error).split('\n')[0] as string;
  return line.replace('.matchesRe2(', '.matches(');
}
