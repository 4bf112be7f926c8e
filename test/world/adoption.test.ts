/**
 * A cluster that lived without Cadastre: a thousand nodes hold blocks by the
 * word of four different records, some of them wrong. All of it is known and
 * taken over before the first new block is cut; what cannot be taken over is
 * said, with both owners, and stands in nobody's way.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { mustBeSound } from './audit.ts';
import { Cluster, shortLease } from './cluster.ts';
import { eventually, pause } from './eventually.ts';
import type { LogLine } from './operator-process.ts';
import { moveIn, mustBeTakenOver, residents } from './residents.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
  await cluster.registerCiliumNodes();
});

afterEach(() => cluster.wipe());
afterAll(() => cluster?.stop());

test('a thousand nodes that hold blocks keep them, and nothing is cut before all of it is known', async () => {
  const all = residents();
  expect(all).toHaveLength(1_000);
  await moveIn(cluster, all);
  const mark = cluster.requests.mark();

  // The first one dies in the middle of taking over; the next one goes on.
  const first = await cluster.operator(shortLease);
  const half = await eventually(
    async () => {
      const { length } = await cluster.blocks();
      expect(length).toBeGreaterThan(200);
      return length;
    },
    { everyMs: 20 },
  );
  await first.kill9();
  expect(half).toBeLessThan(900);
  const operator = await cluster.leader(shortLease);
  const assigned = (line: LogLine) => line.reason === 'Assigned';
  expect(first.logged(assigned)).toEqual([]);

  const counted = await eventually(() => mustBeTakenOver(cluster, all), {
    withinMs: 60_000,
    everyMs: 1_000,
  });
  // 915 keep theirs (50 of them two), 55 get a new one; 5 cells of /27 are guarded.
  expect(counted).toMatchObject({
    nodes: 1_000,
    served: 970,
    active: 1_020,
    guards: 5,
    kept: 965,
  });

  // By its own word everything was adopted before the first block was cut …
  const lines = operator.readLog();
  const firstCut = lines.findIndex(assigned);
  const lastTaken = lines.findLastIndex(({ reason }) => reason === 'Adopted');
  expect(lastTaken).toBeGreaterThan(0);
  expect(firstCut).toBeGreaterThan(lastTaken);
  expect(operator.logged(assigned)).toHaveLength(55);
  // … and by the API server's: each block was asked for once, none was refused or taken back.
  // (What was under way when the first one died is logged without an answer.)
  const writes = cluster.requests.ofOperators(mark);
  const onBlocks = writes.filter(({ resource }) => resource === 'nodeblocks');
  // The second /27 of a cell finds the guard there and adds itself to it.
  const blocks = await cluster.blocks();
  const guards = new Set(
    blocks.filter(({ spec }) => spec.phase === 'Guard').map(({ metadata }) => metadata.name),
  );
  const others = onBlocks.filter(({ verb, code }) => verb !== 'create' || code === 409);
  expect(others.filter(({ name }) => !guards.has(name))).toEqual([]);
  expect(others.filter(({ verb }) => verb === 'patch').length).toBe(5);
  expect(onBlocks.filter(({ code }) => code === 201).length).toBeGreaterThan(900);
  const names = [...new Set(onBlocks.map(({ name }) => name))];
  expect(names).toHaveLength(1_020 + 5);
  const cutNames = new Set(operator.logged(assigned).map(({ block }) => nameOf(String(block))));
  expect(names.findIndex((name) => cutNames.has(name))).toBe(965 + 5);
  // One annotation patch a node at the most, and a status patch for each that is refused.
  const onNodes = writes.filter(({ resource }) => resource === 'nodes');
  expect(onNodes.filter(({ subresource }) => subresource === '').length).toBeLessThanOrEqual(970);
  expect(onNodes.filter(({ subresource }) => subresource === 'status')).toHaveLength(30);

  const findings = async (reason: string) => operator.metric('cadastre_findings', { reason });
  expect(await findings('DuplicateBlock')).toBe(5);
  expect(await findings('OverlappingBlocks')).toBe(5);
  expect(await findings('OutsidePools')).toBe(10);
  expect(await findings('ClaimRefused')).toBe(10);
  expect(operator.logged(({ reason }) => reason === 'MalformedHolding')).toHaveLength(5);
  expect(await operator.metric('cadastre_nodes_unserved', { reason: 'AdoptionIncomplete' })).toBe(
    5,
  );
  for (const { name, finding } of all) {
    if (finding === undefined) continue;
    const { status } = await cluster.node(name);
    const condition = status?.conditions?.find(({ type }) => type === 'CadastreBlocksAssigned');
    expect(condition, name).toMatchObject({ status: 'False' });
    expect(condition?.message, name).toContain(name);
  }
  const messageOf = async (name: string) => {
    const { status } = await cluster.node(name);
    return status?.conditions?.find(({ type }) => type === 'CadastreBlocksAssigned')?.message;
  };
  expect(await messageOf('node-0930')).toBe(
    'ipv4: 10.128.0.0/24 is held by node-0000 and by node-0930',
  );
  expect(await messageOf('node-0935')).toBe(
    'ipv4: 10.129.14.128/25 of node-0935 overlaps 10.129.14.0/24 of node-0135',
  );

  // Who starts again on all this writes nothing about nodes and blocks.
  await operator.stop();
  const quiet = cluster.requests.mark();
  const next = await cluster.leader(shortLease);
  await pause(3_000);
  expect(await next.metric('cadastre_findings')).toBe(30);
  const about = new Set(cluster.requests.ofOperators(quiet).map(({ resource }) => resource));
  expect(about.has('events')).toBe(true);
  expect([...about].filter((resource) => /^(node|ippool|cilium)/.test(resource))).toEqual([]);

  // A finding goes when its cause goes: the first owner leaves, the second is taken over.
  await cluster.retireNode('node-0000');
  await eventually(async () => {
    const held = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === 'node-0930');
    expect(held.map(({ spec }) => `${spec.cidr} ${spec.phase}`)).toEqual(['10.128.0.0/24 Active']);
    expect(await next.metric('cadastre_findings', { reason: 'DuplicateBlock' })).toBe(4);
  });
});

test('the incident: each of four nodes keeps the block its pods use, whatever Node.spec says', async () => {
  await cluster.createPool('site', { cidrs: ['10.5.112.0/21'], blockSize: { ipv4: 24 } });
  const site: Array<[string, string, string]> = [
    ['master1', '10.5.112.0/24', '10.5.113.0/24'],
    ['master2', '10.5.114.0/24', '10.5.115.0/24'],
    ['master3', '10.5.113.0/24', '10.5.114.0/24'],
    ['node1', '10.5.115.0/24', '10.5.112.0/24'],
  ];
  for (const [name, inSpec, used] of site) {
    await cluster.createNode(name, { podCIDRs: [inSpec] });
    await cluster.createCiliumNode(name, [used]);
  }
  await cluster.createNode('node2');
  const operator = await cluster.leader();
  const counted = await eventually(() => mustBeSound(cluster));
  expect(counted).toMatchObject({ nodes: 5, served: 5, active: 5 });
  const owners = new Map((await cluster.blocks()).map(({ spec }) => [spec.node?.name, spec.cidr]));
  for (const [name, , used] of site) expect(owners.get(name)).toBe(used);
  expect(owners.get('node2')).toBe('10.5.116.0/24');
  expect(await operator.metric('cadastre_findings', { reason: 'SourcesDisagree' })).toBe(4);
  const [event] = (await cluster.events()).filter((e) => e.involvedObject.name === 'master2');
  expect(event).toMatchObject({
    type: 'Warning',
    reason: 'SourcesDisagree',
    message: 'master2 has 10.5.115.0/24, but Node.spec.podCIDRs says 10.5.114.0/24',
  });
});

function nameOf(cidr: string): string {
  return cidr.replace(/[.:/]/g, '-');
}
