/** Mode multi-pool: what Cilium's agent asks for by pool, what it is given, and what it lets go. */
import { describe, expect, test } from 'vitest';
import { ciliumPoolsObject, type PoolRequest } from '../../../test/multi-pool/objects.ts';
import {
  block,
  blockObject,
  nodeObject,
  poolObject,
  put,
  registerOf,
  texts,
} from '../../../test/register/objects.ts';
import { modes } from '../../model/modes.ts';
import type { KubeObject } from '../../model/object.ts';
import { decideBlock } from './block-life.ts';
import { decideNode, rulesOf } from './decide-node.ts';
import { projectOnPools } from './pool-projection.ts';
import type { Register } from './register.ts';

const rules = rulesOf(modes['multi-pool'], 'auto');
const decide = (register: Register, name = 'n') =>
  decideNode(register, register.nodes.get(name)!, rules);
const site = (...objects: KubeObject[]) =>
  registerOf(
    [poolObject('default', { cidrs: ['10.0.0.0/16'], size: 28 }), ...objects],
    modes['multi-pool'].adoptsFrom,
    true,
  );
const asks = (requested: PoolRequest[], allocated: Record<string, string[]> = {}) =>
  ciliumPoolsObject('n', { requested, allocated });

describe('what is given', () => {
  test('nothing before the agent asks, and no refusal either', () => {
    const register = site(nodeObject('n'));
    expect(decide(register)).toMatchObject({ assign: [], refused: [] });
    put(register, asks([]));
    expect(decide(register)).toMatchObject({ assign: [], refused: [] });
  });

  test('as many blocks as cover the demand, counted as Cilium counts: a /28 has 14', () => {
    const register = site(nodeObject('n'), asks([['default', 14, 0]]));
    expect(texts(decide(register).assign)).toEqual(['10.0.0.0/28']);
    put(register, asks([['default', 15, 0]]));
    expect(texts(decide(register).assign)).toEqual(['10.0.0.0/28', '10.0.0.16/28']);
  });

  test('each pool by its own name, each family by itself', () => {
    const register = site(
      poolObject('mars', { cidrs: ['10.9.0.0/16', 'fd09::/56'], size: 24, size6: 64 }),
      nodeObject('n'),
      asks([
        ['default', 5, 5],
        ['mars', 5, 5],
      ]),
    );
    const decision = decide(register);
    expect(decision.assign.map(({ pool, prefix }) => `${pool} ${prefix}`)).toEqual([
      'default 10.0.0.0/28',
      'mars 10.9.0.0/24',
      'mars fd09::/64',
    ]);
    expect(decision.refused).toMatchObject([{ family: 'ipv6', reason: 'FamilyNotServed' }]);
  });

  test.each([
    ['there is no IPPool of that name', 'NoPoolSelectsNode', []],
    [
      'IPPool mars does not select the node',
      'NoPoolSelectsNode',
      [poolObject('mars', { cidrs: ['10.9.0.0/16'], labels: { rack: 'a' } })],
    ],
    [
      'IPPool mars has no free ipv4 block',
      'PoolExhausted',
      [
        poolObject('mars', { cidrs: ['10.9.0.0/24'], size: 24 }),
        blockObject('10.9.0.0/24', 'other'),
      ],
    ],
    [
      'pool mars is disabled',
      'PoolDisabled',
      [poolObject('mars', { cidrs: ['10.9.0.0/24'], size: 24, disabled: true })],
    ],
  ] as const)('a pool that cannot serve is refused by name: %s', (words, reason, objects) => {
    const register = site(
      nodeObject('n'),
      ...objects,
      asks([
        ['default', 1, 0],
        ['mars', 1, 0],
      ]),
    );
    const { assign, refused } = decide(register);
    expect(texts(assign)).toEqual(['10.0.0.0/28']);
    expect(refused).toMatchObject([{ family: 'ipv4', reason }]);
    expect(refused[0]!.detail).toContain(words);
    expect(refused[0]!.detail).toContain('asks for ipv4 addresses of pool mars');
  });

  test('a demand without end stops at what one node may hold', () => {
    const register = site(
      poolObject('mars', { cidrs: ['10.9.0.0/16'], size: 28, maxBlocksPerNode: 3 }),
      nodeObject('n'),
      asks([['mars', 1_000_000, 0]]),
    );
    const { assign, refused } = decide(register);
    expect(assign).toHaveLength(3);
    expect(refused).toMatchObject([{ reason: 'BlockLimitReached' }]);
  });
});

describe('what is taken over', () => {
  test('every block that a CiliumNode lists, before anything new is cut', () => {
    const register = site(
      nodeObject('n'),
      asks([['default', 20, 0]], { default: ['10.0.0.32/28'] }),
      nodeObject('late'),
      ciliumPoolsObject('late', { requested: [['default', 1, 0]] }),
    );
    expect(texts(decide(register).adopt)).toEqual(['10.0.0.32/28']);
    expect(texts(decide(register).assign)).toEqual(['10.0.0.0/28']);
    expect(texts(decide(register, 'late').assign)).toEqual(['10.0.0.0/28']);
  });

  test('also the rest, where a registered block is not listed yet', () => {
    const register = site(
      nodeObject('n'),
      blockObject('10.0.0.0/28', 'n', { pool: 'default' }),
      asks([], { default: ['10.0.0.32/28'] }),
    );
    expect(texts(decide(register).adopt)).toEqual(['10.0.0.32/28']);
    expect(decide(register).findings).toEqual([]);
  });

  test('what two CiliumNodes list stays with the older node, and is said', () => {
    const register = site(
      nodeObject('old', { created: 1 }),
      ciliumPoolsObject('old', { allocated: { default: ['10.0.0.0/28'] } }),
      nodeObject('n', { created: 2 }),
      asks([['default', 1, 0]], { default: ['10.0.0.0/28'] }),
    );
    expect(texts(decide(register, 'old').adopt)).toEqual(['10.0.0.0/28']);
    const { adopt, assign, findings } = decide(register);
    expect([...adopt, ...assign]).toEqual([]);
    expect(findings).toMatchObject([{ reason: 'DuplicateBlock', nodes: ['old', 'n'] }]);
  });
});

