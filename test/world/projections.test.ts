/**
 * The register where others read. Each can be switched, none is ever
 * read as truth, and nobody who insists on another value is fought: said once,
 * then left alone for ever longer.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startControllerManager } from '../parts/controller-manager.ts';
import { mustBeSound } from './audit.ts';
import { Cluster, shortLease } from './cluster.ts';
import { eventually, pause } from './eventually.ts';
import { annotationKeys, type NodeObject, paths } from './objects.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
  await cluster.registerCiliumNodes();
});

afterEach(() => cluster.wipe());
afterAll(() => cluster?.stop());

const dual = {
  cidrs: ['10.50.0.0/20', 'fd00:50::/56'],
  blockSize: { ipv4: 24, ipv6: 64 },
};

async function blocksOf(node: string): Promise<string[]> {
  const held = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === node);
  // IPv4 first.
  return held.map(({ spec }) => spec.cidr).sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
}

function annotationsOf({ metadata }: NodeObject): string[] {
  return [...annotationKeys.ipv4, ...annotationKeys.ipv6].map(
    (key) => metadata.annotations?.[key] ?? '',
  );
}

async function eventsOf(node: string, reason: string) {
  const all = await cluster.events();
  return all.filter((event) => event.involvedObject.name === node && event.reason === reason);
}

/** Writes of operators to one node or its CiliumNode, since a mark. */
function writesTo(node: string, mark: number) {
  return cluster.requests
    .ofOperators(mark)
    .filter(({ name, resource }) => name === node && resource !== 'nodeblocks');
}

describe('each projection by itself', () => {
  const targets: Array<[string, string[]]> = [
    ['none', []],
    ['annotations', ['annotations']],
    ['node-spec', ['node-spec']],
    ['ciliumnode', ['ciliumnode']],
    ['annotations,node-spec,ciliumnode', ['annotations', 'node-spec', 'ciliumnode']],
  ];
  test.each(targets)('--project=%s writes that and nothing else', async (flag, on) => {
    await cluster.createPool('p', dual);
    const operator = await cluster.leader([`--project=${flag}`]);
    const mark = cluster.requests.mark();
    await cluster.createNode('n');
    await cluster.createCiliumNode('n', []);
    const expected = await eventually(async () => {
      const held = await blocksOf('n');
      expect(held).toHaveLength(2);
      const node = await cluster.node('n');
      const [v4, v6] = held as [string, string];
      const said = on.includes('annotations') ? [v4, v4, v6, v6] : ['', '', '', ''];
      expect(annotationsOf(node)).toEqual(said);
      expect(node.spec.podCIDRs).toEqual(on.includes('node-spec') ? held : undefined);
      const cilium = (await cluster.ciliumNodes()).map(({ spec }) => spec?.ipam?.podCIDRs);
      expect(cilium).toEqual(on.includes('ciliumnode') ? [held] : [[]]);
      return held;
    });
    expect(expected).toEqual(['10.50.0.0/24', 'fd00:50::/64']);
    await pause(500);
    // Both families in one patch, everything on the Node in one patch.
    const writes = writesTo('n', mark);
    const onNode = on.includes('annotations') || on.includes('node-spec') ? 1 : 0;
    expect(writes.filter(({ resource }) => resource === 'nodes')).toHaveLength(onNode);
    const onCilium = on.includes('ciliumnode') ? 1 : 0;
    expect(writes.filter(({ resource }) => resource === 'ciliumnodes')).toHaveLength(onCilium);
    expect(writes.filter(({ code }) => code >= 300)).toEqual([]);
    expect(await operator.stop()).toBe('exit 0');
  });

  test('a projection switched on later is made up for, and one switched off is left as it is', async () => {
    await cluster.createPool('p', dual);
    const first = await cluster.leader(['--project=annotations', ...shortLease]);
    await cluster.createNode('n');
    await eventually(() => mustBeSound(cluster));
    await first.stop();
    const second = await cluster.leader(['--project=node-spec', ...shortLease]);
    await eventually(async () => {
      expect((await cluster.node('n')).spec.podCIDRs).toEqual(['10.50.0.0/24', 'fd00:50::/64']);
    });
    await second.stop();
    expect(annotationsOf(await cluster.node('n'))[0]).toBe('10.50.0.0/24');
  });
});

