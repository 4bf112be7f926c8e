import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import type { PeerSettings } from '../../model/peer-settings.ts';
import { negotiateSession, noEvidence, ourOpen } from '../session/session-negotiation.ts';
import { type CompletePeer, completePeer } from '../speaker/complete-peer.ts';
import { decodeMessage, type UpdateMessage, WireError } from '../wire/message.ts';
import { AdjRibIn } from './adj-rib-in.ts';
import { AdjRibOut } from './adj-rib-out.ts';
import type { Announcement } from './announcement.ts';
import { AnnouncementTable } from './announcement-table.ts';
import type { RenderContext } from './route-rendering.ts';

const settings: PeerSettings = {
  name: 'tor1',
  address: '192.0.2.2',
  asn: 64524,
  localAsn: 64513,
  routerId: '10.0.0.1',
  nextHop: { ipv6: '2001:db8::1' },
};

function contextOf(more: Partial<PeerSettings> = {}): RenderContext {
  const complete = (s: PeerSettings): CompletePeer => {
    const result = completePeer(s);
    if (result.kind === 'refused') throw new Error(result.reason);
    return result.peer;
  };
  const peer = complete({ ...settings, ...more });
  const mirror = complete({
    ...settings,
    asn: peer.localAsn,
    localAsn: peer.asn,
    routerId: '10.0.0.2',
  });
  const negotiated = negotiateSession(peer, ourOpen(mirror, noEvidence));
  if (negotiated instanceof WireError) throw new Error(negotiated.detail);
  return { peer, negotiated, localAddress: '192.0.2.1' };
}

/** A peer that takes over everything that is advertised to it. */
class Listener {
  readonly rib = new AdjRibIn();
  readonly heard: string[] = [];
  readonly #out: AdjRibOut;
  readonly #context: RenderContext;

  constructor(out: AdjRibOut, context: RenderContext) {
    this.#out = out;
    this.#context = context;
  }

