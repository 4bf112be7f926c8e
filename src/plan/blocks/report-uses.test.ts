import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  at,
  auto,
  blockObject,
  ciliumNodeObject,
  claimsOf,
  nodeObject,
  poolObject,
  registerOf,
  reportObject,
  texts,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { goneHolders, planAllocation } from './allocation-plan.ts';
import { decideNode, type NodeDecision, type Rules } from './decide-node.ts';
import { holdingSources } from './holdings.ts';

const byDemand: Rules = { families: 'auto', byDemand: true };
const pool = poolObject('p', { cidrs: ['10.0.0.0/16'] });

function decide(objects: KubeObject[], name = 'a', rules: Rules = auto): NodeDecision {
  const register = registerOf([pool, ...objects]);
  return decideNode(register, register.nodes.get(name)!, rules);
}
const refusals = ({ refused }: NodeDecision) => refused.map(({ reason }) => reason);
const findings = ({ findings: all }: NodeDecision) =>
  all.map(({ reason, nodes, cidr }) => `${reason} ${nodes.join('+')} ${cidr}`);

describe('what agents say that they use', () => {
  test('is taken over, before what any other record says', () => {
    const decision = decide([
      nodeObject('a', { podCIDRs: ['10.0.9.0/24'] }),
      ciliumNodeObject('a', ['10.0.8.0/24']),
      reportObject('a', { uses: ['10.0.1.0/24'] }),
    ]);
    expect(texts(decision.adopt)).toEqual(['10.0.1.0/24']);
    expect(decision.assign).toEqual([]);
  });

  test('is kept from everybody else', () => {
    const register = registerOf([
      pool,
      nodeObject('a'),
      nodeObject('b'),
      reportObject('a', { uses: ['10.0.0.0/24'] }),
    ]);
    const { assign } = decideNode(register, register.nodes.get('b')!, auto);
    expect(texts(assign)).toEqual(['10.0.1.0/24']);
  });

  test('brings second and further blocks back, beside one that the register has', () => {
    const decision = decide(
      [
        nodeObject('a'),
        blockObject('10.0.0.0/24', 'a'),
        reportObject('a', { ipv4: 600, uses: ['10.0.0.0/24', '10.0.4.0/24', '10.0.6.0/24'] }),
      ],
      'a',
      byDemand,
    );
    expect(texts(decision.adopt)).toEqual(['10.0.4.0/24', '10.0.6.0/24']);
    expect(decision.assign).toEqual([]);
  });

  test('may be behind the register: that is no disagreement, and other records still count', () => {
    const decision = decide(
      [
        nodeObject('a'),
        blockObject('10.0.0.0/24', 'a'),
        blockObject('10.0.1.0/24', 'a'),
        ciliumNodeObject('a', ['10.0.0.0/24', '10.0.1.0/24', '10.0.2.0/24']),
        reportObject('a', { uses: ['10.0.0.0/24'] }),
      ],
      'a',
      byDemand,
    );
    expect(texts(decision.adopt)).toEqual(['10.0.2.0/24']);
    expect(decision.findings).toEqual([]);
  });

  test.each([
    ['gives back', { releases: ['10.0.1.0/24'] }],
    ['has fenced', { fenced: ['10.0.1.0/24'] }],
  ])('is no claim to what the same report %s', (_, ended) => {
    const decision = decide([
      nodeObject('a'),
      reportObject('a', { uses: ['10.0.1.0/24'], ...ended }),
    ]);
    expect(decision.adopt).toEqual([]);
    expect(texts(decision.assign)).toEqual(['10.0.0.0/24']);
  });

  test('goes before what a mere record of an older node says', () => {
    const objects = [
      nodeObject('a', { created: 9 }),
      nodeObject('b', { created: 1, podCIDRs: ['10.0.1.0/24'] }),
      reportObject('a', { uses: ['10.0.1.0/24'] }),
    ];
    expect(texts(decide(objects, 'a').adopt)).toEqual(['10.0.1.0/24']);
    expect(refusals(decide(objects, 'b'))).toEqual(['DuplicateBlock']);
  });

  test('never takes a block from its registered owner; both are named, and nothing more is given', () => {
    const decision = decide(
      [
        nodeObject('a'),
        nodeObject('b'),
        blockObject('10.0.0.0/24', 'a'),
        blockObject('10.0.1.0/24', 'b'),
        reportObject('a', { ipv4: 2000, uses: ['10.0.0.0/24', '10.0.1.0/24', '10.0.5.0/24'] }),
      ],
      'a',
      byDemand,
    );
    // What is not in dispute is taken back all the same.
    expect(texts(decision.adopt)).toEqual(['10.0.5.0/24']);
    expect(decision.assign).toEqual([]);
    expect(refusals(decision)).toEqual(['RestoredFromBackup']);
    expect(findings(decision)).toEqual(['RestoredFromBackup b+a 10.0.1.0/24']);
  });

  test('decides which of several blocks stays, where the mode gives one', () => {
    const decision = decide([
      nodeObject('a'),
      blockObject('10.0.0.0/24', 'a', { created: 1 }),
      blockObject('10.0.7.0/24', 'a', { created: 2 }),
      reportObject('a', { uses: ['10.0.7.0/24'] }),
    ]);
    expect(texts(decision.keep)).toEqual(['10.0.7.0/24']);
    expect(texts(decision.surplus)).toEqual(['10.0.0.0/24']);
  });

  test('brings back a block that cools although its agent uses it', () => {
    const decision = decide([
      nodeObject('a'),
      blockObject('10.0.3.0/24', 'a', { phase: 'Cooling' }),
      reportObject('a', { uses: ['10.0.3.0/24'] }),
    ]);
    expect(texts(decision.rebind)).toEqual(['10.0.3.0/24']);
  });
});

