import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProtobufFields } from '../../base/protobuf-fields.ts';
import { ApiError } from '../api-error.ts';
import type { ListHead } from '../list-scanner.ts';
import type { WatchEvent } from '../watch-lines.ts';
import { openEnvelope } from './envelope.ts';
import { ProtobufListScanner } from './list-scanner.ts';
import { type DecodedNode, decodeNode } from './node.ts';
import { WatchFrames } from './watch-frames.ts';

/** Writers just good enough to make what the readers read. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    const byte = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? byte | 0x80 : byte);
  } while (rest > 0);
  return Buffer.from(bytes);
}
const part = (number: number, body: Buffer | string): Buffer => {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
};
const count = (number: number, value: number) => Buffer.concat([varint(number * 8), varint(value)]);
const message = (...parts: Buffer[]) => Buffer.concat(parts);
const envelope = (kind: string, body: Buffer) =>
  message(Buffer.from('k8s\0'), part(1, part(2, kind)), part(2, body), part(3, ''), part(4, ''));
const entry = (key: string, value: string) => message(part(1, key), part(2, value));

interface Spec {
  name: string;
  labels: Array<[string, string]>;
  cidrs: string[];
  isCordoned?: boolean;
  taints?: string[];
  images: number;
}
const nodeBytes = ({ name, labels, cidrs, isCordoned, taints = [], images }: Spec) =>
  message(
    part(
      1,
      message(
        part(1, name),
        part(6, '77'),
        count(7, 3),
        part(8, count(1, 1_700_000_000)),
        ...labels.map(([key, value]) => part(11, entry(key, value))),
      ),
    ),
    part(
      2,
      message(
        count(4, isCordoned ? 1 : 0),
        ...taints.map((key) => part(5, message(part(1, key), part(2, ''), part(3, 'NoSchedule')))),
        ...cidrs.map((cidr) => part(7, cidr)),
      ),
    ),
    part(
      3,
      message(
        part(5, message(part(1, 'InternalIP'), part(2, '192.0.2.1'))),
        ...Array.from({ length: images }, () => part(8, 'x'.repeat(300))),
      ),
    ),
  );
const nodeJson = ({ name, labels, cidrs, isCordoned, taints = [] }: Spec): DecodedNode => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    resourceVersion: '77',
    generation: 3,
    creationTimestamp: '2023-11-14T22:13:20Z',
    ...(labels.length > 0 ? { labels: Object.fromEntries(labels) } : {}),
  },
  spec: {
    ...(cidrs.length > 0 ? { podCIDRs: cidrs } : {}),
    ...(isCordoned ? { unschedulable: true } : {}),
    ...(taints.length > 0 ? { taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) } : {}),
  },
  status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
});
const specs = fc.array(
  fc.record({
    name: fc.string({ minLength: 1 }),
    labels: fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), fc.string()), {
      selector: ([key]) => key,
      maxLength: 3,
    }),
    cidrs: fc.array(fc.string({ minLength: 1 }), { maxLength: 2 }),
    isCordoned: fc.boolean(),
    taints: fc.array(fc.string({ minLength: 1 }), { maxLength: 2 }),
    images: fc.nat(4),
  }),
  { maxLength: 6 },
);
/** Cuts bytes at random places. */
const torn = (bytes: Buffer, cuts: number[]): Buffer[] => {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, at) => bytes.subarray(from, places[at] ?? bytes.length));
};
const cuts = fc.array(fc.nat(), { maxLength: 12 });

