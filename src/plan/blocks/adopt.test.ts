import { describe, expect, test } from 'vitest';
import {
  auto,
  blockObject,
  ciliumNodeObject,
  guard,
  nodeObject,
  poolObject,
  registerOf,
  texts,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { decideNode, type NodeDecision, type Rules } from './decide-node.ts';

function decide(objects: KubeObject[], name = 'n', rules: Rules = auto): NodeDecision {
  const register = registerOf(objects);
  return decideNode(register, register.nodes.get(name)!, rules);
}
const findings = ({ findings: all }: NodeDecision) =>
  all.map(({ reason, nodes, cidr }) => `${reason} ${nodes.join('+')} ${cidr}`);
const refusals = ({ refused }: NodeDecision) =>
  refused.map(({ family, reason }) => `${family} ${reason}`);

const pool = poolObject('p', { cidrs: ['10.0.0.0/16', 'fd00::/48'] });

describe('taking over what a node holds', () => {
  test.each<[string, KubeObject[]]>([
    ['Node.spec', [nodeObject('n', { podCIDRs: ['10.0.5.0/24', 'fd00:0:0:5::/64'] })]],
    [
      'the annotations of the new name',
      [
        nodeObject('n', {
          annotations: {
            'network.cilium.io/ipv4-pod-cidr': '10.0.5.0/24',
            'network.cilium.io/ipv6-pod-cidr': 'fd00:0:0:5::/64',
          },
        }),
      ],
    ],
    [
      'the annotations of the old name',
      [
        nodeObject('n', {
          annotations: {
            'io.cilium.network.ipv4-pod-cidr': '10.0.5.0/24',
            'io.cilium.network.ipv6-pod-cidr': 'fd00:0:0:5::/64',
          },
        }),
      ],
    ],
    [
      'the CiliumNode',
      [nodeObject('n'), ciliumNodeObject('n', ['10.0.5.0/24', 'fd00:0:0:5::/64'])],
    ],
  ])('from %s', (_, objects) => {
    const decision = decide([pool, ...objects]);
    expect(texts(decision.adopt)).toEqual(['10.0.5.0/24', 'fd00:0:0:5::/64']);
    expect(decision.adopt.map((cut) => cut.pool)).toEqual(['p', 'p']);
    expect(decision.assign).toEqual([]);
    expect(decision.refused).toEqual([]);
  });

  test('host bits are read past: the API server stores them as they come', () => {
    const decision = decide([pool, nodeObject('n', { podCIDRs: ['10.0.5.3/24'] })]);
    expect(texts(decision.adopt)).toEqual(['10.0.5.0/24']);
  });

  test('what the agent really uses counts, not what the controller manager wrote', () => {
    const decision = decide([
      pool,
      nodeObject('n', { podCIDRs: ['10.0.1.0/24'] }),
      ciliumNodeObject('n', ['10.0.2.0/24']),
    ]);
    expect(texts(decision.adopt)).toEqual(['10.0.2.0/24']);
    expect(findings(decision)).toEqual(['SourcesDisagree n 10.0.2.0/24']);
  });

  test('each family comes from the most trusted record that has it', () => {
    const decision = decide([
      pool,
      nodeObject('n', { podCIDRs: ['10.0.1.0/24', 'fd00:0:0:1::/64'] }),
      ciliumNodeObject('n', ['10.0.2.0/24']),
    ]);
    expect(texts(decision.adopt)).toEqual(['10.0.2.0/24', 'fd00:0:0:1::/64']);
  });

  test('several blocks of one family are all taken, and the missing family is cut', () => {
    const decision = decide([
      pool,
      nodeObject('n'),
      ciliumNodeObject('n', ['10.0.1.0/24', '10.0.2.0/24']),
    ]);
    expect(texts(decision.adopt)).toEqual(['10.0.1.0/24', '10.0.2.0/24']);
    expect(texts(decision.assign)).toEqual(['fd00::/64']);
  });

  test('after a crash between two adoptions the rest is taken', () => {
    const decision = decide([
      pool,
      nodeObject('n'),
      ciliumNodeObject('n', ['10.0.1.0/24', '10.0.2.0/24', 'fd00::/64']),
      blockObject('10.0.1.0/24', 'n', { pool: 'p' }),
    ]);
    expect(texts(decision.keep)).toEqual(['10.0.1.0/24']);
    expect(texts(decision.adopt)).toEqual(['10.0.2.0/24', 'fd00::/64']);
  });

  test('the rest of such a list is the node’s own meanwhile: a younger node does not get it', () => {
    const decision = decide(
      [
        pool,
        nodeObject('n', { created: 1 }),
        ciliumNodeObject('n', ['10.0.1.0/24', '10.0.2.0/24']),
        blockObject('10.0.1.0/24', 'n', { pool: 'p' }),
        nodeObject('m', { created: 2, podCIDRs: ['10.0.2.0/24'] }),
      ],
      'm',
    );
    expect(decision.adopt).toEqual([]);
    expect(findings(decision)).toEqual(['DuplicateBlock n+m 10.0.2.0/24']);
  });

  test('a list that leaves the registered block out is another story: nothing is adopted', () => {
    const decision = decide([
      pool,
      blockObject('10.0.1.0/24', 'n', { pool: 'p' }),
      blockObject('fd00::/64', 'n', { pool: 'p' }),
      nodeObject('n', { podCIDRs: ['10.0.9.0/24'] }),
    ]);
    expect(texts(decision.keep)).toEqual(['10.0.1.0/24', 'fd00::/64']);
    expect(decision.adopt).toEqual([]);
    expect(findings(decision)).toEqual(['SourcesDisagree n 10.0.1.0/24']);
  });

  test('a block inside another of the same list, or of the register, needs no object of its own', () => {
    const list = decide([
      pool,
      nodeObject('n'),
      ciliumNodeObject('n', ['10.0.0.0/24', '10.0.0.0/27']),
    ]);
    expect(texts(list.adopt)).toEqual(['10.0.0.0/24']);
    const registered = decide([
      pool,
      blockObject('10.0.0.0/24', 'n', { pool: 'p' }),
      nodeObject('n'),
      ciliumNodeObject('n', ['10.0.0.0/24', '10.0.0.0/27']),
    ]);
    expect(registered.adopt).toEqual([]);
    expect(findings(registered)).toEqual(['SourcesDisagree n 10.0.0.0/24']);
  });

  test('one around the node’s own block cannot be', () => {
    const decision = decide([
      pool,
      blockObject('10.0.0.0/24', 'n', { pool: 'p' }),
      nodeObject('n'),
      ciliumNodeObject('n', ['10.0.0.0/24', '10.0.0.0/23']),
    ]);
    expect(findings(decision)).toContain('ClaimRefused n 10.0.0.0/23');
    expect(texts(decision.keep)).toEqual(['10.0.0.0/24']);
  });
});

describe('what cannot be taken over', () => {
  test('lies in no pool: a finding; the node gets nothing new, others are served', () => {
    const objects = [pool, nodeObject('n', { podCIDRs: ['172.16.0.0/24'] }), nodeObject('m')];
    const decision = decide(objects);
    expect(findings(decision)).toEqual(['OutsidePools n 172.16.0.0/24']);
    expect(refusals(decision)).toEqual(['ipv4 OutsidePools']);
    expect(decision.assign).toEqual([]);
    expect(texts(decide(objects, 'm').assign)).toEqual(['10.0.0.0/24', 'fd00::/64']);
  });

  test('of a family that no pool has: a finding, but the rest is adopted', () => {
    const decision = decide([
      poolObject('p', { cidrs: ['10.0.0.0/16'] }),
      nodeObject('n', { podCIDRs: ['10.0.1.0/24', 'a00::/86'] }),
    ]);
    expect(texts(decision.adopt)).toEqual(['10.0.1.0/24']);
    expect(findings(decision)).toEqual(['OutsidePools n a00::/86']);
    expect(decision.refused).toEqual([]);
  });

  test('held twice: the older node has it, then the one with the smaller name', () => {
    const held = { podCIDRs: ['10.0.1.0/24'] };
    const byAge = [
      poolObject('p', { cidrs: ['10.0.0.0/16'] }),
      nodeObject('a', { ...held, created: 2 }),
      nodeObject('b', { ...held, created: 1 }),
    ];
    expect(texts(decide(byAge, 'b').adopt)).toEqual(['10.0.1.0/24']);
    const loser = decide(byAge, 'a');
    expect(loser.adopt).toEqual([]);
    expect(loser.assign).toEqual([]);
    expect(loser.findings).toEqual([
      {
        reason: 'DuplicateBlock',
        nodes: ['b', 'a'],
        cidr: '10.0.1.0/24',
        detail: '10.0.1.0/24 is held by b and by a',
      },
    ]);
    const byName = [byAge[0]!, nodeObject('a', held), nodeObject('b', held)];
    expect(texts(decide(byName, 'a').adopt)).toEqual(['10.0.1.0/24']);
    expect(refusals(decide(byName, 'b'))).toEqual(['ipv4 DuplicateBlock']);
  });

  test('a registered block goes before any record, however old its node', () => {
    const decision = decide([
      pool,
      nodeObject('n', { podCIDRs: ['10.0.1.0/24'], created: 1 }),
      nodeObject('m', { created: 9 }),
      blockObject('10.0.1.0/24', 'm', { pool: 'p' }),
    ]);
    expect(findings(decision)).toEqual(['DuplicateBlock m+n 10.0.1.0/24']);
  });

  test('a cooling block still goes before a record of another node', () => {
    const decision = decide([
      pool,
      nodeObject('n', { podCIDRs: ['10.0.1.0/24'] }),
      blockObject('10.0.1.0/24', 'gone', { pool: 'p', phase: 'Cooling' }),
    ]);
    expect(findings(decision)).toEqual(['DuplicateBlock gone+n 10.0.1.0/24']);
  });

  test('overlapping, around or inside: both owners are named, and all of them', () => {
    const around = decide([
      pool,
      blockObject('10.0.0.128/25', 'a', { pool: 'p' }),
      blockObject('10.0.0.0/25', 'b', { pool: 'p' }),
      nodeObject('n', { podCIDRs: ['10.0.0.0/24'] }),
    ]);
    expect(around.findings[0]).toEqual({
      reason: 'OverlappingBlocks',
      nodes: ['b', 'a', 'n'],
      cidr: '10.0.0.0/24',
      detail:
        '10.0.0.0/24 of n overlaps 10.0.0.0/25 of b; 10.0.0.0/24 of n overlaps 10.0.0.128/25 of a',
    });
    const inside = decide([
      pool,
      blockObject('10.0.0.0/23', 'a', { pool: 'p' }),
      nodeObject('n', { podCIDRs: ['10.0.1.64/27'] }),
    ]);
    expect(findings(inside)).toEqual(['OverlappingBlocks a+n 10.0.1.64/27']);
  });

  test('all or nothing across families: the sound half stays its own, but is not adopted', () => {
    const objects = [
      pool,
      nodeObject('a', { created: 1, podCIDRs: ['10.0.0.0/24', 'fd00::/64'] }),
      nodeObject('n', { created: 2, podCIDRs: ['10.0.1.0/24', 'fd00::/64'] }),
      nodeObject('c', { created: 3 }),
    ];
    const decision = decide(objects);
    expect(decision.adopt).toEqual([]);
    expect(refusals(decision)).toEqual(['ipv6 DuplicateBlock', 'ipv4 AdoptionIncomplete']);
    expect(texts(decide(objects, 'c').assign)).toEqual(['10.0.2.0/24', 'fd00:0:0:1::/64']);
  });

  test('a record that is no CIDR is a finding, and the others still count', () => {
    const decision = decide([
      pool,
      nodeObject('n', { podCIDRs: ['10.0.0.0/24'] }),
      ciliumNodeObject('n', ['ten dot zero']),
    ]);
    expect(texts(decision.adopt)).toEqual(['10.0.0.0/24']);
    expect(decision.findings).toEqual([
      {
        reason: 'MalformedHolding',
        nodes: ['n'],
        cidr: 'ten dot zero',
        detail: 'CiliumNode.spec.ipam.podCIDRs of n has "ten dot zero", which is not a CIDR',
      },
    ]);
  });

  test('a node with a held block that is not adopted blocks nobody else’s land, and loses nothing', () => {
    const objects = [
      poolObject('p', { cidrs: ['10.0.0.0/23'] }),
      blockObject('10.0.0.0/24', 'a'),
      nodeObject('a'),
      nodeObject('n', { podCIDRs: ['10.0.0.0/24'] }),
      nodeObject('m'),
    ];
    expect(texts(decide(objects, 'm').assign)).toEqual(['10.0.1.0/24']);
    expect(texts(decide(objects, 'a').keep)).toEqual(['10.0.0.0/24']);
  });
});

describe('blocks of another size than the pool’s', () => {
  test('a smaller one is adopted behind a guard for its cell', () => {
    const decision = decide([pool, nodeObject('n', { podCIDRs: ['10.0.7.32/27', 'fd00::/64'] })]);
    expect(texts(decision.adopt)).toEqual(['10.0.7.32/27', 'fd00::/64']);
    expect(decision.adopt[0]?.guards.map(String)).toEqual(['10.0.7.0/24']);
    expect(decision.adopt[1]?.guards).toEqual([]);
  });

  test('a cell that is guarded cannot be adopted while somebody is in it, and is not tried for ever', () => {
    const objects = [
      poolObject('p', { cidrs: ['10.0.0.0/16'] }),
      nodeObject('n', { podCIDRs: ['10.0.0.0/24'], created: 1 }),
      nodeObject('m', { podCIDRs: ['10.0.0.32/27'], created: 2 }),
    ];
    const register = registerOf(objects);
    register.putBlock(guard('10.0.0.0/24', ['10.0.0.32/27'], 'p'));
    const decision = decideNode(register, register.nodes.get('n')!, auto);
    expect(decision.adopt).toEqual([]);
    expect(decision.refused[0]?.detail).toBe('10.0.0.0/24 of n is still guarded for blocks of m');
    register.removeNode('m');
    const after = decideNode(register, register.nodes.get('n')!, auto);
    expect(after.refused[0]?.detail).toBe('10.0.0.0/24 of n is still guarded for nothing any more');
    register.removeBlock('10-0-0-0-24');
    expect(texts(decideNode(register, register.nodes.get('n')!, auto).adopt)).toEqual([
      '10.0.0.0/24',
    ]);
  });
});
