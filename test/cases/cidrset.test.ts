/**
 * Kubernetes' own cases for its CidrSet, and Cilium's for usable addresses, run
 * over the claim index and the prefixes. The adapter below gives the index the
 * peer's verbs; every case in the files runs, and their number is checked.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ClaimIndex } from '../../src/net/claim-index.ts';
import { Prefix, parsePrefix, usableAddresses } from '../../src/net/prefix.ts';

interface Op {
  readonly op: string;
  readonly cidr?: string;
  readonly of?: string;
  readonly index?: number;
  readonly times?: number;
  readonly saveAs?: string;
}
interface Case {
  readonly id: string;
  readonly desc?: string;
  readonly clusterCIDR: string;
  readonly maskSize: number;
  readonly ops: readonly Op[];
  readonly expect: readonly unknown[];
}

const load = (file: string) =>
  JSON.parse(readFileSync(new URL(`ipam/${file}`, import.meta.url), 'utf8'));
const cases: readonly Case[] = load('k8s_cidrset.json').cases;

/** Where ours differs on purpose: what we answer instead, and why. Also in docs/cases.md. */
const oursDiffers: Record<string, { readonly expect: readonly unknown[]; readonly why: string }> = {
  'k8s-v6-beef:1234::/32-m49': {
    expect: ['beef:1234::/49'],
    why: 'the peer holds a bit for each block and stops at 2^16 of them; the index pays for claims only',
  },
  'k8s-next-candidate-not-moved-by-occupy': {
    expect: [{ allocated: 128 }, { cidr: '10.0.128.0/24', probes: 0 }],
    why: 'the same block, but the summaries lead to it: no taken block is tried before',
  },
};

/** The peer's verbs. An occupied range is the blocks it consists of, as in the peer. */
class PeerSet {
  readonly #index = new ClaimIndex<'taken'>();
  readonly #saved = new Map<string, Prefix[]>();
  readonly pool: Prefix;
  readonly maskSize: number;

  constructor(pool: Prefix, maskSize: number) {
    this.pool = pool;
    this.maskSize = maskSize;
  }

  allocate(): Prefix | 'ERR_FULL' {
    const block = this.#index.nextFree(this.pool, this.maskSize);
    if (block === undefined) return 'ERR_FULL';
    expect(this.#index.claim(block, 'taken').kind).toBe('claimed');
    return block;
  }

  /** The blocks that make up a range, or the one around it; at most the pool. */
  *#blocksOf(range: Prefix): Generator<Prefix> {
    const within = range.contains(this.pool) ? this.pool : range;
    if (within.length >= this.maskSize) yield within.parent(this.maskSize);
    else {
      const count = within.countOf(this.maskSize);
      for (let i = 0; i < count; i++) yield within.subPrefix(this.maskSize, i);
    }
  }

