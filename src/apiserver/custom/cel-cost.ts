/**
 * A rule may be written so that it does not end in anybody's lifetime: loops in loops, strings
 * that double. The real API server gives each rule a budget; so do we. A turn of a loop costs as
 * many as it has parts; operators and functions cost what they have to read.
 *
 * The interpreter knows no budget, so a meter is put on the parts of an expression that was
 * checked. That is the one place that depends on how it keeps them; cel-cost.test.ts holds it.
 */
import type { ASTNode } from '@marcbachmann/cel-js';

/** As the interpreter keeps it. */
export interface Part {
  op: string;
  args: unknown;
  meta?: { alternate?: Part; macro?: Record<string, unknown> };
  /** Takes what was evaluated: two operands of an operator, a list of those of a function. */
  handle?: (first: unknown, second: unknown, ...more: unknown[]) => unknown;
  evaluate: (...context: unknown[]) => unknown;
}

/** Of one rule, as on the real API server. */
const perRule = 1_000_000;
/** Of all rules of an object together. The real one has ten times that of a rule, and more cores. */
export const perObject = 3_000_000;

/** A loop goes on after an error, and an error takes the interpreter as long as so many parts. */
const perError = 200;

export class OverBudget extends Error {}

const over = new OverBudget('call cost exceeds limit for rule');
let left = Number.POSITIVE_INFINITY;

/** Runs a metered expression. Throws OverBudget when it costs more than a rule, or `budget`, may. */
export function withinBudget(run: () => unknown, budget: number): { value: unknown; cost: number } {
  const granted = Math.min(perRule, budget);
  left = granted;
  try {
    const value = run();
    // Where `||`, `all` and the like took the error for a value, too.
    if (left < 0) throw over;
    return { value, cost: granted - left };
  } catch (error) {
    throw left < 0 ? over : error;
  } finally {
    left = Number.POSITIVE_INFINITY;
  }
}

export function charge(cost: number): void {
  left -= cost;
  if (left < 0) throw over;
}

const functions = new Set(['call', 'rcall']);
const operators = new Set(['+', '==', '!=', '<', '<=', '>', '>=', 'in']);

export function meter(root: ASTNode): void {
  for (const part of partsOf(root)) {
    const { handle } = part;
    const isOperator = operators.has(part.op);
    if ((isOperator || functions.has(part.op)) && handle !== undefined) {
      part.handle = (first, second, ...more) => {
        charge(sizeOf(first) + (isOperator ? sizeOf(second) : 0));
        return handle(first, second, ...more);
      };
    } else if (part.op === 'comprehension') {
      const { step } = part.args as { step: Part };
      meterTurns(step, [...partsOf(step)].length);
    }
  }
}

function meterTurns(step: Part, cost: number): void {
  // At its first call the interpreter puts a faster `evaluate` in place of this one.
  let { evaluate } = step;
  const metered: Part['evaluate'] = (...context) => {
    charge(cost);
    try {
      return evaluate.apply(step, context);
    } catch (error) {
      charge(perError);
      throw error;
    }
  };
  Object.defineProperty(step, 'evaluate', {
    get: () => metered,
    set: (faster: Part['evaluate']) => {
      evaluate = faster;
    },
  });
}

/** All parts of an expression, macros as what they stand for. */
export function* partsOf(root: unknown): Generator<Part> {
  const waiting = [root];
  const seen = new Set<unknown>();
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (Array.isArray(next)) waiting.push(...next);
    else if (isPart(next) && !seen.has(next)) {
      seen.add(next);
      yield next;
      const { args, meta } = next;
      const { alternate, macro } = meta ?? {};
      waiting.push(alternate, macro?.args, macro?.val, macro?.exp);
      if (next.op === 'comprehension') {
        const { iterable, init, step } = args as Record<string, unknown>;
        waiting.push(iterable, init, step);
      } else waiting.push(args);
    }
  }
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

const sizes = new WeakMap<object, number>();

/** A tenth for a letter, one for a value, as the real one counts. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return 1 + value.length / 10;
  if (typeof value !== 'object' || value === null) return 1;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  const inside = value instanceof Map ? value.values() : Object.values(value);
  let size = 1;
  for (const each of inside) size += sizeOf(each);
  sizes.set(value, size);
  return size;
}
