import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderTable, wrap } from './table.ts';

test('columns are as wide as they need to be, and the last one is broken between words', () => {
  const rows = [
    ['a', '10.0.0.0/24', 'a reason that is longer than the room that is left for it'],
    ['bb', '-', ''],
  ];
  expect(renderTable(['NODE', 'BLOCKS', 'WHY'], rows, 52)).toBe(
    [
      'NODE  BLOCKS       WHY',
      'a     10.0.0.0/24  a reason that is longer than the',
      '                   room that is left for it',
      'bb    -',
      '',
    ].join('\n'),
  );
});

test('a row that is too short ends early', () => {
  expect(renderTable(['A', 'B'], [['x'], []], 80)).toBe('A  B\nx\n\n');
});

test('wrapping loses no word, and no line is longer than the room but for a single word', () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 });
  fc.assert(
    fc.property(words, fc.integer({ min: 1, max: 40 }), (all, room) => {
      const lines = wrap(all.join(' '), room);
      expect(lines.join(' ')).toBe(all.join(' '));
      for (const line of lines) expect(line.length <= room || !line.includes(' ')).toBe(true);
    }),
  );
});
