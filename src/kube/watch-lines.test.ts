import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ApiError } from './api-error.ts';
import { type WatchEvent, WatchLines } from './watch-lines.ts';

const line = (type: string, name: string, resourceVersion = '5') =>
  `${JSON.stringify({ type, object: { metadata: { name, resourceVersion } } })}\n`;

function read(pieces: Buffer[]): { events: WatchEvent[]; error: unknown } {
  const events: WatchEvent[] = [];
  const lines = new WatchLines('WATCH /x', (event) => events.push(event));
  try {
    for (const piece of pieces) lines.push(piece);
  } catch (error) {
    return { events, error };
  }
  return { events, error: undefined };
}

test('events come out the same wherever the bytes are cut, inside characters too', () => {
  const names = ['a', 'knoten-ä', '节点-83', '😀', 'b'.repeat(200)];
  const bytes = Buffer.from(names.map((name) => line('ADDED', name)).join(''));
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 40 }), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const pieces = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
      const { events, error } = read(pieces);
      expect(error).toBeUndefined();
      expect(events.map((event) => event.object.metadata.name)).toEqual(names);
    }),
  );
});

test('a line torn off by the end of the stream is dropped without a word', () => {
  const { events, error } = read([Buffer.from(`${line('ADDED', 'a')}{"type":"ADDED","obj`)]);
  expect(error).toBeUndefined();
  expect(events).toHaveLength(1);
});

test('a whole line that is no event ends the watch; the events before it count', () => {
  for (const bad of [
    '{"type":"ADDED","obj',
    '[]',
    'null',
    '{"type":"WHAT","object":{}}',
    '{"type":"ADDED","object":{}}',
  ]) {
    const { events, error } = read([
      Buffer.from(`${line('ADDED', 'a')}${bad}\n${line('ADDED', 'b')}`),
    ]);
    expect(events).toHaveLength(1);
    expect(error).toBeInstanceOf(ApiError);
  }
});

test('an ERROR event becomes the error it carries', () => {
  const gone = { type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'too old' } };
  const { error } = read([Buffer.from(`${JSON.stringify(gone)}\n`)]);
  expect(error).toMatchObject({ status: 410, reason: 'Expired', isGone: true });
});
