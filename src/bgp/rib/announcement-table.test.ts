import { describe, expect, test } from 'vitest';
import type { Announcement } from './announcement.ts';
import { AnnouncementTable } from './announcement-table.ts';

const changedPrefixes = (table: AnnouncementTable, list: Announcement[]) =>
  table
    .set(list)
    .changed.map((route) => route.prefix)
    .sort();

describe('the table of announcements', () => {
  test('says what is new, gone and different, and nothing else', () => {
    const table = new AnnouncementTable();
    const kept = { prefix: '10.0.0.0/24' };
    expect(changedPrefixes(table, [kept, { prefix: '10.0.1.0/24' }])).toEqual([
      '10.0.0.0/24',
      '10.0.1.0/24',
    ]);
    expect(changedPrefixes(table, [kept, { prefix: '10.0.1.0/24', med: 5 }])).toEqual([
      '10.0.1.0/24',
    ]);
    expect(changedPrefixes(table, [{ prefix: '10.0.1.0/24', med: 5 }, { ...kept }])).toEqual([]);
    expect(changedPrefixes(table, [kept])).toEqual(['10.0.1.0/24']);
    expect(table.size).toBe(1);
  });

  test('two spellings of one prefix are one prefix', () => {
    const table = new AnnouncementTable();
    table.set([{ prefix: '10.0.0.7/24' }]);
    expect(changedPrefixes(table, [{ prefix: '10.0.0.0/24' }])).toEqual([]);
    expect([...table.routes('ipv4')].map((r) => r.prefix)).toEqual(['10.0.0.0/24']);
  });

  test('one prefix may differ between peers, but not be said twice to one', () => {
    const table = new AnnouncementTable();
    const { refused } = table.set([
      { prefix: '10.0.0.0/24', peers: ['a'], med: 1 },
      { prefix: '10.0.0.0/24', peers: ['b'], med: 2 },
      { prefix: '10.0.0.0/24', med: 3 },
    ]);
    expect(refused.map((r) => r.reason)).toEqual([
      '10.0.0.0/24 is announced twice to the same peer',
    ]);
    expect([...table.routes('ipv4')][0]?.variants).toHaveLength(2);
  });

  test('a duplicate counts as soon as it is the only one', () => {
    const table = new AnnouncementTable();
    const first = { prefix: '10.0.0.0/24', med: 1 };
    const second = { prefix: '10.0.0.0/24', med: 2 };
    expect(table.set([first, second]).refused).toHaveLength(1);
    expect(table.set([second]).refused).toHaveLength(0);
    expect([...table.routes('ipv4')][0]?.variants[0]?.med).toBe(2);
  });

  test.each<[Partial<Announcement>, string]>([
    [{ prefix: '10.0.0.0' }, '10.0.0.0 is not a prefix'],
    [{ prefix: '10.0.0.0/33' }, '10.0.0.0/33 is not a prefix'],
    [{ communities: ['70000:1'] }, 'community 70000:1 is not of the form 64513:100'],
    [{ largeCommunities: ['1:2'] }, 'large community 1:2 is not of the form 64513:1:2'],
    [{ med: -1 }, 'MED -1 is not a 32-bit number'],
    [{ nextHop: 'here' }, 'next hop here is not an IP address'],
    [
      { prefix: 'fd00::/64', nextHop: '10.0.0.1' },
      'next hop 10.0.0.1 of an IPv6 prefix is an IPv4 address',
    ],
  ])('refuses %j and makes the others', (bad, reason) => {
    const table = new AnnouncementTable();
    const { refused, changed } = table.set([
      { prefix: '10.0.0.0/24', ...bad },
      { prefix: '10.9.0.0/24' },
    ]);
    expect(refused.map((r) => r.reason)).toEqual([reason]);
    expect(changed.map((r) => r.prefix)).toEqual(['10.9.0.0/24']);
  });

  test('attributes too long for a message are refused, not thrown at the first peer', () => {
    const table = new AnnouncementTable();
    const communities = Array.from({ length: 1000 }, (_, i) => `64513:${i}`);
    expect(table.set([{ prefix: '10.0.0.0/24', communities }]).refused[0]?.reason).toContain(
      'do not fit',
    );
  });
});
