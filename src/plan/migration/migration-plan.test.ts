import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  auto,
  blockObject,
  ciliumNodeObject,
  nodeObject,
  poolObject,
  registerOf,
  reportObject,
} from '../../../test/register/objects.ts';
import { selects } from '../../model/label-selector.ts';
import type { KubeObject } from '../../model/object.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { type MigrationPlan, planMigration } from './migration-plan.ts';
import { moveSteps, preparation } from './migration-steps.ts';

function plan(objects: KubeObject[]): MigrationPlan {
  const names = objects.filter(({ kind }) => kind === 'Node').map((o) => o.metadata?.name ?? '');
  return planMigration(registerOf(objects), names, auto);
}

const rack = (name: string, cidr: string, more = {}) =>
  poolObject(`rack-${name}`, {
    cidrs: [cidr],
    selector: { matchLabels: { rack: name } },
    ...more,
  });
const inRack = (name: string, racks: string, podCIDRs: string[] = []) =>
  nodeObject(name, { labels: { rack: racks }, podCIDRs });

const words = ({ moves }: MigrationPlan) =>
  moves.map(
    ({ node, from, to, reason, method, after }) =>
      `${node}: ${from.join()} → ${to.map(({ cidr }) => cidr).join()} ${reason} ${method}${after.length > 0 ? ` after ${after.join()}` : ''}`,
  );

describe('the migration plan', () => {
  test('adopts what lies in a pool that selects its node, and moves the rest', () => {
    const result = plan([
      rack('83', '10.83.0.0/22'),
      rack('94', '10.94.0.0/22'),
      inRack('fits', '83', ['10.83.0.0/24']),
      inRack('wrong-rack', '94', ['10.83.1.0/24']),
      inRack('outside', '94', ['10.99.0.0/24']),
      inRack('new', '83'),
      inRack('nowhere', '77'),
    ]);
    expect(result.adopt).toEqual([
      {
        node: 'fits',
        blocks: [{ cidr: '10.83.0.0/24', pool: 'rack-83', source: 'Node.spec.podCIDRs' }],
      },
    ]);
    expect(result.fresh).toEqual([
      { node: 'new', blocks: [{ cidr: '10.83.2.0/24', pool: 'rack-83' }] },
    ]);
    expect(words(result)).toEqual([
      'outside: 10.99.0.0/24 → 10.94.0.0/24 OutsidePools recreate',
      'wrong-rack: 10.83.1.0/24 → 10.94.1.0/24 PoolNoLongerSelects recreate',
    ]);
    expect(result.refused).toMatchObject([{ node: 'nowhere', reason: 'NoPoolSelectsNode' }]);
    expect(result.from).toEqual(['spec']);
    expect(preparation(result, 'ip-pool').map(({ step }) => step)).toEqual([
      'look',
      'stop-kube-controller-manager',
      'start-operator',
    ]);
  });

  test('a node that went back from a move may get the block again that cools for it', () => {
    const result = plan([
      rack('83', '10.83.0.0/24'),
      inRack('back', '83', ['10.99.0.0/24']),
      blockObject('10.83.0.0/24', 'back', {
        pool: 'rack-83',
        nodeUid: 'earlier',
        phase: 'Cooling',
      }),
    ]);
    expect(words(result)).toEqual(['back: 10.99.0.0/24 → 10.83.0.0/24 OutsidePools recreate']);
  });

  test('of two owners of one block the younger moves, before all others, and the older is named', () => {
    const result = plan([
      poolObject('p', { cidrs: ['10.0.0.0/22'] }),
      nodeObject('older', { created: 1, podCIDRs: ['10.0.0.0/24'] }),
      nodeObject('younger', { created: 2, podCIDRs: ['10.0.0.0/24'] }),
      nodeObject('a-stranger', { created: 3, podCIDRs: ['10.9.0.0/24'] }),
    ]);
    expect(words(result)[0]).toBe('younger: 10.0.0.0/24 → 10.0.1.0/24 DuplicateBlock recreate');
    expect(result.moves[0]?.blast.others).toEqual([
      { node: 'older', cidr: '10.0.0.0/24', record: 'Node.spec.podCIDRs' },
    ]);
  });

  test('a registered node with an agent gives its block back; one with Node.spec set is made anew', () => {
    const report = (name: string) => reportObject(name, {});
    const result = plan([
      rack('1', '10.1.0.0/22'),
      rack('2', '10.2.0.0/22'),
      inRack('agent', '2'),
      report('agent'),
      blockObject('10.1.0.0/24', 'agent', { pool: 'rack-1' }),
      inRack('fixed', '2', ['10.1.1.0/24']),
      report('fixed'),
      blockObject('10.1.1.0/24', 'fixed', { pool: 'rack-1' }),
      inRack('bare', '2'),
      blockObject('10.1.2.0/24', 'bare', { pool: 'rack-1' }),
    ]);
    expect(result.moves.map(({ node, method }) => [node, method])).toEqual([
      ['agent', 'release'],
      ['bare', 'recreate'],
      ['fixed', 'recreate'],
    ]);
    const [release, recreate] = result.moves.map((move) => moveSteps(move).map(({ step }) => step));
    expect(release).toContain('release');
    expect(recreate).toContain('recreate');
  });

  test('the incident: Cilium’s blocks are adopted, whatever kube-controller-manager says', () => {
    const four = [
      ['master1', '10.5.112.0/24', '10.5.113.0/24'],
      ['master2', '10.5.114.0/24', '10.5.115.0/24'],
      ['master3', '10.5.113.0/24', '10.5.114.0/24'],
      ['node1', '10.5.115.0/24', '10.5.112.0/24'],
    ] as const;
    const result = plan([
      poolObject('all', { cidrs: ['10.5.112.0/21'] }),
      ...four.flatMap(([name, spec, cilium]) => [
        nodeObject(name, { podCIDRs: [spec] }),
        ciliumNodeObject(name, [cilium]),
      ]),
    ]);
    expect(result.adopt.map(({ node, blocks }) => [node, blocks[0]?.cidr])).toEqual(
      four.map(([name, , cilium]) => [name, cilium]),
    );
    expect(result.moves).toEqual([]);
    expect(result.findings).toHaveLength(4);
  });

  test('two full pools whose nodes must change places cannot; with one free block they can, in turn', () => {
    const crossed = (size: string) => [
      rack('1', `10.1.0.0/${size}`),
      rack('2', '10.2.0.0/24'),
      inRack('a', '2', ['10.1.0.0/24']),
      inRack('b', '1', ['10.2.0.0/24']),
    ];
    expect(plan(crossed('24')).refused.map(({ node }) => node)).toEqual(['a', 'b']);
    const result = plan(crossed('23'));
    expect(result.refused).toEqual([]);
    expect(words(result)).toEqual([
      'b: 10.2.0.0/24 → 10.1.1.0/24 PoolNoLongerSelects recreate',
      'a: 10.1.0.0/24 → 10.2.0.0/24 PoolNoLongerSelects recreate after b',
    ]);
  });
});

