import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../test/parts/random.ts';
import { type ListHead, ListScanner } from './list-scanner.ts';

function scan(pieces: Buffer[]): {
  heads: ListHead[];
  items: unknown[];
  end: ListHead | undefined;
} {
  const heads: ListHead[] = [];
  const items: unknown[] = [];
  const scanner = new ListScanner<unknown>(
    (head) => {
      // Nothing before the head: who reads must know the version first.
      expect(items).toEqual([]);
      heads.push(head);
    },
    (item) => items.push(item),
  );
  for (const piece of pieces) scanner.push(piece);
  return { heads, items, end: scanner.finish() };
}

const whole = (text: string) => scan([Buffer.from(text)]);
const head = (resourceVersion: string, token = '', remaining?: number): ListHead => ({
  resourceVersion,
  continue: token,
  remaining,
});

test('a list as the API server sends it', () => {
  const list = {
    kind: 'NodeList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '7', continue: 'abc', remainingItemCount: 3 },
    items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }],
  };
  const { heads, items, end } = whole(JSON.stringify(list));
  expect(heads).toEqual([head('7', 'abc', 3)]);
  expect(end).toEqual(head('7', 'abc', 3));
  expect(items).toEqual(list.items);
});

test('an empty list, a list of null, and one without items', () => {
  for (const items of ['[]', 'null', '[ ]']) {
    const read = whole(`{"metadata":{"resourceVersion":"7"},"items":${items}}`);
    expect(read).toEqual({ heads: [head('7')], items: [], end: head('7') });
  }
  expect(whole('{"metadata":{"resourceVersion":"7"}}').end).toEqual(head('7'));
});

test('metadata behind the items holds them back until it has come', () => {
  const { heads, items } = whole('{"items":[{"a":1},{"a":2}],"metadata":{"resourceVersion":"7"}}');
  expect(heads).toEqual([head('7')]);
  expect(items).toEqual([{ a: 1 }, { a: 2 }]);
});

test('only the items at the top are items', () => {
  const { items } = whole(
    '{"metadata":{"resourceVersion":"7","items":[{"no":1}]},"x":{"items":[{"no":2}]},"items":[{"items":[{"in":1}]}]}',
  );
  expect(items).toEqual([{ items: [{ in: 1 }] }]);
});

test('what is no whole list is told', () => {
  const list = '{"metadata":{"resourceVersion":"7"},"items":[{"a":"b"}]}';
  for (let end = 0; end < list.length; end += 1)
    expect(whole(list.slice(0, end)).end).toBeUndefined();
  for (const text of ['', 'hello', '[]', '{}', '{"items":[]}', '<html>']) {
    expect(whole(text).end).toBeUndefined();
  }
});

test('an item that is no JSON throws', () => {
  expect(() => whole('{"metadata":{"resourceVersion":"7"},"items":[{a:1}]}')).toThrow(SyntaxError);
});

test('the same as JSON.parse, however the bytes are cut and whatever the objects hold', () => {
  const nasty = ['"', '\\', '{', '}', '[', ']', ',', ':', 'items', 'ä', '节', '😀', '\n', '\u0000'];
  const text = fc.array(fc.constantFrom(...nasty), { maxLength: 4 }).map((parts) => parts.join(''));
  const leaf = fc.oneof(text, fc.constantFrom(null, 0, -1.5e9, true, [], {}));
  const node = fc.oneof(
    leaf,
    fc.array(leaf, { maxLength: 2 }),
    fc.dictionary(text, leaf, { maxKeys: 2 }),
  );
  const object = fc.dictionary(text, node, { maxKeys: 3 });
  fc.assert(
    fc.property(
      fc.array(object, { maxLength: 6 }),
      object,
      fc.boolean(),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
      fc.constantFrom(0, 2),
      (items, other, isBehind, cuts, indent) => {
        const metadata = { resourceVersion: '7' };
        const list = isBehind ? { other, items, metadata } : { metadata, other, items };
        const bytes = Buffer.from(JSON.stringify(list, null, indent));
        const at = [
          0,
          ...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b),
          bytes.length,
        ];
        const read = scan(at.slice(1).map((end, i) => bytes.subarray(at[i], end)));
        expect(JSON.stringify(read.items)).toBe(JSON.stringify(items));
        expect(read.heads).toEqual([head('7')]);
        expect(read.end).toEqual(head('7'));
      },
    ),
    { numRuns: runs(300) },
  );
});
