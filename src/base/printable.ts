/**
 * Text that comes from the network, from an object or from a file, made safe to
 * print. A router's shutdown message, a Node's name or the body of an error may
 * hold codes that move the cursor, erase lines, or reverse the reading order, so
 * that a terminal shows something else than what was sent.
 *
 * They are written as JSON writes them (`\u001b`), so JSON and quoted YAML stay
 * the same data, whoever printed them.
 */
const unprintable =
  // C0, DEL and C1; Arabic letter mark, left-to-right and right-to-left marks; line and paragraph
  // separators with the bidirectional embeddings and overrides; bidirectional isolates; halves of a
  // surrogate pair that stand alone.
  /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** One line, whatever is in it: a line break too is only shown. */
export function printable(text: string): string {
  return text.replace(unprintable, escaped);
}

/** Several lines: only line breaks are kept. */
export function printableLines(text: string): string {
  return text.replace(unprintable, (code) => (code === '\n' ? code : escaped(code)));
}

export function isPrintable(text: string): boolean {
  return text.search(unprintable) < 0;
}

function escaped(code: string): string {
  return short[code] ?? `\\u${code.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