  /** Takes at most `count` messages. */
  listen(count = Number.POSITIVE_INFINITY): this {
    for (let i = 0; i < count; i++) {
      const bytes = this.#out.next();
      if (bytes === undefined) break;
      expect(bytes.length).toBeLessThanOrEqual(4096);
      const result = decodeMessage(bytes, this.#context.negotiated.send);
      if (result.kind === 'error') throw new Error(result.error.detail);
      const { message } = result;
      if (message.type === 'route-refresh') this.heard.push(`refresh mark ${message.subtype}`);
      if (message.type !== 'update') continue;
      expect(message.errors).toEqual([]);
      this.rib.apply(message);
      this.heard.push(wordsOf(message));
    }
    return this;
  }

  get table(): Record<string, string> {
    const entries = this.rib
      .routes()
      .map((r) => [r.prefix.toString(), `${r.nextHops[0]} ${r.attributes.med ?? '-'}`] as const);
    return Object.fromEntries(entries.sort());
  }
}

function wordsOf(update: UpdateMessage): string {
  if (update.endOfRib !== undefined) return `end of rib ${update.endOfRib.afi}`;
  const reach =
    update.nlri.count + (update.mpReach?.kind === 'unicast' ? update.mpReach.nlri.count : 0);
  const gone =
    update.withdrawn.count +
    (update.mpUnreach?.kind === 'unicast' ? update.mpUnreach.withdrawn.count : 0);
  return [reach > 0 ? `+${reach}` : '', gone > 0 ? `-${gone}` : ''].join('');
}

function begin(announcements: Announcement[], more: Partial<PeerSettings> = {}) {
  const table = new AnnouncementTable();
  table.set(announcements);
  const out = new AdjRibOut(table, 'tor1');
  const context = contextOf(more);
  out.open(context);
  const listener = new Listener(out, context);
  const set = (next: Announcement[]) => out.touch(table.set(next).changed);
  return { table, out, listener, set, context };
}

const range = (count: number): Announcement[] =>
  Array.from({ length: count }, (_, i) => ({
    prefix: `${10 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.0/24`,
  }));

describe('the start of a session', () => {
  test('an empty table is said too: End-of-RIB for every family', () => {
    expect(begin([]).listener.listen().heard).toEqual(['end of rib 1', 'end of rib 2']);
  });

  test('the table, then End-of-RIB, family by family', () => {
    const { listener } = begin([{ prefix: '10.0.0.0/24' }, { prefix: 'fd00::/64' }]);
    expect(listener.listen().heard).toEqual(['+1', 'end of rib 1', '+1', 'end of rib 2']);
    expect(listener.table).toEqual({ '10.0.0.0/24': '192.0.2.1 -', 'fd00::/64': '2001:db8::1 -' });
  });

  test('100,000 prefixes of one kind take hardly more than the 99 messages that fit', () => {
    const { listener } = begin(range(100_000));
    const updates = listener.listen().heard.filter((words) => words.startsWith('+'));
    expect(listener.rib.size).toBe(100_000);
    expect(updates.length).toBeLessThanOrEqual(100);
  });

  test('a family the peer does not speak is not spoken', () => {
    const { listener } = begin([{ prefix: 'fd00::/64' }], { families: ['ipv4'] });
    expect(listener.listen().heard).toEqual(['end of rib 1']);
  });

  test('an announcement without a next hop for this peer is not made, and the reason is kept', () => {
    const { listener, out } = begin([{ prefix: 'fd00::/64' }], { nextHop: {} });
    expect(listener.listen().heard).toEqual(['end of rib 1', 'end of rib 2']);
    expect([...out.unencodable]).toEqual([
      ['fd00::/64', expect.stringContaining('no ipv6 next hop')],
    ]);
  });
});

describe('a change', () => {
  test('of attributes is announced, never withdrawn first', () => {
    const { listener, set } = begin([{ prefix: '10.0.0.0/24', med: 1 }]);
    listener.listen().heard.length = 0;
    set([{ prefix: '10.0.0.0/24', med: 2 }]);
    expect(listener.listen().heard).toEqual(['+1']);
  });

  test('announces the new before it withdraws the old', () => {
    const { listener, set } = begin([{ prefix: '10.0.0.0/23' }]);
    listener.listen().heard.length = 0;
    set([{ prefix: '10.0.0.0/24' }, { prefix: '10.0.1.0/24' }]);
    expect(listener.listen().heard).toEqual(['+2', '-1']);
  });

  test('to what is already there says nothing', () => {
    const { listener, set } = begin([{ prefix: '10.0.0.0/24', communities: ['1:2', '3:4'] }]);
    listener.listen().heard.length = 0;
    set([{ prefix: '10.0.0.0/24', communities: ['3:4', '1:2'] }]);
    expect(listener.listen().heard).toEqual([]);
  });

  test('that is undone before the peer hears of it says nothing harmful', () => {
    const { listener, set } = begin([]);
    listener.listen().heard.length = 0;
    set([{ prefix: '10.0.0.0/24' }]);
    set([]);
    expect(listener.listen().heard).toEqual([]);
  });

  test('overtakes a long table that is being sent', () => {
    const table = range(50_000);
    const { listener, set } = begin(table);
    listener.listen(3).heard.length = 0;
    set([...table, { prefix: '192.168.0.0/24' }]);
    listener.listen(12);
    expect(listener.rib.size).toBeLessThan(25_000);
    expect(listener.table['192.168.0.0/24']).toBeDefined();
    expect(Object.keys(listener.listen().table).length).toBe(50_001);
  });
});

describe('what needs no reset', () => {
  test('a refresh repeats everything between its marks (RFC 7313)', () => {
    const { listener, out } = begin([{ prefix: '10.0.0.0/24' }, { prefix: 'fd00::/64' }]);
    listener.listen().heard.length = 0;
    expect(out.refresh('ipv4')).toBe(true);
    expect(out.refresh('ipv4')).toBe(true);
    expect(listener.listen().heard).toEqual(['refresh mark 1', '+1', 'refresh mark 2']);
  });

  test('new settings send only what they change', () => {
    const { listener, out, context } = begin([
      { prefix: '10.0.0.0/24' },
      { prefix: '10.0.1.0/24', nextHop: '192.0.2.77' },
    ]);
    listener.listen().heard.length = 0;
    out.setContext({ ...context, peer: { ...context.peer, connectRetrySeconds: 3 } });
    expect(listener.listen().heard).toEqual([]);
    out.setContext({ ...context, peer: { ...context.peer, nextHop: { ipv4: '192.0.2.9' } } });
    expect(listener.listen().table).toMatchObject({
      '10.0.0.0/24': '192.0.2.9 -',
      '10.0.1.0/24': '192.0.2.77 -',
    });
    expect(listener.heard.filter((words) => words === '+1')).toHaveLength(1);
  });

  test('attributes that change for ever leave nothing behind', () => {
    const { listener, set, out } = begin([]);
    for (let med = 0; med < 5000; med++) {
      set([{ prefix: '10.0.0.0/24', med }]);
      listener.listen();
    }
    expect(listener.table).toEqual({ '10.0.0.0/24': '192.0.2.1 4999' });
    expect(out.renderingsKept).toBeLessThan(2500);
  });

  test('drain takes back exactly what was said', () => {
    const { listener, out } = begin(range(3000));
    listener.listen(2);
    out.drain();
    expect(listener.listen().rib.size).toBe(0);
    expect(out.announcedCount).toBe(0);
  });
});

test('whatever happens in whatever order, in the end the peer holds what was declared', () => {
  const announcement = fc.record(
    {
      prefix: fc.constantFrom(
        ...['10.0.0.0/24', '10.0.1.0/24', '10.0.0.0/23', '0.0.0.0/0', 'fd00::/64', 'fd00:1::/48'],
      ),
      med: fc.constantFrom(1, 2, undefined),
      peers: fc.constantFrom(undefined, ['tor1'], ['tor2'], ['tor1', 'tor2']),
    },
    { requiredKeys: ['prefix'] },
  );
  const list: fc.Arbitrary<Announcement[]> = fc.uniqueArray(announcement, {
    selector: (a) => a.prefix,
  });
  const step = fc.oneof(
    { weight: 4, arbitrary: list.map((all) => ({ kind: 'set' as const, all })) },
    { weight: 4, arbitrary: fc.nat(3).map((count) => ({ kind: 'listen' as const, count })) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('ipv4', 'ipv6').map((f) => ({ kind: 'refresh' as const, f })),
    },
    { weight: 1, arbitrary: fc.nat(2).map((n) => ({ kind: 'settings' as const, n })) },
  );
  fc.assert(
    fc.property(list, fc.array(step), (first, steps) => {
      const { out, listener, set, context } = begin(first);
      let declared = first;
      let now = context;
      for (const each of steps) {
        if (each.kind === 'set') {
          declared = each.all;
          set(declared);
        }
        if (each.kind === 'listen') listener.listen(each.count);
        if (each.kind === 'refresh') out.refresh(each.f as 'ipv4');
        if (each.kind === 'settings') {
          const nextHop = { ipv4: `192.0.2.${10 + each.n}`, ipv6: '2001:db8::1' };
          now = { ...context, peer: { ...context.peer, nextHop } };
          out.setContext(now);
        }
      }
      const hop = (a: Announcement) =>
        a.prefix.includes(':') ? '2001:db8::1' : (now.peer.nextHop.ipv4 ?? '192.0.2.1');
      const expected = declared
        .filter((a) => a.peers === undefined || a.peers.includes('tor1'))
        .map((a) => [a.prefix, `${hop(a)} ${a.med ?? '-'}`] as const);
      expect(listener.listen().table).toEqual(Object.fromEntries(expected));
      expect(out.announcedCount).toBe(expected.length);
    }),
    { numRuns: runs(500) },
  );
});