describe('with kube-controller-manager in the same cluster', () => {
  test('what it has filled in first and differently is reported and never fought', async () => {
    await cluster.createPool('p', { cidrs: ['10.51.0.0/20'], blockSize: { ipv4: 24 } });
    const first = await cluster.leader(shortLease);
    await cluster.createNode('n');
    await eventually(() => mustBeSound(cluster));
    await first.stop();
    const kcm = await startControllerManager(cluster.api, {
      clusterCidrs: ['10.222.0.0/16'],
      maskIpv4: 24,
    });
    try {
      const filled = await eventually(async () => {
        const { podCIDRs } = (await cluster.node('n')).spec;
        expect(podCIDRs).toHaveLength(1);
        return podCIDRs![0]!;
      });
      expect(filled).toMatch(/^10\.222\./);
      const mark = cluster.requests.mark();
      const operator = await cluster.leader([
        '--project=annotations,node-spec',
        '--adopt-from=annotation,spec',
        ...shortLease,
      ]);
      const sentence = `Node.spec.podCIDRs of n is ${filled} and cannot be changed to 10.51.0.0/24 while the Node exists`;
      await eventually(async () => {
        expect(await eventsOf('n', 'ProjectionRefused')).toMatchObject([{ message: sentence }]);
        expect(await eventsOf('n', 'SourcesDisagree')).toMatchObject([
          {
            message: `n has 10.51.0.0/24, but Node.spec.podCIDRs says ${filled}`,
          },
        ]);
      });
      expect(await operator.metric('cadastre_findings', { reason: 'SourcesDisagree' })).toBe(1);
      // Poked, it still knows that there is nothing to be done.
      for (let i = 0; i < 5; i++) {
        await cluster.patchNode('n', { metadata: { labels: { poke: String(i) } } });
        await pause(150);
      }
      expect(writesTo('n', mark)).toEqual([]);
      expect((await cluster.node('n')).spec.podCIDRs).toEqual([filled]);
      expect(await blocksOf('n')).toEqual(['10.51.0.0/24']);

      // A node that both of them meet new: one of the two is first, and the other says so or agrees.
      await cluster.createNode('race');
      await eventually(async () => {
        const { spec } = await cluster.node('race');
        expect(spec.podCIDRs).toHaveLength(1);
        const [held] = await blocksOf('race');
        const agrees = spec.podCIDRs![0] === held;
        const isSaid = (await eventsOf('race', 'ProjectionRefused')).length > 0;
        const isRefused = (await eventsOf('race', 'OutsidePools')).length > 0;
        expect(agrees || isSaid || isRefused).toBe(true);
      });
    } finally {
      await kcm.stop();
    }
  });
});

describe('somebody who keeps on', () => {
  /** Undoes our word whenever it is there, as fast as it can, until told to stop. */
  function rival(undo: (node: NodeObject) => object | undefined) {
    let isOver = false;
    let undone = 0;
    const done = (async () => {
      while (!isOver) {
        const { status, body } = await cluster.call<NodeObject>('GET', `${paths.nodes}/n`);
        const patch = status === 200 ? undo(body) : undefined;
        if (patch !== undefined) {
          await cluster.call('PATCH', `${paths.nodes}/n`, patch);
          undone += 1;
        }
        await pause(10);
      }
    })();
    return async () => {
      isOver = true;
      await done;
      return undone;
    };
  }

  const key = annotationKeys.ipv4[0];
  const ours = '10.52.0.0/24';
  const rivals: Array<[string, string | null]> = [
    ['overwriting', '10.99.0.0/24'],
    ['removing', null],
  ];

  test.each(rivals)(
    '%s our annotation is reported and not fought in a hot loop',
    async (_, value) => {
      await cluster.createPool('p', { cidrs: ['10.52.0.0/20'], blockSize: { ipv4: 24 } });
      const operator = await cluster.leader();
      const mark = cluster.requests.mark();
      const stop = rival(({ metadata }) =>
        metadata.annotations?.[key] === ours
          ? { metadata: { annotations: { [key]: value } } }
          : undefined,
      );
      await cluster.createNode('n');
      await eventually(async () => {
        expect(await eventsOf('n', 'ProjectionContested')).toHaveLength(1);
      });
      await pause(1_500);
      const undone = await stop();
      // It was a real contest, and it was given up after a few rounds.
      expect(undone).toBeGreaterThanOrEqual(3);
      const writes = writesTo('n', mark).filter(({ resource }) => resource === 'nodes');
      expect(writes.length).toBeGreaterThanOrEqual(3);
      expect(writes.length).toBeLessThanOrEqual(6);
      expect(operator.logged(({ reason }) => reason === 'ProjectionContested').length).toBe(1);
      // The register has not moved, and others are served as ever.
      expect(await blocksOf('n')).toEqual([ours]);
      await cluster.createNode('other');
      await eventually(async () => expect(await blocksOf('other')).toHaveLength(1));
    },
  );

  test('who changes the CiliumNode again and again is treated the same', async () => {
    await cluster.createPool('p', { cidrs: ['10.52.0.0/20'], blockSize: { ipv4: 24 } });
    await cluster.leader(['--project=ciliumnode']);
    const mark = cluster.requests.mark();
    await cluster.createNode('n');
    await cluster.must('POST', paths.ciliumNodes, {
      apiVersion: 'cilium.io/v2',
      kind: 'CiliumNode',
      metadata: { name: 'n' },
      spec: {},
    });
    let undone = 0;
    const untilMs = performance.now() + 3_000;
    while (performance.now() < untilMs) {
      const path = `${paths.ciliumNodes}/n`;
      const { body } = await cluster.call<{ spec: { ipam?: { podCIDRs?: string[] } } }>(
        'GET',
        path,
      );
      if (body.spec.ipam?.podCIDRs?.[0] === ours) {
        await cluster.must('PATCH', path, { spec: { ipam: { podCIDRs: ['10.99.0.0/24'] } } });
        undone += 1;
      }
      await pause(10);
    }
    expect(undone).toBeGreaterThanOrEqual(3);
    expect(writesTo('n', mark).length).toBeLessThanOrEqual(6);
    expect(await eventsOf('n', 'ProjectionContested')).toHaveLength(1);
  });
});