describe('the report of a Node that is gone or was made anew', () => {
  const former = reportObject('a', { nodeUid: 'an earlier one', uses: ['10.0.0.0/24'] });

  test('keeps its blocks from everybody else, and that is said', () => {
    const register = registerOf([pool, nodeObject('b'), former]);
    expect(texts(decideNode(register, register.nodes.get('b')!, auto).assign)).toEqual([
      '10.0.1.0/24',
    ]);
    expect(goneHolders(register)).toMatchObject([
      { reason: 'HolderGone', nodes: ['a'], cidr: '10.0.0.0/24' },
    ]);
  });

  test('lets the new Node wait until its agent has reported for it, and says for what', () => {
    const decision = decide([nodeObject('a'), former]);
    expect(decision.adopt).toEqual([]);
    expect(decision.assign).toEqual([]);
    expect(decision.refused).toMatchObject([
      {
        family: 'ipv4',
        reason: 'WaitingForRegister',
        detail: expect.stringMatching('10.0.0.0/24'),
      },
    ]);
    const spoken = decide([nodeObject('a'), reportObject('a', { uses: ['10.0.0.0/24'] })]);
    expect(texts(spoken.adopt)).toEqual(['10.0.0.0/24']);
  });

  test('holds nobody up where its blocks are registered, to whomever', () => {
    const decision = decide([
      nodeObject('a'),
      nodeObject('b'),
      blockObject('10.0.0.0/24', 'b'),
      former,
    ]);
    expect(texts(decision.assign)).toEqual(['10.0.1.0/24']);
  });
});

test('the register knows a changed report at once, and forgets one that is deleted', () => {
  const register = registerOf([
    pool,
    nodeObject('a'),
    reportObject('a', { uses: ['10.0.1.0/24'] }),
  ]);
  expect(claimsOf(register)).toContain('10.0.1.0/24 node/a');
  register.removeNode('a');
  expect(claimsOf(register)).toEqual(['10.0.1.0/24 shadow/a']);
  register.removeReport('a');
  expect(claimsOf(register)).toEqual([]);
});

/**
 * A history, a backup somewhere in it, and a restore. Agents go on using what they
 * use, and report it; nodes that joined after the backup come back as new Nodes, in
 * any order.
 */
