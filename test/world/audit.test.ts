import { describe, expect, test } from 'vitest';
import { freeCells, rangeOf, touch, touchingPairs } from './address-range.ts';
import { judge, type Truth } from './audit.ts';
import type { BlockObject, NodeObject, PoolObject } from './objects.ts';

/** A judge that finds nothing is only worth something if it would have found it. */

const meta = (name: string, uid = `uid-${name}`) => ({
  name,
  uid,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2020-01-01T00:00:00Z',
});

function node(name: string, v4: string | undefined, labels: Record<string, string> = {}) {
  const annotations: Record<string, string> = {};
  if (v4 !== undefined) {
    annotations['network.cilium.io/ipv4-pod-cidr'] = v4;
    annotations['io.cilium.network.ipv4-pod-cidr'] = v4;
  }
  return { metadata: { ...meta(name), labels, annotations }, spec: {} } satisfies NodeObject;
}

function block(cidr: string, holder: string, more: Partial<BlockObject['spec']> = {}): BlockObject {
  return {
    metadata: meta(cidr.replace(/[.:/]/g, '-')),
    spec: {
      cidr,
      pool: 'all',
      phase: 'Active',
      node: { name: holder, uid: `uid-${holder}` },
      ...more,
    },
  };
}

function pool(name: string, cidr: string, assigned: number, capacity: number): PoolObject {
  const usage = { capacity, assigned, free: capacity - assigned, cooling: 0, awaitingRelease: 0 };
  return {
    metadata: meta(name),
    spec: { cidrs: [cidr], blockSize: { ipv4: 24 } },
    status: { observedGeneration: 1, ...usage, cidrs: [{ cidr, ...usage }] },
  };
}

const sound = (): Truth => ({
  nodes: [node('a', '10.0.0.0/24'), node('b', '10.0.1.0/24')],
  pools: [pool('all', '10.0.0.0/22', 2, 4)],
  blocks: [block('10.0.0.0/24', 'a'), block('10.0.1.0/24', 'b')],
});

describe('the auditor', () => {
  test('finds nothing where there is nothing, and says what it looked at', () => {
    const { complaints, counted } = judge(sound());
    expect(complaints).toEqual([]);
    expect(counted).toMatchObject({ nodes: 2, served: 2, active: 2, annotations: 4, pools: 1 });
  });

  const faults: Array<[string, (truth: Truth) => void, RegExp]> = [
    [
      'a /23 over two /24',
      (truth) => truth.blocks.push(block('10.0.0.0/23', 'c', { phase: 'Cooling' })),
      /10\.0\.0\.0\/24 of a .* overlaps 10\.0\.0\.0\/23 of c|10\.0\.0\.0\/23 of c .* overlaps/,
    ],
    [
      'a name that is not the CIDR',
      (truth) => Object.assign(truth.blocks[0]!.metadata, { name: '10-0-9-0-24' }),
      /NodeBlock 10-0-9-0-24 is of 10\.0\.0\.0\/24/,
    ],
    [
      'a holder that does not exist',
      (truth) => truth.blocks.push(block('10.0.2.0/24', 'ghost')),
      /10\.0\.2\.0\/24 of ghost .* does not exist/,
    ],
    [
      'a holder of an earlier life',
      (truth) => Object.assign(truth.nodes[0]!.metadata, { uid: 'reborn' }),
      /held by an earlier a/,
    ],
    [
      'a node without a block',
      (truth) => truth.blocks.pop(),
      /b has 0 ipv4 blocks; it is all's and has nothing/,
    ],
    [
      'a node with two blocks',
      (truth) => truth.blocks.push(block('10.0.2.0/24', 'a')),
      /a has 2 ipv4 blocks; it is all's/,
    ],
    [
      'an annotation that says something else',
      (truth) => {
        truth.nodes[0]!.metadata.annotations!['io.cilium.network.ipv4-pod-cidr'] = '10.0.3.0/24';
      },
      /io\.cilium\.network\.ipv4-pod-cidr says 10\.0\.3\.0\/24, the register says 10\.0\.0\.0\/24/,
    ],
    [
      'a block of a pool that does not select the node',
      (truth) => {
        const better = pool('better', '10.9.0.0/24', 0, 1);
        truth.pools.push({ ...better, spec: { ...better.spec, priority: 9 } });
      },
      /a has 10\.0\.0\.0\/24 .*, not one of better/,
    ],
    [
      'a pool that miscounts',
      (truth) => Object.assign(truth.pools[0]!.status!, { free: 3 }),
      /pool all says free 3, the objects say 2/,
    ],
    [
      'a CIDR that miscounts',
      (truth) => Object.assign(truth.pools[0]!.status!.cidrs![0]!, { cooling: 1 }),
      /pool all, 10\.0\.0\.0\/22, says cooling 1, the objects say 0/,
    ],
    [
      'a block outside its pool',
      (truth) => truth.blocks.push(block('10.0.4.0/24', 'a', { phase: 'Cooling' })),
      /10\.0\.4\.0\/24 of a .* lies outside pool all/,
    ],
    [
      'a guard that hides a block it does not guard',
      (truth) => {
        const { node: _, ...spec } = block('10.0.0.0/23', '').spec;
        truth.blocks.push({
          metadata: meta('10-0-0-0-23'),
          spec: { ...spec, phase: 'Guard', guards: ['10.0.0.0/27'] },
        });
      },
      /overlaps/,
    ],
  ];
  test.each(faults)('finds %s', (_, plant, expected) => {
    const truth = sound();
    plant(truth);
    expect(judge(truth).complaints.join('\n')).toMatch(expected);
  });
});

describe('the range checks', () => {
  test('knows both families and every kind of overlap', () => {
    expect(touch(rangeOf('10.0.0.0/23'), rangeOf('10.0.1.0/24'))).toBe(true);
    expect(touch(rangeOf('10.0.0.0/24'), rangeOf('10.0.1.0/24'))).toBe(false);
    expect(touch(rangeOf('fd00::/48'), rangeOf('fd00:0:0:1::/64'))).toBe(true);
    const pieces = ['10.0.0.0/16', '10.0.3.0/24', '10.0.4.0/24', 'fd00::/64', '10.1.0.0/16'];
    const pairs = touchingPairs(pieces.map((cidr) => ({ cidr, range: rangeOf(cidr) })));
    expect(pairs.map(([a, b]) => `${a.cidr} ${b.cidr}`)).toEqual([
      '10.0.0.0/16 10.0.3.0/24',
      '10.0.0.0/16 10.0.4.0/24',
    ]);
  });

  test('counts free cells past what is odd-sized or outside', () => {
    const taken = ['10.0.0.0/27', '10.0.0.32/27', '10.0.2.0/23', '10.9.0.0/24'].map(rangeOf);
    expect(freeCells(rangeOf('10.0.0.0/21'), 24, taken)).toBe(8 - 1 - 2);
  });
});
