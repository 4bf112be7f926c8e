import { describe, expect, test } from 'vitest';
import { poolObject } from '../../test/register/objects.ts';
import { defaultCooldownSeconds, poolFamilies, readPool } from './ip-pool.ts';
import type { KubeObject } from './object.ts';

const sound = poolObject('rack-83', {
  cidrs: ['10.5.112.0/21', 'fd00:5::/48'],
  labels: { rack: '83' },
});

function withSpec(change: Record<string, unknown>): KubeObject {
  return { ...sound, spec: { ...(sound.spec as object), ...change } };
}

function problemsOf(object: KubeObject): string[] {
  const read = readPool(object);
  return read.kind === 'malformed' ? read.problems : [];
}

describe('a pool that can be understood', () => {
  test('is parsed once, with everything judgement needs', () => {
    const read = readPool({
      ...poolObject(
        'rack-83',
        {
          cidrs: ['10.5.112.0/21', 'fd00:5::/48'],
          size: 24,
          size6: 64,
          labels: { rack: '83', site: 'b' },
          priority: -3,
          reserved: ['10.5.112.0/24'],
          cooldownSeconds: 0,
        },
        {
          uid: 'u1',
          resourceVersion: '7',
          generation: 4,
          creationTimestamp: '2026-01-02T03:04:05Z',
          finalizers: ['cadastre.dev/blocks-in-use'],
        },
      ),
      status: { free: 3 },
    });
    if (read.kind !== 'pool') throw new Error(read.problems.join());
    const { pool } = read;
    expect({ ...pool, cidrs: pool.cidrs.join(), reserved: pool.reserved.join() }).toEqual({
      name: 'rack-83',
      uid: 'u1',
      resourceVersion: '7',
      generation: 4,
      createdMs: Date.parse('2026-01-02T03:04:05Z'),
      cidrs: '10.5.112.0/21,fd00:5::/48',
      blockSize: { ipv4: 24, ipv6: 64 },
      selector: { matchLabels: { rack: '83', site: 'b' } },
      specificity: 2,
      priority: -3,
      reserved: '10.5.112.0/24',
      disabled: false,
      deleting: false,
      cooldownSeconds: 0,
      finalizers: ['cadastre.dev/blocks-in-use'],
      status: { free: 3 },
    });
    expect(poolFamilies(pool)).toEqual(['ipv4', 'ipv6']);
  });

  test('has defaults where it says nothing, or null', () => {
    const nothing = { nodeSelector: null, priority: null, reserved: null, disabled: null };
    const read = readPool(withSpec({ ...nothing, cooldownSeconds: null }));
    if (read.kind !== 'pool') throw new Error(read.problems.join());
    expect(read.pool.selector).toBeUndefined();
    expect(read.pool.priority).toBe(0);
    expect(read.pool.reserved).toEqual([]);
    expect(read.pool.disabled).toBe(false);
    expect(read.pool.cooldownSeconds).toBe(defaultCooldownSeconds);
  });

  test('is being deleted when it has a deletionTimestamp, and says so', () => {
    const meta = { deletionTimestamp: '2026-01-02T03:04:05Z' };
    const read = readPool(poolObject('old', { cidrs: ['10.0.0.0/16'] }, meta));
    expect(read.kind === 'pool' && read.pool.deleting).toBe(true);
  });

  test('may be one single block, or 2^32 of them', () => {
    expect(problemsOf(poolObject('one', { cidrs: ['10.0.0.0/24'], size: 24 }))).toEqual([]);
    expect(problemsOf(poolObject('many', { cidrs: ['fd00::/32'], size6: 64 }))).toEqual([]);
  });
});