describe('what is listed', () => {
  const keep = (...cidrs: string[]) => cidrs.map((cidr) => block(cidr, 'n', { pool: 'default' }));
  const project = (register: Register, ...cidrs: string[]) =>
    projectOnPools(register, register.ciliumNodes.get('n'), keep(...cidrs));

  test('blocks are added under their pool; what is there stays as it is', () => {
    const register = site(
      poolObject('mars', { cidrs: ['10.9.0.0/16'], size: 24 }),
      nodeObject('n'),
      asks([], { venus: ['10.77.0.0/24'], default: ['10.0.0.0/28'] }),
    );
    const blocks = [
      ...keep('10.0.0.0/28', '10.0.0.16/28'),
      block('10.9.0.0/24', 'n', { pool: 'mars' }),
    ];
    expect(projectOnPools(register, register.ciliumNodes.get('n'), blocks)).toEqual({
      kind: 'patch',
      overwrites: [],
      operations: [
        { op: 'test', path: '/metadata/uid', value: 'cilium-n' },
        { op: 'test', path: '/metadata/resourceVersion', value: '' },
        {
          op: 'add',
          path: '/spec/ipam/pools/allocated',
          value: [
            { pool: 'default', cidrs: ['10.0.0.0/28', '10.0.0.16/28'] },
            { pool: 'mars', cidrs: ['10.9.0.0/24'] },
            { pool: 'venus', cidrs: ['10.77.0.0/24'] },
          ],
        },
      ],
    });
  });

  test('nothing is written where all is listed, nor without a CiliumNode', () => {
    const register = site(nodeObject('n'));
    expect(project(register, '10.0.0.0/28')).toEqual({ kind: 'none' });
    put(register, asks([], { default: ['10.0.0.0/28'] }));
    expect(project(register, '10.0.0.0/28')).toEqual({ kind: 'none' });
  });

  test('a CiliumNode that was made anew, empty, gets its blocks again', () => {
    const register = site(nodeObject('n'), {
      ...asks([]),
      spec: {},
    });
    expect(project(register, '10.0.0.0/28')).toMatchObject({
      operations: [
        {},
        {},
        {
          path: '/spec/ipam',
          value: { pools: { allocated: [{ pool: 'default', cidrs: ['10.0.0.0/28'] }] } },
        },
      ],
    });
  });
});

describe('what the agent lets go', () => {
  const listed = { default: ['10.0.0.0/28', '10.0.0.16/28'] };
  const held = (register: Register, cidr: string) =>
    register.blocksOf('n').find(({ prefix }) => `${prefix}` === cidr)!;
  const blocks = ['10.0.0.0/28', '10.0.0.16/28'].map((cidr) =>
    blockObject(cidr, 'n', { pool: 'default' }),
  );

  test('a block that it dropped cools, is not listed again, and covers no demand', () => {
    const register = site(nodeObject('n'), ...blocks, asks([], listed));
    put(register, asks([['default', 20, 0]], { default: ['10.0.0.0/28'] }));
    const dropped = held(register, '10.0.0.16/28');
    expect(decideBlock(register, dropped, 0, true)).toMatchObject({ kind: 'cool', letGo: true });
    expect(decideBlock(register, held(register, '10.0.0.0/28'), 0, true)).toMatchObject({
      kind: expect.stringMatching(/stay|record/),
    });
    const cilium = register.ciliumNodes.get('n');
    expect(projectOnPools(register, cilium, register.blocksOf('n'))).toEqual({ kind: 'none' });
    expect(texts(decide(register).assign)).toEqual(['10.0.0.32/28']);
  });

  test('a registered block that was never seen in the list is not let go: it is yet to be listed', () => {
    const register = site(nodeObject('n'), ...blocks, asks([], { default: ['10.0.0.0/28'] }));
    expect(decideBlock(register, held(register, '10.0.0.16/28'), 0, true).kind).not.toBe('cool');
    const cilium = register.ciliumNodes.get('n');
    expect(projectOnPools(register, cilium, register.blocksOf('n')).kind).toBe('patch');
  });

  test.each([
    ['listed again', asks([], listed)],
    ['of another CiliumNode', { ...asks([]), metadata: { name: 'n', uid: 'made anew' } }],
  ])('what is %s is not let go', (_, next) => {
    const register = site(nodeObject('n'), ...blocks, asks([], listed));
    put(register, asks([], { default: ['10.0.0.0/28'] }));
    put(register, next);
    expect(register.hasLetGo(held(register, '10.0.0.16/28'))).toBe(false);
  });

  test('the same block granted anew is listed', () => {
    const register = site(nodeObject('n'), ...blocks, asks([], listed));
    put(register, asks([], { default: ['10.0.0.0/28'] }));
    const { name } = held(register, '10.0.0.16/28');
    register.removeBlock(name);
    put(register, blocks[1]!);
    expect(register.hasLetGo(held(register, '10.0.0.16/28'))).toBe(false);
  });
});