describe('random restores', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  interface Site {
    nodes: Map<string, { uid: string; created: number }>;
    /** By CIDR, the node's name. */
    blocks: Map<string, string>;
  }
  const step = fc.record({
    what: fc.constantFrom('join', 'grow', 'shrink', 'back up'),
    node: fc.constantFrom(...names),
  });
  const registerAt = (
    { nodes, blocks }: Site,
    needs: number,
    spoken: ReadonlyMap<string, string[]>,
  ) =>
    registerOf(
      [
        poolObject('p', { cidrs: ['10.0.0.0/26'], size: 30 }),
        ...[...nodes].map(([name, { uid, created }]) => nodeObject(name, { uid, created })),
        ...[...blocks].map(([cidr, name], at) =>
          blockObject(cidr, name, { nodeUid: nodes.get(name)?.uid ?? 'gone', created: at }),
        ),
        ...[...spoken].map(([name, uses]) =>
          reportObject(name, { nodeUid: nodes.get(name)?.uid ?? 'gone', ipv4: needs, uses }),
        ),
      ],
      holdingSources,
      true,
    );
  const usesOf = ({ blocks }: Site, name: string) =>
    [...blocks].filter(([, owner]) => owner === name).map(([cidr]) => cidr);

  test('nothing is adopted or cut that another agent uses; what agents use is registered', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.shuffledSubarray(names, { minLength: names.length }),
        fc.nat({ max: 12 }),
        (steps, order, needs) => {
          let site: Site = { nodes: new Map(), blocks: new Map() };
          let backup: Site = site;
          let clock = 0;
          for (const { what, node } of steps) {
            const next = { nodes: new Map(site.nodes), blocks: new Map(site.blocks) };
            clock += 1;
            if (what === 'join' && !next.nodes.has(node)) {
              next.nodes.set(node, { uid: `${node}-${clock}`, created: clock });
            }
            if (what === 'back up') backup = site;
            if (what === 'shrink') next.blocks.delete(usesOf(site, node).at(-1) ?? '');
            if (what !== 'grow' && what !== 'join') {
              site = next;
              continue;
            }
            const register = registerAt(next, 0, new Map());
            const known = register.nodes.get(node);
            if (known !== undefined) {
              const demand = usesOf(site, node).length * 2 + 1;
              register.putReport(
                registerAt(next, demand, new Map([[node, usesOf(site, node)]])).reports.get(node)!,
              );
              for (const { prefix } of decideNode(register, known, byDemand).assign) {
                next.blocks.set(prefix.toString(), node);
              }
            }
            site = next;
          }
          // The restore: who joined later is made anew, in another order.
          const nodes = new Map(backup.nodes);
          for (const [at, name] of order.entries()) {
            if (site.nodes.has(name) && !nodes.has(name)) {
              nodes.set(name, { uid: `${name} anew`, created: 1_000 + at });
            }
          }
          const spoken = new Map([...site.nodes.keys()].map((name) => [name, usesOf(site, name)]));
          const register = registerAt({ nodes, blocks: backup.blocks }, needs, spoken);
          planAllocation(register, [...nodes.keys()], byDemand);
          for (const { prefix, nodeName } of register.blocks.values()) {
            if (backup.blocks.has(prefix.toString())) continue;
            for (const [user, uses] of spoken) {
              if (user === nodeName) continue;
              expect(uses.filter((cidr) => at(cidr).overlaps(prefix))).toEqual([]);
            }
          }
          for (const [user, uses] of spoken) {
            for (const cidr of uses) {
              const owners = [...register.blocks.values()]
                .filter(({ prefix }) => prefix.overlaps(at(cidr)))
                .map(({ nodeName }) => nodeName);
              // What the backup gave to another stays in dispute, and with one name only.
              const isDisputed = (backup.blocks.get(cidr) ?? user) !== user;
              expect(owners).toEqual([isDisputed ? backup.blocks.get(cidr) : user]);
            }
          }
        },
      ),
    );
  });
});