const anyNode = fc.record({
  rack: fc.constantFrom('1', '2', '3'),
  third: fc.nat(5),
  second: fc.constantFrom(1, 2, 3, 9),
  isRegistered: fc.boolean(),
  hasRecord: fc.boolean(),
  hasAgent: fc.boolean(),
});

test('whatever nodes hold, each is told one fate, nobody is given what another has, and every target is right', () => {
  fc.assert(
    fc.property(fc.array(anyNode, { maxLength: 12 }), (all) => {
      const objects = [
        rack('1', '10.1.0.0/22'),
        rack('2', '10.2.0.0/23'),
        ...all.flatMap((one, at) => {
          const name = `n${at}`;
          const cidr = `10.${one.second}.${one.third}.0/24`;
          const isFirst = !all.slice(0, at).some((o) => o.isRegistered && sameLand(o, one));
          return [
            nodeObject(name, {
              created: at,
              labels: { rack: one.rack },
              podCIDRs: one.hasRecord ? [cidr] : [],
            }),
            ...(one.isRegistered && isFirst ? [blockObject(cidr, name, { pool: 'rack-1' })] : []),
            ...(one.hasAgent ? [reportObject(name, {})] : []),
          ];
        }),
      ];
      const before = registerOf(objects);
      const result = plan(objects);
      const told = [
        ...result.stay.map(({ node }) => node),
        ...result.adopt.map(({ node }) => node),
        ...result.fresh.map(({ node }) => node),
        ...result.moves.map(({ node }) => node),
        ...result.refused.map(({ node }) => node),
      ];
      expect([...told].sort()).toEqual(all.map((_, at) => `n${at}`).sort());

      // The land as it is after each step: first what stays, is adopted or newly cut.
      const held = new Map<string, Prefix[]>();
      const take = (node: string, cidrs: string[]) => {
        const land = cidrs.map((cidr) => parsePrefix(cidr)!);
        for (const [other, theirs] of held) {
          if (other === node) continue;
          for (const prefix of land) {
            expect(
              theirs.some((one) => one.overlaps(prefix)),
              `${prefix} of ${other}`,
            ).toBe(false);
          }
        }
        held.set(node, land);
      };
      for (const { node, blocks } of [...result.stay, ...result.adopt, ...result.fresh]) {
        take(
          node,
          blocks.map(({ cidr }) => cidr),
        );
      }
      // Movers that have a block of the register keep it until they move.
      for (const { node } of [...result.moves, ...result.refused]) {
        const own = before.blocksOf(node).map(({ prefix }) => prefix.toString());
        if (own.length > 0) take(node, own);
      }
      for (const { node, to } of result.moves) {
        take(
          node,
          to.map(({ cidr }) => cidr),
        );
        for (const { pool: name } of to) {
          const pool = before.poolSet.get(name);
          expect(selects(pool?.selector, before.nodes.get(node)!.labels)).toBe(true);
        }
      }
    }),
  );
});

function sameLand(a: { second: number; third: number }, b: { second: number; third: number }) {
  return a.second === b.second && a.third === b.third;
}