describe('a pool that cannot be understood names the place and the value', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['no cidrs', { cidrs: undefined }, 'spec.cidrs is missing'],
    ['cidrs that are no list', { cidrs: '10.0.0.0/8' }, 'spec.cidrs is "10.0.0.0/8", not a list'],
    ['an empty list', { cidrs: [] }, 'spec.cidrs is empty'],
    [
      'no CIDR at all',
      { cidrs: ['10.5.0.0/16', 'rack'] },
      'spec.cidrs[1] "rack" is not an IPv4 or IPv6 CIDR',
    ],
    ['a number', { cidrs: [10] }, 'spec.cidrs[0] is 10, not a string'],
    [
      'an address without a length',
      { cidrs: ['10.5.0.0'] },
      'spec.cidrs[0] "10.5.0.0" has no prefix length',
    ],
    [
      'host bits',
      { cidrs: ['10.5.112.7/21'] },
      'spec.cidrs[0] "10.5.112.7/21" has host bits set; the block is 10.5.112.0/21',
    ],
    [
      'a CIDR that is not in its canonical form',
      { cidrs: ['FD00:5::/48'] },
      'spec.cidrs[0] "FD00:5::/48" is not canonical; write fd00:5::/48',
    ],
    [
      'IPv4 mapped into IPv6',
      { cidrs: ['::ffff:10.0.0.0/104'] },
      'spec.cidrs[0] "::ffff:10.0.0.0/104" is IPv4 mapped into IPv6; write it as IPv4',
    ],
    [
      'a length beyond the family',
      { cidrs: ['10.5.0.0/33'] },
      'spec.cidrs[0] "10.5.0.0/33" has a prefix length beyond 32',
    ],
    [
      'cidrs that overlap each other',
      { cidrs: ['10.5.0.0/16', '10.5.112.0/21'] },
      'spec.cidrs[1] 10.5.112.0/21 overlaps 10.5.0.0/16',
    ],
    [
      'the same cidr twice',
      { cidrs: ['10.5.0.0/16', '10.5.0.0/16'] },
      'spec.cidrs[1] 10.5.0.0/16 overlaps 10.5.0.0/16',
    ],
    [
      'a block larger than a cidr',
      { cidrs: ['10.5.0.0/25'], blockSize: { ipv4: 24 } },
      'spec.blockSize.ipv4 is /24, larger than the CIDR 10.5.0.0/25',
    ],
    [
      'no size for a family',
      { blockSize: { ipv4: 24 } },
      'spec.blockSize.ipv6 is missing, but spec.cidrs has fd00:5::/48',
    ],
    [
      'a size beyond the family',
      { blockSize: { ipv4: 33, ipv6: 64 } },
      'spec.blockSize.ipv4 is 33, not a whole number from 1 to 32',
    ],
    [
      'a size of zero',
      { blockSize: { ipv4: 0, ipv6: 64 } },
      'spec.blockSize.ipv4 is 0, not a whole number from 1 to 32',
    ],
    [
      'a size that is a text',
      { blockSize: { ipv4: '24', ipv6: 64 } },
      'spec.blockSize.ipv4 is "24", not a whole number from 1 to 32',
    ],
    [
      'a size that is no whole number',
      { blockSize: { ipv4: 24.5, ipv6: 64 } },
      'spec.blockSize.ipv4 is 24.5, not a whole number from 1 to 32',
    ],
    [
      'a bad reserved range',
      { reserved: ['10.5.112.1/24'] },
      'spec.reserved[0] "10.5.112.1/24" has host bits set; the block is 10.5.112.0/24',
    ],
    [
      'a priority that is no whole number',
      { priority: 'high' },
      'spec.priority is "high", not a whole number from -1000000000 to 1000000000',
    ],
    [
      'a negative cool-down',
      { cooldownSeconds: -1 },
      'spec.cooldownSeconds is -1, not a whole number from 0 to 1000000000',
    ],
    [
      'a disabled that is no boolean',
      { disabled: 'yes' },
      'spec.disabled is "yes", not true or false',
    ],
    [
      'a bad selector',
      { nodeSelector: { matchLabel: {} } },
      'spec.nodeSelector.matchLabel is no field of a label selector',
    ],
  ])('%s', (_, change, problem) => {
    expect(problemsOf(withSpec(change))).toContain(problem);
  });

  test.each(['::/64', '0:0:1::/48', '::/8'])('%s, whose blocks could not be named', (cidr) => {
    const object = poolObject('low', { cidrs: [cidr], size6: 120 });
    expect(problemsOf(object)).toEqual([
      `spec.cidrs[0] ${cidr} overlaps ::/16, whose blocks cannot be named`,
    ]);
  });

  test('several problems at once, all of them', () => {
    const change = { cidrs: ['10.5.0.0/33'], priority: 1.5, nodeSelector: 'x' };
    expect(problemsOf(withSpec(change))).toHaveLength(3);
  });

  test('too many entries', () => {
    const cidrs = Array.from({ length: 65 }, (_, n) => `10.${n}.0.0/16`);
    expect(problemsOf(withSpec({ cidrs, blockSize: { ipv4: 24 } }))).toEqual([
      'spec.cidrs has 65 entries, more than 64',
    ]);
  });

  test('no name, no spec, no metadata', () => {
    expect(problemsOf({ spec: sound.spec })).toEqual(['metadata.name is missing']);
    expect(problemsOf({ metadata: { name: 'bare' } })).toEqual(['spec is missing']);
    expect(problemsOf({ metadata: { name: 'bare' }, spec: {} })).toEqual([
      'spec.cidrs is missing',
      'spec.blockSize is missing',
    ]);
  });

  test('it keeps its identity, generation and conditions for the report', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'MalformedPool', message: '' }];
    const read = readPool({ ...withSpec({ cidrs: [] }), status: { conditions } });
    expect(read).toMatchObject({
      kind: 'malformed',
      identity: { name: 'rack-83', uid: 'uid-rack-83' },
      generation: 1,
      conditions,
    });
  });
});
