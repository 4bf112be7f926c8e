import { describe, expect, it } from 'vitest';
import { ClaimIndex } from './claim-index.ts';
import { type Prefix, parsePrefix } from './prefix.ts';

const at = (text: string): Prefix => parsePrefix(text)!;

describe('a claim', () => {
  it('is refused when it equals, contains or lies in another, and the answer names that one', () => {
    const index = new ClaimIndex<string>();
    expect(index.claim(at('10.0.4.0/24'), 'node-a')).toEqual({ kind: 'claimed' });
    for (const text of ['10.0.4.0/24', '10.0.4.0/23', '10.0.0.0/8', '10.0.4.128/27', '0.0.0.0/0']) {
      expect(index.claim(at(text), 'node-b')).toEqual({
        kind: 'held',
        by: { prefix: at('10.0.4.0/24'), owner: 'node-a' },
      });
    }
    expect(index.size).toBe(1);
    expect(index.claim(at('10.0.5.0/24'), 'node-b')).toEqual({ kind: 'claimed' });
  });

  it('may be repeated by its owner, and counts once', () => {
    const index = new ClaimIndex<string>();
    index.claim(at('fd00:1::/64'), 'node-a');
    expect(index.claim(at('fd00:1::/64'), 'node-a')).toEqual({ kind: 'claimed' });
    index.record(at('fd00:1::/64'), 'node-a');
    expect(index.size).toBe(1);
    expect(index.release(at('fd00:1::/64'), 'node-a')).toBe(true);
    expect(index.isFree(at('::/0'))).toBe(true);
  });

  it('of one owner does not give that owner a second block inside the first', () => {
    const index = new ClaimIndex<string>();
    index.claim(at('10.0.0.0/16'), 'node-a');
    expect(index.claim(at('10.0.1.0/24'), 'node-a').kind).toBe('held');
  });

  it('of a deleted node frees nothing while another node is recorded for the same block', () => {
    const index = new ClaimIndex<string>();
    index.record(at('10.0.0.0/24'), 'node-a');
    index.record(at('10.0.0.0/24'), 'node-b');
    index.record(at('10.0.0.0/24'), 'node-c');
    expect(index.owners(at('10.0.0.0/24'))).toEqual(['node-a', 'node-b', 'node-c']);
    expect(index.release(at('10.0.0.0/24'), 'node-a')).toBe(true);
    expect(index.release(at('10.0.0.0/24'), 'node-a')).toBe(false);
    expect(index.owners(at('10.0.0.0/24'))).toEqual(['node-b', 'node-c']);
    expect(index.nextFree(at('10.0.0.0/23'), 24)?.toString()).toBe('10.0.1.0/24');
    index.release(at('10.0.0.0/24'), 'node-c');
    index.release(at('10.0.0.0/24'), 'node-b');
    expect(index.nextFree(at('10.0.0.0/23'), 24)?.toString()).toBe('10.0.0.0/24');
  });

  it('of IPv4 is no claim of IPv6 with the same first bits', () => {
    const index = new ClaimIndex<string>();
    index.claim(at('10.0.0.0/8'), 'node-a');
    expect(index.isFree(at('a00::/8'))).toBe(true);
    expect(index.nextFree(at('a00::/8'), 24)?.toString()).toBe('a00::/24');
    expect(index.overlapping(at('::/0'))).toEqual([]);
  });

  it('may have undefined as its owner', () => {
    const index = new ClaimIndex<undefined>();
    index.claim(at('10.0.0.0/24'), undefined);
    expect(index.owners(at('10.0.0.0/24'))).toEqual([undefined]);
    expect(index.isFree(at('10.0.0.0/25'))).toBe(false);
    expect(index.release(at('10.0.0.0/24'), undefined)).toBe(true);
  });
});

