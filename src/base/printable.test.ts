import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hostileText, terminalCodes } from '../../test/parts/terminal-codes.ts';
import { isPrintable, printable, printableLines } from './printable.ts';

const hostile = fc.string({ unit: 'binary' });
const anyCodeUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }))
  .map((units) => String.fromCharCode(...units));

describe('a text for a terminal', () => {
  test.each([
    ['a router with a red name', '\u001b[31mtor1\u001b[0m', '\\u001b[31mtor1\\u001b[0m'],
    ['C1: the short form of ESC [', '\u009b2J', '\\u009b2J'],
    ['DEL and BEL', 'a\u007f\u0007', 'a\\u007f\\u0007'],
    ['a line of its own', 'ok\r\nnode2  Ready', 'ok\\r\\nnode2  Ready'],
    ['another order', 'abc\u202egnp.exe\u2069', 'abc\\u202egnp.exe\\u2069'],
    ['half a pair', '\ud800x', '\\ud800x'],
    ['what people write', 'Größe → 東京 🙂 \\n', 'Größe → 東京 🙂 \\n'],
  ])('%s', (_, text, shown) => {
    expect(printable(text)).toBe(shown);
    expect(isPrintable(text)).toBe(text === shown);
  });

  test('all of them at once', () => {
    expect(terminalCodes(hostileText).length).toBeGreaterThan(10);
    expect(printable(hostileText)).toBe(
      'tor1\\u001b[2J\\u001b[31m\\u009b1A\\u001b]0;owned\\u0007\\r\\nnode9  Ready' +
        '\\u007f\\u0008\\t\\u202etxt.exe\\u2066\\u2028\\ud800',
    );
  });

  test('nothing that a terminal obeys is left', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, anyCodeUnits), (text) => {
        const shown = printable(text);
        expect([terminalCodes(shown), shown.includes('\n')]).toEqual([[], false]);
        expect(isPrintable(shown)).toBe(true);
        expect(printableLines(text).split('\n').join('\\n')).toBe(shown);
      }),
    );
  });

  test('JSON stays the same data', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, anyCodeUnits), (text) => {
        const data = { [text]: [text] };
        const shown = printableLines(JSON.stringify(data, null, 2));
        expect(JSON.parse(shown)).toEqual(data);
        expect(terminalCodes(shown)).toEqual([]);
      }),
    );
  });
});