  occupy(range: Prefix): void {
    for (const block of this.#blocksOf(range)) this.#index.record(block, 'taken');
  }

  release(range: Prefix): void {
    for (const block of this.#blocksOf(range)) this.#index.release(block, 'taken');
  }

  get allocated(): number {
    const max = this.pool.countOf(this.maskSize);
    expect(max - this.#index.countFree(this.pool, this.maskSize)).toBe(this.#index.size);
    return this.#index.size;
  }

  isUsed(number: number): boolean {
    return !this.#index.isFree(this.pool.subPrefix(this.maskSize, number));
  }

  save(name: string, blocks: Prefix[]): void {
    this.#saved.set(name, blocks);
  }

  /** `a`, `a[3]` or `a[3:5]`. */
  saved(slice: string): Prefix[] {
    const [, name, from, to] = /^(\w+)(?:\[(\d+)(?::(\d+))?\])?$/.exec(slice)!;
    const blocks = this.#saved.get(name!)!;
    if (from === undefined) return blocks;
    return blocks.slice(Number(from), to === undefined ? Number(from) + 1 : Number(to));
  }
}

const texts = (blocks: readonly (Prefix | string)[]) => blocks.map(String);

function check(set: PeerSet, op: Op, expected: unknown): void {
  switch (op.op) {
    case 'new':
      // A better allocator succeeds where the peer could not even start.
      expect(set.allocate().toString()).toBe(expected);
      return;
    case 'maxCIDRs':
      expect(set.pool.countOf(set.maskSize)).toBe(expected);
      return;
    case 'indexToCIDR':
      expect(set.pool.subPrefix(set.maskSize, op.index!).toString()).toBe(expected);
      return;
    case 'cidrToIndex': {
      const number = set.pool.indexOf(Prefix.of(parsePrefix(op.cidr!)!, set.maskSize));
      expect(number < 0n ? 'ERR_OUT_OF_RANGE' : Number(number)).toBe(expected);
      return;
    }
    case 'allocateNext': {
      const blocks = Array.from({ length: op.times ?? 1 }, () => set.allocate());
      const word = typeof expected === 'string' ? expected : '';
      const equals = /^equals (\S+) in order$/.exec(word);
      const distinct = /^(\d+) distinct$/.exec(word);
      if (equals) expect(texts(blocks)).toEqual(texts(set.saved(equals[1]!)));
      else if (distinct) {
        expect(blocks).not.toContain('ERR_FULL');
        expect(new Set(texts(blocks)).size).toBe(Number(distinct[1]));
      } else if (word === 'OK') expect(blocks).not.toContain('ERR_FULL');
      else if (word !== '') expect(texts(blocks)).toEqual([word]);
      // A search of ours tries nothing that is taken: there are no probes to count.
      else expect({ cidr: String(blocks[0]), probes: 0 }).toEqual(expected);
      if (op.saveAs)
        set.save(
          op.saveAs,
          blocks.filter((block) => block !== 'ERR_FULL'),
        );
      return;
    }
    case 'occupy':
    case 'release':
    case 'releaseAll': {
      const ranges = op.of ? set.saved(op.of) : [parsePrefix(op.cidr!)!];
      for (const range of ranges) op.op === 'occupy' ? set.occupy(range) : set.release(range);
      if (typeof expected === 'string') {
        expect(expected).toMatch(/^OK/);
        return;
      }
      const { allocated, usedFrom, usedTo } = expected as Record<string, number>;
      if (allocated !== undefined) expect(set.allocated).toBe(allocated);
      if (usedFrom !== undefined && usedTo !== undefined) {
        expect(set.allocated).toBe(usedTo - usedFrom + 1);
        for (let i = usedFrom; i <= usedTo; i++) expect(set.isUsed(i)).toBe(true);
      }
      return;
    }
    default:
      throw new Error(`a case asks for ${op.op}, which the adapter does not know`);
  }
}

describe("Kubernetes' CidrSet", () => {
  it('has 56 cases, and those where ours differs are among them', () => {
    expect(cases.length).toBe(56);
    const ids = cases.map((one) => one.id);
    expect(new Set(ids).size).toBe(56);
    expect(ids).toEqual(expect.arrayContaining(Object.keys(oursDiffers)));
    const page = readFileSync(new URL('../../docs/cases.md', import.meta.url), 'utf8');
    for (const id of Object.keys(oursDiffers)) expect(page).toContain(`\`${id}\``);
  });

  it.each(cases.map((one) => [one.id, one] as const))('%s', (id, one) => {
    const set = new PeerSet(parsePrefix(one.clusterCIDR)!, one.maskSize);
    const answers = oursDiffers[id]?.expect ?? one.expect;
    expect(answers.length).toBe(one.ops.length);
    // A row in the table that says the same as the case would hide nothing and explain nothing.
    if (oursDiffers[id]) expect(answers).not.toEqual(one.expect);
    one.ops.forEach((op, i) => check(set, op, answers[i]));
  });
});

describe("Cilium's usable addresses", () => {
  const usable: {
    id: string;
    prefix: string;
    allowFirstIP: boolean;
    allowLastIP: boolean;
    expect: string;
  }[] = load('cilium_multipool_operator.json').cases.filter((one: { id: string }) =>
    one.id.startsWith('cil-usable-'),
  );

  it('has 10 cases', () => expect(usable.length).toBe(10));

  it.each(usable.map((one) => [one.id, one] as const))('%s', (_, one) => {
    const prefix = parsePrefix(one.prefix);
    const allow = { allowFirst: one.allowFirstIP, allowLast: one.allowLastIP };
    // The peer has a prefix that is none, with no address in it; ours is undefined.
    expect(String(prefix ? usableAddresses(prefix, allow) : 0n)).toBe(one.expect);
  });
});
