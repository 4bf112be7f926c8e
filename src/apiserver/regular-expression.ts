/**
 * Regular expressions that clients bring: `pattern` of a schema, `matches` of a CEL rule. They are
 * Go's (RE2), as on the real API server: what that refuses (look-around, back references) is
 * refused here in the same words, and no expression takes time that grows faster than the text.
 */
import { RE2JS } from 're2js';
import { describeError } from '../base/errors.ts';

export interface RegularExpression {
  /** Steps that a match of such a text may take: what a caller with a budget counts. */
  steps(text: string): number;
  test(text: string): boolean;
  /** The first match. */
  find(text: string): string | undefined;
  findAll(text: string): string[];
}

/**
 * About a second of one core. A linear engine still takes the length of the text times the size
 * of the expression, and everybody else waits meanwhile.
 */
export const maxSteps = 20_000_000;

const known = new Map<string, RegularExpression | { complaint: string }>();

export function regularExpression(source: string): RegularExpression | { complaint: string } {
  const had = known.get(source);
  if (had !== undefined) return had;
  const made = make(source);
  // They come from definitions, of which there are few; a client that floods us is forgotten.
  if (known.size >= 1_000) known.clear();
  known.set(source, made);
  return made;
}

function make(source: string): RegularExpression | { complaint: string } {
  try {
    const compiled = RE2JS.compile(source);
    const size = compiled.programSize();
    return {
      steps: (text) => text.length * size,
      test: (text) => compiled.test(text),
      find: (text) => compiled.exec(text)?.[0],
      findAll: (text) => [...compiled.matchAll(text)].map(([found]) => found),
    };
  } catch (error) {
    return { complaint: describeError(error) };
  }
}
