/** JSON from a client: how deep it may be, and no number that is none. */
import { isFields } from './object.ts';

/** The real one takes 10,000; everything here that walks an object needs stack for each. */
const maxDepth = 1_000;

export function readJson(text: string): unknown {
  mustBeShallow(text);
  const value: unknown = JSON.parse(text);
  // An exponent or a very long number: the only ways beyond a double.
  if (/\d[eE]\+?\d{3}|\d{300}/.test(text)) mustBeFinite(value);
  return value;
}

/** By the brackets that are open outside of strings. */
function mustBeShallow(text: string): void {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) isString = !isString;
    else if (code === 0x5c && isString) at += 1;
    else if (isString) continue;
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > maxDepth) throw new Error(`invalid character '${text[at]}' exceeded max depth`);
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
}

export function mustBeFinite(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new Error('json: cannot unmarshal number into Go value of type float64');
  }
  if (Array.isArray(value)) for (const each of value) mustBeFinite(each);
  else if (isFields(value)) for (const each of Object.values(value)) mustBeFinite(each);
}
