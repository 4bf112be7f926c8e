import { describe, expect, test } from 'vitest';
import { at, auto, node, texts } from '../../../test/register/objects.ts';
import { decideNode } from '../blocks/decide-node.ts';
import { Register } from '../blocks/register.ts';
import { type ClusterPoolFlags, readClusterPool } from './cluster-pool.ts';

const flags: ClusterPoolFlags = {
  enableIpv4: true,
  enableIpv6: false,
  ipv4Cidrs: ['10.0.0.0/8'],
  ipv4MaskSize: 24,
  ipv6Cidrs: [],
  ipv6MaskSize: 120,
  reserved: [],
  cooldownSeconds: 300,
};

function problems(change: Partial<ClusterPoolFlags>): string[] {
  const read = readClusterPool({ ...flags, ...change });
  return read.kind === 'refused' ? read.problems : [];
}

describe('the flags of cluster-pool', () => {
  test('make one pool for all nodes, with the CIDRs in the order they are given', () => {
    const read = readClusterPool({
      ...flags,
      enableIpv6: true,
      ipv4Cidrs: ['10.9.0.0/16', '10.1.0.0/16'],
      ipv6Cidrs: ['fd00::/104'],
      reserved: [at('10.1.0.0/24'), at('172.16.0.0/16')],
    });
    if (read.kind !== 'pool') throw new Error(read.problems.join());
    expect(read.pool).toMatchObject({
      name: 'cluster-pool',
      blockSize: { ipv4: 24, ipv6: 120 },
      selector: undefined,
      cooldownSeconds: 300,
    });
    expect(read.pool.cidrs.join()).toBe('10.9.0.0/16,10.1.0.0/16,fd00::/104');
    expect(read.pool.reserved.join()).toBe('10.1.0.0/24');
  });

  test('10.0.0.0/8 with mask 24 gives 10.0.0.0/24, then 10.0.1.0/24, … to 65,536 nodes', () => {
    const read = readClusterPool(flags);
    if (read.kind !== 'pool') throw new Error(read.problems.join());
    const register = new Register([]);
    register.putPool(read.pool);
    const next = (name: string) => {
      const { assign } = decideNode(register, node(name), auto);
      for (const { prefix } of assign) register.reserve(name, prefix);
      return texts(assign)[0];
    };
    expect([next('a'), next('b')]).toEqual(['10.0.0.0/24', '10.0.1.0/24']);
    expect(register.claims.countFree(at('10.0.0.0/8'), 24)).toBe(65_534);
  });

  test.each<[string, Partial<ClusterPoolFlags>, string]>([
    [
      'a CIDR for a family that is off',
      { ipv6Cidrs: ['fd00::/104', 'fd01::/104'] },
      '--cluster-pool-ipv6-cidr=fd00::/104,fd01::/104 is given, but --enable-ipv6 is off',
    ],
    [
      'no CIDR for a family that is on',
      { enableIpv6: true },
      '--cluster-pool-ipv6-cidr is missing, but --enable-ipv6 is on',
    ],
    [
      'CIDRs that overlap',
      { ipv4Cidrs: ['10.0.0.0/16', '10.0.0.0/8'] },
      '--cluster-pool-ipv4-cidr: 10.0.0.0/8 overlaps 10.0.0.0/16',
    ],
    [
      'a CIDR of the other family',
      { ipv4Cidrs: ['fd00::/64'] },
      '--cluster-pool-ipv4-cidr=fd00::/64 is not an IPv4 CIDR',
    ],
    [
      'no CIDR at all',
      { ipv4Cidrs: ['ten'] },
      '--cluster-pool-ipv4-cidr: "ten" is not an IPv4 or IPv6 CIDR',
    ],
    [
      'host bits',
      { ipv4Cidrs: ['10.0.0.1/8'] },
      '--cluster-pool-ipv4-cidr: "10.0.0.1/8" has host bits set; the block is 10.0.0.0/8',
    ],
    [
      'a mask that does not fit',
      { ipv4Cidrs: ['10.0.0.0/25'] },
      '--cluster-pool-ipv4-mask-size=24 does not fit: 10.0.0.0/25 is smaller than a /24 block',
    ],
    [
      'a mask beyond the family',
      { ipv4MaskSize: 33 },
      '--cluster-pool-ipv4-mask-size=33 is not within 1 to 32',
    ],
    [
      'a mask that is no number',
      { ipv4MaskSize: Number.NaN },
      '--cluster-pool-ipv4-mask-size=NaN is not within 1 to 32',
    ],
    [
      'blocks that could not be named',
      { enableIpv6: true, ipv6Cidrs: ['::/64'] },
      '--cluster-pool-ipv6-cidr: ::/64 overlaps ::/16, whose blocks cannot be named',
    ],
  ])('are refused for %s, with the flag and the value', (_, change, problem) => {
    expect(problems(change)).toEqual([problem]);
  });

  test('are refused if both families are off, and for everything else at once', () => {
    expect(problems({ enableIpv4: false, ipv4Cidrs: [] })).toEqual([
      '--enable-ipv4 and --enable-ipv6 are both off; at least one family must be on',
    ]);
    expect(problems({ ipv4Cidrs: ['x', 'y'], ipv4MaskSize: 0 })).toHaveLength(3);
  });
});