describe('the next free block', () => {
  it('is the lowest, and the lowest again after a release', () => {
    const index = new ClaimIndex<number>();
    const pool = at('10.0.0.0/8');
    for (let i = 0; i < 65536; i++) {
      const block = index.nextFree(pool, 24)!;
      expect(block.w0).toBe(pool.subPrefix(24, i).w0);
      index.claim(block, i);
    }
    expect(index.nextFree(pool, 24)).toBeUndefined();
    expect(index.nextFree(pool, 32)).toBeUndefined();
    expect(index.countFree(pool, 24)).toBe(0);
    index.release(at('10.200.7.0/24'), 200 * 256 + 7);
    index.release(at('10.3.9.0/24'), 3 * 256 + 9);
    expect(index.countFree(pool, 24)).toBe(2);
    expect(index.countFree(pool, 26)).toBe(8);
    expect(index.countFree(pool, 23)).toBe(0);
    expect(index.nextFree(pool, 24)?.toString()).toBe('10.3.9.0/24');
    expect(index.nextFree(at('10.128.0.0/9'), 25)?.toString()).toBe('10.200.7.0/25');
  });

  it('that was found is not free for ever: whatever happens in between counts', () => {
    const pool = at('10.0.0.0/20');
    const afterFinding = (meanwhile: (index: ClaimIndex<string>, found: Prefix) => void) => {
      const index = new ClaimIndex<string>();
      for (let n = 0; n < 3; n++) index.claim(index.nextFree(pool, 24)!, 'others');
      const found = index.nextFree(pool, 24)!;
      meanwhile(index, found);
      return index.claim(found, 'node-a').kind;
    };
    expect(afterFinding(() => {})).toBe('claimed');
    expect(afterFinding((index, found) => index.claim(found, 'node-b'))).toBe('held');
    expect(afterFinding((index) => index.record(at('10.0.0.0/16'), 'node-b'))).toBe('held');
    expect(afterFinding((index) => index.record(at('10.0.3.128/25'), 'node-b'))).toBe('held');
    expect(afterFinding((index) => index.release(at('10.0.0.0/24'), 'others'))).toBe('claimed');
    expect(afterFinding((index) => index.clear())).toBe('claimed');
    expect(afterFinding((index) => index.nextFree(at('fd00::/32'), 64))).toBe('claimed');
  });

  it('is not looked for block by block where smaller claims leave no room', () => {
    const index = new ClaimIndex<number>();
    const pool = at('10.0.0.0/12');
    for (let i = 0; i < 4095; i++) index.record(pool.subPrefix(24, i).subPrefix(30, i % 64), i);
    expect(index.nextFree(pool, 24)?.toString()).toBe('10.15.255.0/24');
    expect(index.countFree(pool, 24)).toBe(1);
    expect(index.countFree(pool, 30)).toBe(4096 * 64 - 4095);
    expect(index.nextFree(pool, 28)?.toString()).toBe('10.0.0.16/28');
  });

  it('is found in pools that no bitmap could hold, and what is counted saturates', () => {
    const index = new ClaimIndex<string>();
    const pool = at('2001:db8::/32');
    expect(index.countFree(pool, 64)).toBe(2 ** 32);
    for (let i = 0; i < 1000; i++) index.claim(index.nextFree(pool, 64)!, `node-${i}`);
    expect(index.nextFree(pool, 64)?.toString()).toBe('2001:db8:0:3e8::/64');
    expect(index.countFree(pool, 64)).toBe(2 ** 32 - 1000);
    index.claim(at('2001:db8:ffff:ffff::/64'), 'the last');
    expect(index.countFree(pool, 64)).toBe(2 ** 32 - 1001);
    expect(index.nextFree(at('2001:db8:ffff:ffff::/64'), 128)).toBeUndefined();
    expect(index.countFree(at('::/0'), 128)).toBe(Number.MAX_SAFE_INTEGER);
    const vast = at('fd00::/36');
    index.claim(index.nextFree(vast, 128)!, 'one');
    expect(index.nextFree(vast, 128)?.toString()).toBe('fd00::1/128');
    expect(index.nextFree(vast, 64)?.toString()).toBe('fd00:0:0:1::/64');
  });

  it('does not exist for a size that does not fit', () => {
    const index = new ClaimIndex<string>();
    expect(index.nextFree(at('10.0.0.0/24'), 23)).toBeUndefined();
    expect(index.nextFree(at('10.0.0.0/24'), 33)).toBeUndefined();
    expect(index.countFree(at('10.0.0.0/24'), 23)).toBe(0);
  });

  it('in the whole of a family works like any other', () => {
    const index = new ClaimIndex<string>();
    expect(index.nextFree(at('0.0.0.0/0'), 0)?.toString()).toBe('0.0.0.0/0');
    expect(index.countFree(at('::/0'), 0)).toBe(1);
    index.claim(at('0.0.0.0/0'), 'all');
    expect(index.nextFree(at('0.0.0.0/0'), 0)).toBeUndefined();
    expect(index.nextFree(at('10.0.0.0/8'), 24)).toBeUndefined();
    expect(index.claim(at('10.0.0.0/8'), 'some').kind).toBe('held');
    index.release(at('0.0.0.0/0'), 'all');
    index.claim(at('128.0.0.0/1'), 'upper');
    expect(index.nextFree(at('0.0.0.0/0'), 1)?.toString()).toBe('0.0.0.0/1');
    expect(index.countFree(at('0.0.0.0/0'), 1)).toBe(1);
  });
});

describe('the index as a whole', () => {
  it('lists what is recorded by family and address, and may be changed meanwhile', () => {
    const index = new ClaimIndex<string>();
    for (const name of ['fd00::/64', '10.0.1.0/24', '10.0.0.0/8', '10.0.0.0/24']) {
      index.record(at(name), name);
    }
    const seen: string[] = [];
    for (const { prefix, owner } of index.entries()) {
      seen.push(prefix.toString());
      index.release(prefix, owner);
    }
    expect(seen).toEqual(['10.0.0.0/8', '10.0.0.0/24', '10.0.1.0/24', 'fd00::/64']);
    expect(index.size).toBe(0);
    expect([...index.entries()]).toEqual([]);
  });

  it('keeps no memory for what was released, wherever it was', () => {
    const index = new ClaimIndex<number>();
    const pool = at('2001:db8::/32');
    for (let i = 0; i < 200_000; i++) {
      // Two neighbours, far from the last two: nodes, branches and owner lines come and go.
      const first = pool.subPrefix(64, Math.imul(i, 0x9e3779b1) >>> 0);
      const second = first.parent(62).subPrefix(68, 9);
      index.record(first, i);
      index.record(second, i);
      index.release(first, i);
      index.release(second, i);
    }
    expect(index.size).toBe(0);
    // At most a handful at a time, so a handful for good: anything lost a round would be 200,000.
    expect(index.footprint.nodes).toBeLessThan(16);
    expect(index.footprint.ownerLines).toBeLessThan(16);
  });

  it('forgets everything when cleared', () => {
    const index = new ClaimIndex<string>();
    index.record(at('10.0.0.0/8'), 'a');
    index.record(at('10.0.0.0/8'), 'b');
    index.clear();
    expect(index.size).toBe(0);
    expect(index.owners(at('10.0.0.0/8'))).toEqual([]);
    expect(index.claim(at('10.0.0.0/9'), 'c').kind).toBe('claimed');
  });
});
