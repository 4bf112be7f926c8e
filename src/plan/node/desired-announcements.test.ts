import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readBgpAdvertisement } from '../../model/bgp-advertisement.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { type AnnouncementInput, desiredAnnouncements } from './desired-announcements.ts';

const blocks = (...texts: string[]) =>
  texts.map((text) => ({ prefix: parsePrefix(text)!, pool: 'p' }));
const self = {
  name: 'n1',
  createdMs: 5,
  addresses: ['10.4.94.32'],
  labels: { rack: '83' },
  blocks: blocks('10.5.113.0/24'),
};
const other = (createdMs: number, ...texts: string[]) => ({
  name: 'n2',
  createdMs,
  addresses: ['10.4.94.21'],
  blocks: blocks(...texts),
});
const advertisement = (name: string, spec: object) =>
  readBgpAdvertisement({ metadata: { name }, spec });

const plan = (change: Partial<AnnouncementInput> = {}) =>
  desiredAnnouncements({ self, others: [], advertisements: [], ...change });

test("a node announces its own blocks, draining ones too, and nobody else's", () => {
  const made = plan({
    self: { ...self, blocks: blocks('10.5.120.0/24', '10.5.113.0/24', 'fd00::/64') },
    others: [other(1, '10.5.115.0/24')],
  });
  expect(made.announcements).toEqual([
    { prefix: '10.5.113.0/24' },
    { prefix: '10.5.120.0/24' },
    { prefix: 'fd00::/64' },
  ]);
  expect(made.findings).toEqual([]);
});

test.each([
  ['10.5.113.0/24', 1, false],
  ['10.5.0.0/16', 1, false],
  ['10.5.113.128/25', 1, false],
  ['10.5.113.0/24', 9, true],
  ['10.5.112.0/24', 1, true],
])('%s of a node born at %d: own block announced %s', (theirs, born, isAnnounced) => {
  const { announcements, findings } = plan({ others: [other(born, theirs)] });
  expect(announcements.length === 1).toBe(isAnnounced);
  expect(findings.map(({ reason }) => reason)).toEqual(isAnnounced ? [] : ['NotOwner']);
});

describe('advertisements', () => {
  test('dress the blocks of their pools on their nodes', () => {
    const advertisements = [
      advertisement('elsewhere', { nodeSelector: { matchLabels: { rack: '94' } }, med: 1 }),
      advertisement('other-pool', { pools: ['q'], med: 2 }),
      advertisement('ours', { pools: ['p'], communities: ['64513:100'], localPref: 200 }),
    ];
    expect(plan({ advertisements }).announcements).toEqual([
      { prefix: '10.5.113.0/24', communities: ['64513:100'], localPref: 200 },
    ]);
  });

  test('one for some peers leaves the others a plain announcement', () => {
    const advertisements = [advertisement('a', { peers: ['tor1'], prepend: 2 })];
    expect(plan({ advertisements }).announcements).toEqual([
      { prefix: '10.5.113.0/24', peers: ['tor1'], prepend: 2 },
      { prefix: '10.5.113.0/24' },
    ]);
  });

  test('the highest priority counts for each peer', () => {
    const advertisements = [
      advertisement('low', { med: 9 }),
      advertisement('b', { peers: ['tor1', 'tor2'], priority: 5, med: 2 }),
      advertisement('a', { peers: ['tor1'], priority: 5, med: 1 }),
    ];
    expect(plan({ advertisements }).announcements).toEqual([
      { prefix: '10.5.113.0/24', peers: ['tor1'], med: 1 },
      { prefix: '10.5.113.0/24', peers: ['tor2'], med: 2 },
      { prefix: '10.5.113.0/24', med: 9 },
    ]);
  });

  test('whatever they say, the prefixes are the own blocks, and each peer hears of every one', () => {
    const names = fc.uniqueArray(fc.constantFrom('tor1', 'tor2', 'tor3'));
    const any = fc.array(fc.record({ peers: names, priority: fc.nat(3), med: fc.nat(9) }));
    fc.assert(
      fc.property(any, (specs) => {
        const advertisements = specs.map((spec, i) => advertisement(`a${i}`, spec));
        const { announcements } = plan({ advertisements });
        expect(new Set(announcements.map(({ prefix }) => prefix))).toEqual(
          new Set(['10.5.113.0/24']),
        );
        for (const peer of ['tor1', 'tor2', 'tor3']) {
          expect(announcements.some(({ peers }) => peers?.includes(peer) ?? true)).toBe(true);
        }
        const again = plan({ advertisements: advertisements.toReversed() });
        expect(again.announcements).toEqual(announcements);
      }),
    );
  });
});
