/**
 * The codes in a text that a terminal obeys, or that change the order in which a
 * line is read; by number, so that it does not share a mistake with
 * src/base/printable.ts. Line breaks are for the caller to judge.
 */
export function terminalCodes(text: string): string[] {
  return [...text]
    .map((character) => character.codePointAt(0) ?? 0)
    .filter(
      (code) =>
        (code < 0x20 && code !== 0x0a) ||
        (code >= 0x7f && code <= 0x9f) ||
        (code >= 0xd800 && code <= 0xdfff) ||
        [0x061c, 0x200e, 0x200f, 0x2028, 0x2029].includes(code) ||
        (code >= 0x202a && code <= 0x202e) ||
        (code >= 0x2066 && code <= 0x2069),
    )
    .map((code) => `U+${code.toString(16).padStart(4, '0').toUpperCase()}`);
}

/** One of each kind, and what they do in a terminal that obeys them. */
export const hostileText = [
  'tor1\u001b[2J\u001b[31m', // clears the screen, goes on in red
  '\u009b1A', // the same introducer in one code: up a line
  '\u001b]0;owned\u0007', // sets the window's title
  '\r\nnode9  Ready', // a line of its own
  '\u007f\u0008\t', // rubs out
  '\u202etxt.exe\u2066', // another order
  '\u2028\ud800', // a line separator; half a pair
].join('');
