/** CEL with Kubernetes' extensions, as far as rules use them; see docs/apiserver.md for the rest. */
import { Environment } from '@marcbachmann/cel-js';
import { describeError } from '../../base/errors.ts';
import { registerNetworks } from './cel-network.ts';

export interface Expression {
  /** Speaks of `oldSelf`: only for changes. */
  isTransition: boolean;
  evaluate(self: unknown, oldSelf: unknown): unknown;
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
  .registerFunction('string.find(string): string', (text: string, pattern: string) => {
    return new RegExp(pattern, 'u').exec(text)?.[0] ?? '';
  })
  .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) => {
    return text.match(new RegExp(pattern, 'gu')) ?? [];
  })
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
  return text.split(from).join(to);
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
    const { valid, error } = program.check();
    if (!valid) return { complaint: firstLine(error) };
    const words = source.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, '""');
    return {
      isTransition: /\boldSelf\b/.test(words),
      evaluate: (self, oldSelf) => program({ self, oldSelf }),
    };
  } catch (error) {
    return { complaint: firstLine(error) };
  }
}

export function firstLine(error: unknown): string {
  return describeError(error).split('\n')[0] as string;
}