describe('a list', () => {
  const head = message(part(2, '4711'), part(3, 'more'), count(4, 300));
  const listBytes = (all: Spec[]) =>
    envelope('NodeList', message(part(1, head), ...all.map((spec) => part(2, nodeBytes(spec)))));
  const scan = (pieces: Buffer[]) => {
    const heads: ListHead[] = [];
    const items: DecodedNode[] = [];
    const scanner = new ProtobufListScanner(
      decodeNode,
      (one) => heads.push(one),
      (item) => items.push(item),
    );
    for (const piece of pieces) scanner.push(piece);
    return { heads, items, end: scanner.finish() };
  };

  test('is the same however its bytes are torn', () => {
    fc.assert(
      fc.property(specs, cuts, (all, places) => {
        const { heads, items, end } = scan(torn(listBytes(all), places));
        expect(items).toEqual(all.map(nodeJson));
        expect(end).toEqual({ resourceVersion: '4711', continue: 'more', remaining: 300 });
        expect(heads).toEqual([end]);
      }),
    );
  });

  test('that breaks off is no list, wherever it breaks', () => {
    const bytes = listBytes([
      { name: 'a', labels: [['k', 'v']], cidrs: ['10.0.0.0/24'], images: 1 },
    ]);
    // The last four bytes are the envelope's two empty fields.
    for (let end = 0; end < bytes.length - 4; end += 1) {
      expect(scan([bytes.subarray(0, end)]).end).toBeUndefined();
    }
  });

  test('that is something else is refused', () => {
    expect(() => scan([Buffer.from('{"kind":"NodeList"}')])).toThrow('does not begin');
    const itemsFirst = message(part(2, nodeBytes({ name: 'a', labels: [], cidrs: [], images: 0 })));
    expect(() => scan([envelope('NodeList', itemsFirst)])).toThrow('before the head');
  });
});

describe('a watch', () => {
  const frame = (type: string, object: Buffer) => {
    const body = message(part(1, type), part(2, part(1, object)));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    return message(length, body);
  };
  const hear = (pieces: Buffer[]) => {
    const events: WatchEvent[] = [];
    const frames = new WatchFrames('WATCH /api/v1/nodes', decodeNode, (event) =>
      events.push(event),
    );
    for (const piece of pieces) frames.push(piece);
    return events;
  };

  test('is the same however its bytes are torn', () => {
    const type = fc.constantFrom('ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK');
    fc.assert(
      fc.property(specs, type, cuts, (all, of, places) => {
        const bytes = message(...all.map((spec) => frame(of, envelope('Node', nodeBytes(spec)))));
        const events = hear(torn(bytes, places));
        expect(events).toEqual(all.map((spec) => ({ type: of, object: nodeJson(spec) })));
      }),
    );
  });

  test('an error event says what the server says', () => {
    const status = message(
      part(2, 'Failure'),
      part(3, 'too old resource version'),
      part(4, 'Expired'),
      count(6, 410),
    );
    try {
      hear([frame('ERROR', envelope('Status', status))]);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({ status: 410, reason: 'Expired', isGone: true });
    }
  });

  test.each([
    ['a frame without end', Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ['JSON', Buffer.from('{"type":"ADDED"}\n')],
    ['an unknown event', frame('SOMETHING', envelope('Node', Buffer.alloc(0)))],
    ['an object without an envelope', frame('ADDED', Buffer.from('{}'))],
  ])('%s ends it with an error', (_, bytes) => {
    expect(() => hear([bytes])).toThrow('the watch sent what is no event');
  });
});

describe('fields', () => {
  test('rubbish is an error, never a loop', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (noise) => {
        const fields = new ProtobufFields(Buffer.from(noise));
        try {
          for (let n = 0; fields.next(); n += 1) expect(n).toBeLessThan(41);
        } catch (error) {
          expect(String(error)).toContain('protobuf: ');
        }
      }),
    );
  });

  test('an envelope says its kind', () => {
    const { kind, fields } = openEnvelope(envelope('Node', part(1, 'x')));
    expect([kind, fields.next(), fields.text()]).toEqual(['Node', true, 'x']);
  });

  test('numbers keep their size up to 2^53', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        const fields = new ProtobufFields(count(5, value));
        expect([fields.next(), fields.number, fields.value]).toEqual([true, 5, value]);
      }),
    );
  });
});
