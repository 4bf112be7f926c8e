/** The register where others read: each switched by itself, and never fought over. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import { annotationKeys } from '../../test/world/objects.ts';
import { nodes } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/20', 'fd00:1::/60'],
    blockSize: { ipv4: 24, ipv6: 64 },
  });
});
afterEach(() => bench.end());

const held = ['10.1.0.0/24', 'fd00:1::/64'];
const aboutNodes = /^(nodes|ciliumnodes)$/;

async function projected(node: string) {
  const { metadata, spec } = await bench.node(node);
  const keys = [...annotationKeys.ipv4, ...annotationKeys.ipv6];
  const cilium = await bench.ciliumNodes().catch(() => []);
  return {
    annotations: keys.map((key) => metadata.annotations?.[key] ?? ''),
    nodeSpec: spec.podCIDRs,
    ciliumNode: cilium.find((one) => one.metadata.name === node)?.spec?.ipam?.podCIDRs,
  };
}

const all = {
  annotations: [held[0], held[0], held[1], held[1]],
  nodeSpec: held,
  ciliumNode: held,
};
const nothing = { annotations: ['', '', '', ''], nodeSpec: undefined, ciliumNode: undefined };

describe('each projection', () => {
  test.each([
    ['annotations', 'annotations', ['patch nodes n']],
    ['node-spec', 'nodeSpec', ['patch nodes n']],
    ['ciliumnode', 'ciliumNode', ['patch ciliumnodes n']],
  ] as const)('%s is one write, and no other is made', async (projection, which, writes) => {
    await bench.registerCiliumNodes();
    await bench.leader({ projections: [projection] });
    await bench.createNode('n');
    await bench.startCiliumOn('n');
    await eventually(async () => {
      expect(await projected('n')).toEqual({ ...nothing, [which]: all[which] });
    });
    expect(bench.writesAbout(aboutNodes)).toEqual(writes);
  });

  test('all of them: both families and both records of the Node in one patch', async () => {
    await bench.registerCiliumNodes();
    await bench.leader({ projections: ['annotations', 'node-spec', 'ciliumnode'] });
    await bench.createNode('n');
    await eventually(async () => expect(await bench.blocksOf('n')).toHaveLength(2));
    await bench.startCiliumOn('n');
    await eventually(async () => expect(await projected('n')).toEqual(all));
    expect(bench.writesAbout(aboutNodes)).toEqual(['patch nodes n', 'patch ciliumnodes n']);
  });

  test('of what is there already only the blocks are written, and the rest is left', async () => {
    await bench.registerCiliumNodes();
    await bench.createCiliumNode('n', []);
    await bench.leader({ projections: ['ciliumnode'] });
    await bench.createNode('n');
    await eventually(async () => expect((await projected('n')).ciliumNode).toEqual(held));
    expect((await bench.ciliumNodes())[0]?.spec).toMatchObject({ health: { ipv4: '10.200.0.9' } });
  });
});

test('CiliumNodes that come after the operator are read and written from then on', async () => {
  const operator = await bench.leader({ projections: ['ciliumnode'] });
  await bench.createNode('n');
  await eventually(async () => expect(await bench.blocksOf('n')).toHaveLength(2));
  expect(bench.writesAbout(aboutNodes)).toEqual([]);
  await bench.registerCiliumNodes();
  await bench.startCiliumOn('n');
  await eventually(async () => expect((await projected('n')).ciliumNode).toEqual(held));
  // And somebody's own that comes later still is adopted, not overwritten.
  await bench.createCiliumNode('later', ['10.1.9.0/24', 'fd00:1:0:9::/64']);
  await eventually(() =>
    expect(operator.operator.register.ciliumNodes.get('later')?.podCidrs).toHaveLength(2),
  );
  await bench.createNode('later');
  await eventually(async () =>
    expect(await bench.blocksOf('later')).toEqual(['10.1.9.0/24 Active', 'fd00:1:0:9::/64 Active']),
  );
});

test('what cannot be changed any more is reported, and not tried again and again', async () => {
  const first = await bench.leader();
  await bench.createNode('n');
  await eventually(async () => expect((await projected('n')).annotations).toEqual(all.annotations));
  await first.stop();
  await bench.patch(nodes, 'n', { spec: { podCIDR: '10.9.0.0/24', podCIDRs: ['10.9.0.0/24'] } });
  bench.writes.length = 0;
  await bench.leader({
    projections: ['annotations', 'node-spec'],
    sources: ['annotation', 'spec'],
  });
  const message = await eventually(async () => {
    const refused = (await bench.events('n')).filter(
      ({ reason }) => reason === 'ProjectionRefused',
    );
    expect(refused).toHaveLength(1);
    return refused[0]?.message;
  });
  expect(message).toContain('Node.spec.podCIDRs of n is 10.9.0.0/24 and cannot be changed');
  expect(bench.writesAbout(aboutNodes)).toEqual([]);
});

test('somebody who keeps undoing a record is reported, and then left alone', async () => {
  const operator = await bench.leader();
  await bench.createNode('n');
  const [key] = annotationKeys.ipv4;
  await eventually(async () => {
    const { annotations } = (await bench.node('n')).metadata;
    if (annotations?.[key] === held[0]) {
      await bench.patch(nodes, 'n', { metadata: { annotations: { [key]: null } } });
    }
    expect(operator.decided('ProjectionContested')).toHaveLength(1);
  });
  // Three times it was written; the fourth time waits ten seconds.
  expect(bench.writesAbout(aboutNodes)).toEqual(Array(3).fill('patch nodes n'));
  expect(await bench.blocksOf('n')).toHaveLength(2);
  await eventually(async () => {
    const [event] = await bench.events('n');
    expect(event).toMatchObject({ type: 'Warning', reason: 'ProjectionContested' });
  });
});

test('why a node lacks a block is in its CiliumNode, until it is served', async () => {
  await bench.registerCiliumNodes();
  const rules = { families: new Set(['ipv4'] as const), byDemand: false };
  await bench.leader({ projections: ['ciliumnode'], rules });
  await bench.createNode('n', { podCIDRs: ['10.3.0.0/24'] });
  await bench.startCiliumOn('n');
  const status = async () => {
    const [found] = await bench.ciliumNodes();
    return (found as { status?: { ipam?: Record<string, { error?: string }> } })?.status?.ipam;
  };
  await eventually(async () => {
    expect((await status())?.['operator-status']?.error).toContain(
      '10.3.0.0/24 of n lies in no pool',
    );
  });
  await bench.createPool('more', { cidrs: ['10.3.0.0/20'], blockSize: { ipv4: 24 } });
  await eventually(async () => {
    expect(await bench.blocksOf('n')).toContain('10.3.0.0/24 Active');
    expect((await status())?.['operator-status']).toBeUndefined();
  });
});
