import { describe, expect, test } from 'vitest';
import {
  at,
  auto,
  blockObject,
  ciliumNodeObject,
  guard,
  nodeObject,
  poolObject,
  pool as readyPool,
  registerOf,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { decideNode } from './decide-node.ts';
import { cellsToGuard, mostCells, rivalsInGuard } from './guards.ts';

function decide(objects: KubeObject[], name = 'n') {
  const register = registerOf(objects);
  return decideNode(register, register.nodes.get(name)!, auto);
}
const pool = poolObject('p', { cidrs: ['10.0.0.0/16'] });

describe('registered blocks that are not as they should be', () => {
  test('two that overlap name both their owners, from either side', () => {
    const objects = [
      pool,
      nodeObject('n'),
      nodeObject('m'),
      blockObject('10.0.0.0/23', 'n', { pool: 'p' }),
      blockObject('10.0.1.0/24', 'm', { pool: 'p' }),
    ];
    expect(decide(objects).findings[0]).toEqual({
      reason: 'OverlappingBlocks',
      nodes: ['n', 'm'],
      cidr: '10.0.0.0/23',
      detail: '10.0.0.0/23 of n overlaps 10.0.1.0/24 of m, and both are registered',
    });
    expect(decide(objects, 'm').findings[0]?.nodes).toEqual(['m', 'n']);
  });

  test('a block that lies in no pool any more is kept', () => {
    const decision = decide([
      pool,
      nodeObject('n'),
      blockObject('172.16.0.0/24', 'n', { pool: 'old' }),
    ]);
    expect(decision.keep).toHaveLength(1);
    expect(decision.findings).toEqual([
      {
        reason: 'OutsidePools',
        nodes: ['n'],
        cidr: '172.16.0.0/24',
        detail: '172.16.0.0/24 of n was cut from old, but lies in no pool now',
      },
    ]);
  });

  test('after a change of mode a block lies in the pool that is there now: no finding', () => {
    const moved = [
      pool,
      nodeObject('n'),
      blockObject('10.0.0.0/24', 'n', { pool: 'cluster-pool' }),
    ];
    expect(decide(moved).findings).toEqual([]);
  });

  test('records that say something else are one finding a family, with all who say so', () => {
    const decision = decide([
      pool,
      nodeObject('n', {
        podCIDRs: ['10.0.8.0/24'],
        annotations: {
          'network.cilium.io/ipv4-pod-cidr': '10.0.0.0/24',
          'io.cilium.network.ipv4-pod-cidr': '10.0.9.0/24',
        },
      }),
      ciliumNodeObject('n', ['10.0.0.0/24']),
      blockObject('10.0.0.0/24', 'n', { pool: 'p' }),
    ]);
    expect(decision.findings).toEqual([
      {
        reason: 'SourcesDisagree',
        nodes: ['n'],
        cidr: '10.0.0.0/24',
        detail:
          'n has 10.0.0.0/24, but Node.spec.podCIDRs says 10.0.8.0/24 and the annotation io.cilium.network.…-pod-cidr says 10.0.9.0/24',
      },
    ]);
  });
});

describe('the cells around a block of another size', () => {
  const of24 = readyPool('p', { cidrs: ['10.0.0.0/8', 'fd00::/48'] });

  test('are its own cell, or every cell in it, or none for the right size', () => {
    const cells = (cidr: string) => String(cellsToGuard(at(cidr), of24));
    expect(cells('10.0.0.0/24')).toBe('');
    expect(cells('10.0.7.128/27')).toBe('10.0.7.0/24');
    expect(cells('10.0.6.0/23')).toBe('10.0.6.0/24,10.0.7.0/24');
    expect(cells('fd00:0:0:1:8000::/65')).toBe('fd00:0:0:1::/64');
    expect(cells('10.0.0.0/13')).toBe('too many');
    expect(cellsToGuard(at('10.0.0.0/14'), of24)).toHaveLength(mostCells);
  });

  test('are guarded later too, when the size around a kept block has changed', () => {
    const objects = [pool, nodeObject('n'), blockObject('10.0.0.32/27', 'n', { pool: 'p' })];
    const register = registerOf(objects);
    const unguarded = () =>
      decideNode(register, register.nodes.get('n')!, auto).unguarded.map(
        ({ prefix, guards, pool: name }) => `${prefix} ${guards} ${name}`,
      );
    expect(unguarded()).toEqual(['10.0.0.32/27 10.0.0.0/24 p']);
    register.putBlock(guard('10.0.0.0/24', ['10.0.0.64/27'], 'p'));
    expect(unguarded()).toEqual(['10.0.0.32/27 10.0.0.0/24 p']);
    register.putBlock(guard('10.0.0.0/24', ['10.0.0.64/27', '10.0.0.32/27'], 'p'));
    expect(unguarded()).toEqual([]);
  });

  test('that a node holds are in dispute, not to be guarded', () => {
    const decision = decide([
      pool,
      nodeObject('n'),
      blockObject('10.0.0.32/27', 'n', { pool: 'p' }),
      blockObject('10.0.0.0/24', 'm', { pool: 'p' }),
    ]);
    expect(decision.unguarded).toEqual([]);
    expect(decision.findings[0]?.reason).toBe('OverlappingBlocks');
  });

  test('a guard lists who is in it; who joins must look at those it overlaps', () => {
    const cell = guard('10.0.0.0/24', ['10.0.0.32/27', '10.0.0.128/25', 'nonsense']);
    expect(rivalsInGuard(cell, at('10.0.0.32/28')).map(String)).toEqual(['10.0.0.32/27']);
    expect(rivalsInGuard(cell, at('10.0.0.0/23')).map(String)).toEqual([
      '10.0.0.32/27',
      '10.0.0.128/25',
    ]);
    expect(rivalsInGuard(cell, at('10.0.0.32/27'))).toEqual([]);
    expect(rivalsInGuard(cell, at('10.0.0.64/27'))).toEqual([]);
  });
});
