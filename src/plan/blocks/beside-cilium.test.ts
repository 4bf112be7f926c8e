/** What is adopted beside Cilium, by mode, and what its multi-pool has given out. */
import { describe, expect, test } from 'vitest';
import {
  ciliumNodeObject,
  nodeObject,
  poolObject,
  registerOf,
} from '../../../test/register/objects.ts';
import { readCiliumNode } from '../../model/cilium-node.ts';
import { comparedIn, modes } from '../../model/modes.ts';
import { planAllocation } from './allocation-plan.ts';
import type { Register } from './register.ts';

const mode = modes['cluster-pool'];
const pool = poolObject('p', { cidrs: ['10.50.0.0/20'], size: 24 });

function planned(register: Register) {
  const names = [...register.nodes.keys()];
  return planAllocation(register, names, { families: new Set(['ipv4']), byDemand: false });
}

const given = (register: Register) =>
  planned(register).nodes.map(
    ({ name, blocks }) => `${name} ${blocks.map(({ cidr, action }) => `${cidr} ${action}`)}`,
  );

describe('cluster-pool, while kube-controller-manager still writes Node.spec', () => {
  const objects = [
    pool,
    // Node.spec of n1 and n2 crosswise: the incident. n3 joins, and its agent has no block yet.
    nodeObject('n1', { podCIDRs: ['10.50.1.0/24'], created: 1 }),
    ciliumNodeObject('n1', ['10.50.0.0/24']),
    nodeObject('n2', { podCIDRs: ['10.50.0.0/24'], created: 2 }),
    ciliumNodeObject('n2', ['10.50.1.0/24']),
    nodeObject('n3', { podCIDRs: ['10.50.0.0/24'], created: 3 }),
    ciliumNodeObject('n3', []),
  ];
  const register = registerOf(objects, mode.adoptsFrom, false, comparedIn(mode));

  test('a node that joins is served, whatever Node.spec says of it', () => {
    expect(given(register)).toEqual([
      'n1 10.50.0.0/24 adopt',
      'n2 10.50.1.0/24 adopt',
      'n3 10.50.2.0/24 assign',
    ]);
    expect(planned(register).findings.map(({ reason }) => reason)).not.toContain('DuplicateBlock');
  });

  test('Node.spec is still compared, and what it says is given to nobody else', () => {
    const details = planned(register).findings.map(({ detail }) => detail);
    expect(details).toContain('n1 has 10.50.0.0/24, but Node.spec.podCIDRs says 10.50.1.0/24');
    const lone = registerOf(
      [
        pool,
        nodeObject('n1', { podCIDRs: ['10.50.0.0/24'] }),
        ciliumNodeObject('n1', ['10.50.1.0/24']),
        nodeObject('n2'),
      ],
      mode.adoptsFrom,
      false,
      comparedIn(mode),
    );
    expect(given(lone)).toEqual(['n1 10.50.1.0/24 adopt', 'n2 10.50.2.0/24 assign']);
  });
});

describe("what Cilium's multi-pool has given out", () => {
  const pooled = (name: string, ...cidrs: string[]) =>
    readCiliumNode({
      metadata: { name, uid: name },
      spec: { ipam: { pools: { allocated: [{ pool: 'default', cidrs }] } } },
    });

  test.each(Object.values(modes).filter((one) => one.allocates && !one.isPooledByCilium))(
    '$name: nothing is cut over it, and the plan says so',
    (one) => {
      const register = registerOf([pool, nodeObject('n1'), nodeObject('n2')], one.adoptsFrom);
      register.putCiliumNode(pooled('n1', '10.50.0.0/27', '10.50.0.32/27', '10.50.1.64/27'));
      expect(given(register)).toEqual(['n1 10.50.2.0/24 assign', 'n2 10.50.3.0/24 assign']);
      expect(planned(register).findings.map(({ reason, nodes }) => [reason, ...nodes])).toEqual([
        ['SourcesDisagree', 'n1'],
      ]);
    },
  );

  test('many small blocks are kept too, not only as many as a node may hold of a pool', () => {
    const cidrs = Array.from({ length: 12 }, (_, i) => `10.50.${i}.0/27`);
    const register = registerOf([pool, nodeObject('n1'), nodeObject('n2')]);
    register.putCiliumNode(pooled('n1', ...cidrs));
    expect(given(register)).toEqual(['n1 10.50.12.0/24 assign', 'n2 10.50.13.0/24 assign']);
  });

  test('a node that is gone leaves its CiliumNode: still nothing is cut over it', () => {
    const register = registerOf([pool, nodeObject('n2')]);
    register.putCiliumNode(pooled('gone', '10.50.0.0/27'));
    expect(given(register)).toEqual(['n2 10.50.1.0/24 assign']);
  });

  test('two nodes with one block is a finding, once for each', () => {
    const register = registerOf([pool, nodeObject('n1'), nodeObject('n2')]);
    register.putCiliumNode(pooled('n1', '10.50.0.0/27'));
    register.putCiliumNode(pooled('n2', '10.50.0.0/27'));
    const found = planned(register).findings.filter(({ reason }) => reason === 'DuplicateBlock');
    expect(found.map(({ nodes, cidr }) => [cidr, ...nodes])).toEqual([
      ['10.50.0.0/27', 'n1', 'n2'],
      ['10.50.0.0/27', 'n1', 'n2'],
    ]);
  });

  test('one node cannot stop a pool by it', () => {
    const register = registerOf([pool, nodeObject('n1'), nodeObject('n2')]);
    register.putCiliumNode(pooled('n1', '10.0.0.0/8'));
    expect(given(register)[1]).toBe('n2 10.50.1.0/24 assign');
  });
});
