/**
 * The first story a user lives through: three pools by label, an operator, and
 * every node has exactly one correct block per family. Then everything that
 * people do to pools and labels, without ever restarting the operator.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { mustBeSound } from './audit.ts';
import { Cluster } from './cluster.ts';
import { eventually, inParallel, pause } from './eventually.ts';
import type { ConditionObject, PoolObject } from './objects.ts';
import { paths } from './objects.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
});

afterEach(() => cluster.wipe());
afterAll(() => cluster?.stop());

const rack = (name: string) => ({ nodeSelector: { matchLabels: { rack: name } } });
const onNode = 'CadastreBlocksAssigned';

async function conditionOf(node: string): Promise<ConditionObject | undefined> {
  const { status } = await cluster.node(node);
  return status?.conditions?.find(({ type }) => type === onNode);
}

async function poolCondition(name: string, type: string): Promise<ConditionObject | undefined> {
  return (await cluster.pool(name)).status?.conditions?.find((c) => c.type === type);
}

async function blocksOf(node: string): Promise<string[]> {
  const held = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === node);
  return held.map(({ spec }) => `${spec.cidr} ${spec.pool} ${spec.phase}`);
}

function eventsOf(node: string) {
  return cluster.events().then((all) => all.filter((event) => event.involvedObject.name === node));
}

describe('a fresh cluster', () => {
  test('three pools, and every node has one correct block per family', async () => {
    await cluster.createPool('rack-83', {
      cidrs: ['10.83.0.0/16'],
      blockSize: { ipv4: 24 },
      ...rack('83'),
    });
    await cluster.createPool('rack-94', {
      cidrs: ['10.94.0.0/17', 'fd00:94::/48'],
      blockSize: { ipv4: 25, ipv6: 64 },
      nodeSelector: { matchExpressions: [{ key: 'rack', operator: 'In', values: ['94', '95'] }] },
    });
    await cluster.createPool('others', { cidrs: ['10.1.0.0/16'], blockSize: { ipv4: 24 } });
    const start = cluster.requests.mark();
    const operator = await cluster.leader();
    const racks = ['83', '94', '95', '7'];
    const names = Array.from({ length: 120 }, (_, at) => `node-${at}`);
    await inParallel(names, 16, (name) =>
      cluster.createNode(name, {
        labels: { rack: racks[Number(name.slice(5)) % racks.length]! },
        annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
      }),
    );
    const counted = await eventually(() => mustBeSound(cluster));
    expect(counted).toMatchObject({ nodes: 120, served: 120, active: 180, annotations: 360 });

    // Two writes and no read for a node: its block (one per family) and the annotations.
    const writes = cluster.requests.ofOperators(start);
    const kinds = writes.map(({ verb, resource, subresource }) => [verb, resource, subresource]);
    expect(kinds.filter(([, resource]) => resource === 'nodeblocks')).toHaveLength(180);
    expect(kinds.filter(([, resource]) => resource === 'nodes')).toHaveLength(120);
    expect(writes.filter(({ code, resource }) => code >= 300 && resource !== 'ippools')).toEqual(
      [],
    );
    expect(await operator.metric('cadastre_decisions_total', { reason: 'Assigned' })).toBe(180);
    expect(await operator.metric('cadastre_nodes_unserved')).toBe(0);

    const table = await cluster.kubectl(['get', 'ippools']);
    expect(table.stdout.split('\n')[0]).toMatch(
      /^NAME +CIDRS +ASSIGNED +FREE +CAPACITY +READY +AGE$/,
    );
    expect(table.stdout).toMatch(/^rack-94 +\["10.94.0.0\/17","fd00:94::\/48"\] +60 +196 +256 /m);
    const wide = await cluster.kubectl(['get', 'ipp', 'rack-83', '-o', 'wide']);
    expect(wide.stdout).toMatch(/COOLING +AWAITING RELEASE +PRIORITY +READY/);
    const blocks = await cluster.kubectl(['get', 'nb']);
    expect(blocks.stdout.split('\n')[0]).toMatch(/^NAME +CIDR +POOL +NODE +PHASE +AGE$/);
    expect(blocks.stdout).toMatch(/^10-83-0-0-24 +10\.83\.0\.0\/24 +rack-83 +node-\d+ +Active /m);
    expect(blocks.stdout).toMatch(/^fd00-94---64 +fd00:94::\/64 +rack-94 +node-\d+ +Active /m);
    const category = await cluster.kubectl(['get', 'cadastre', '-o', 'name']);
    expect(category.stdout.match(/nodeblock/g)).toHaveLength(180);
    const { status, metadata } = await cluster.pool('rack-83');
    for (const condition of status?.conditions ?? []) {
      expect(condition.observedGeneration).toBe(metadata.generation);
    }
    expect(status?.conditions?.map((c) => [c.type, c.status, c.reason])).toEqual([
      ['Ready', 'True', 'PoolReady'],
      ['Exhausted', 'False', 'HasFreeBlocks'],
      ['Conflict', 'False', 'NoConflict'],
    ]);

    // Settled means silent: whoever has what it should costs nothing more.
    const mark = cluster.requests.mark();
    await pause(3_000);
    expect(cluster.requests.ofOperators(mark)).toEqual([]);
    const ready = await operator.get('/readyz');
    expect(ready.status).toBe(200);
    expect((await operator.get('/livez')).status).toBe(200);
    const decisions = operator.logged(({ reason }) => reason === 'Assigned');
    expect(decisions).toHaveLength(180);
    expect(decisions[0]).toMatchObject({
      node: expect.stringMatching(/^node-/),
      block: expect.any(String),
      pool: expect.any(String),
    });
  });

  test('a node that no pool selects is told why, and served once it is relabelled or a pool appears', async () => {
    await cluster.createPool('rack-83', {
      cidrs: ['10.83.0.0/22'],
      blockSize: { ipv4: 24 },
      ...rack('83'),
    });
    const operator = await cluster.leader();
    await cluster.createNode('lost', { labels: { rack: '1' } });
    await cluster.createNode('later', { labels: { rack: '2' } });
    await eventually(async () => {
      expect(await conditionOf('lost')).toMatchObject({
        status: 'False',
        reason: 'NoPoolSelectsNode',
        message: 'ipv4: no pool selects lost with labels rack=1',
      });
      const [event] = await eventsOf('lost');
      expect(event).toMatchObject({
        type: 'Warning',
        reason: 'NoPoolSelectsNode',
        message: 'no pool selects lost with labels rack=1',
      });
      const unserved = { reason: 'NoPoolSelectsNode' };
      expect(await operator.metric('cadastre_nodes_unserved', unserved)).toBe(2);
    });
    const described = await cluster.kubectl(['describe', 'node', 'lost']);
    expect(described.stdout).toMatch(/CadastreBlocksAssigned +False .*NoPoolSelectsNode/);
    expect(described.stdout).toMatch(/Warning +NoPoolSelectsNode .*cadastre-operator/);

    await cluster.patchNode('lost', { metadata: { labels: { rack: '83' } } });
    await eventually(async () => {
      expect(await blocksOf('lost')).toEqual(['10.83.0.0/24 rack-83 Active']);
      expect(await conditionOf('lost')).toMatchObject({ status: 'True', reason: 'BlocksAssigned' });
    });
    await cluster.createPool('rack-2', {
      cidrs: ['10.2.0.0/22'],
      blockSize: { ipv4: 24 },
      ...rack('2'),
    });
    await eventually(async () => {
      expect(await blocksOf('later')).toEqual(['10.2.0.0/24 rack-2 Active']);
      expect(await operator.metric('cadastre_nodes_unserved')).toBe(0);
      const reasons = (await eventsOf('later')).map(({ type, reason }) => `${type} ${reason}`);
      expect(reasons).toContain('Normal BlocksAssigned');
    });
    await eventually(() => mustBeSound(cluster));
  });

  test('a full pool falls through to the next; with no next the node waits until the pool grows', async () => {
    const small = { cidrs: ['10.40.0.0/23'], blockSize: { ipv4: 24 }, ...rack('4') };
    await cluster.createPool('first', { ...small, priority: 10 });
    await cluster.createPool('second', { ...small, cidrs: ['10.41.0.0/24'] });
    const operator = await cluster.leader();
    for (const name of ['a', 'b', 'c', 'd']) {
      await cluster.createNode(name, { labels: { rack: '4' } });
    }
    await eventually(async () => {
      const pools = (await cluster.blocks()).map(({ spec }) => spec.pool).sort();
      expect(pools).toEqual(['first', 'first', 'second']);
      expect(await operator.metric('cadastre_nodes_unserved', { reason: 'PoolExhausted' })).toBe(1);
      expect(await poolCondition('first', 'Exhausted')).toMatchObject({
        status: 'True',
        reason: 'Exhausted',
        message: 'no free ipv4 block left',
      });
    });
    const waiting = (await cluster.nodes()).find(({ status }) =>
      status?.conditions?.some(({ type }) => type === onNode),
    )!;
    const { name } = waiting.metadata;
    expect(await conditionOf(name)).toMatchObject({
      status: 'False',
      reason: 'PoolExhausted',
      message: 'ipv4: pool first has no free ipv4 block; pool second has no free ipv4 block',
    });
    const grown = await cluster.patchPool('first', { cidrs: ['10.40.0.0/23', '10.42.0.0/23'] });
    expect(grown.status).toBe(200);
    await eventually(async () => {
      expect(await blocksOf(name)).toEqual(['10.42.0.0/24 first Active']);
      expect(await conditionOf(name)).toMatchObject({ status: 'True' });
      const { status } = await cluster.pool('first');
      expect(status).toMatchObject({ capacity: 4, assigned: 3, free: 1, observedGeneration: 2 });
    });
    expect(await poolCondition('first', 'Exhausted')).toMatchObject({
      status: 'False',
      observedGeneration: 2,
    });
  });

  test('of two pools that overlap the younger serves nothing and names the other, until the older goes', async () => {
    await cluster.createPool('old', {
      cidrs: ['10.60.0.0/16'],
      blockSize: { ipv4: 24 },
      cooldownSeconds: 0,
      ...rack('old'),
    });
    await cluster.leader();
    await cluster.createNode('settled', { labels: { rack: 'old' } });
    await eventually(async () => expect(await blocksOf('settled')).toHaveLength(1));
    // Seniority is by creation time, which the API server gives in whole seconds.
    await pause(1_100);
    await cluster.createPool('young', {
      cidrs: ['10.60.128.0/17'],
      blockSize: { ipv4: 24 },
      ...rack('young'),
    });
    await cluster.createNode('eager', { labels: { rack: 'young' } });
    const sentence = '10.60.128.0/17 of pool young overlaps 10.60.0.0/16 of pool old';
    await eventually(async () => {
      for (const type of ['Conflict', 'Ready']) {
        expect(await poolCondition('young', type)).toMatchObject({
          status: type === 'Ready' ? 'False' : 'True',
          reason: 'OverlappingPools',
          message: sentence,
        });
      }
      expect(await poolCondition('old', 'Conflict')).toMatchObject({ status: 'False' });
      expect(await conditionOf('eager')).toMatchObject({
        reason: 'OverlappingPools',
        message: `ipv4: ${sentence}`,
      });
    });
    expect(await blocksOf('eager')).toEqual([]);

    await cluster.retireNode('settled');
    await cluster.must('DELETE', `${paths.pools}/old`);
    await eventually(async () => {
      expect(await blocksOf('eager')).toEqual(['10.60.128.0/24 young Active']);
      expect(await poolCondition('young', 'Conflict')).toMatchObject({ status: 'False' });
      expect((await cluster.pools()).map(({ metadata }) => metadata.name)).toEqual(['young']);
    });
    await eventually(() => mustBeSound(cluster));
  });

  test('a pool over the Service network serves nothing; over a node address it leaves out the block around that', async () => {
    await cluster.createPool('services', { cidrs: ['10.96.0.0/12'], blockSize: { ipv4: 24 } });
    await cluster.createPool('hosts', {
      cidrs: ['192.168.0.0/16'],
      blockSize: { ipv4: 24 },
      ...rack('h'),
    });
    await cluster.leader();
    await cluster.createNode('n', { labels: { rack: 'h' }, addresses: ['192.168.0.9'] });
    await eventually(async () => {
      expect(await poolCondition('services', 'Conflict')).toMatchObject({
        status: 'True',
        reason: 'OverlapsNetwork',
        message: expect.stringMatching(
          /^10\.96\.0\.0\/12 of pool services overlaps 10\.96\.0\.0\/16 of the Service network/,
        ),
      });
      expect(await poolCondition('hosts', 'Conflict')).toMatchObject({ status: 'False' });
      expect(await blocksOf('n')).toEqual(['192.168.1.0/24 hosts Active']);
      const [event] = await eventsOf('n');
      expect(event).toMatchObject({
        reason: 'OverlapsNetwork',
        message: expect.stringContaining(
          'the block around it, 192.168.0.0/24, is given to no node',
        ),
      });
    });
  });

  test('a node that claims all of 10.0.0.0/8 stops no pool', async () => {
    await cluster.createPool('p', { cidrs: ['10.72.0.0/22'], blockSize: { ipv4: 24 } });
    await cluster.createNode('claimer', {
      annotations: { 'network.cilium.io/ipv4-pod-cidr': '10.0.0.0/8' },
    });
    await cluster.leader();
    await cluster.createNode('other');
    await eventually(async () => {
      expect(await blocksOf('other')).toEqual(['10.72.0.0/24 p Active']);
      expect(await conditionOf('claimer')).toMatchObject({ reason: 'ClaimRefused' });
      expect(await poolCondition('p', 'ClaimsRefused')).toMatchObject({ status: 'True' });
    });
  });

  test.each([
    '0.0.0.0/8',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '224.0.0.0/4',
    '126.0.0.0/7',
    'fe80::/48',
    'ff02::/48',
    '::/48',
  ])('a pool of %s is refused, for pods or for Services', async (cidr) => {
    const blockSize = cidr.includes(':') ? { ipv6: 64 } : { ipv4: 24 };
    await expect(cluster.createPool('special', { cidrs: [cidr], blockSize })).rejects.toThrow(
      /are refused: (these are not for pods|their blocks could not be named)/,
    );
  });

  test('a disabled pool serves nobody new and takes nothing away; reserved ranges are stepped over', async () => {
    await cluster.createPool('p', {
      cidrs: ['10.70.0.0/21'],
      blockSize: { ipv4: 24 },
      reserved: ['10.70.0.0/23', '10.70.3.128/25'],
    });
    const operator = await cluster.leader();
    await cluster.createNode('one');
    await eventually(async () => expect(await blocksOf('one')).toEqual(['10.70.2.0/24 p Active']));
    await cluster.patchPool('p', { disabled: true });
    await eventually(async () =>
      expect(await poolCondition('p', 'Ready')).toMatchObject({ reason: 'PoolDisabled' }),
    );
    await cluster.createNode('two');
    await eventually(async () =>
      expect(await conditionOf('two')).toMatchObject({ reason: 'PoolDisabled' }),
    );
    expect(await operator.metric('cadastre_nodes_unserved', { reason: 'PoolDisabled' })).toBe(1);
    expect(await blocksOf('one')).toEqual(['10.70.2.0/24 p Active']);
    expect((await cluster.node('one')).metadata.annotations).toMatchObject({
      'network.cilium.io/ipv4-pod-cidr': '10.70.2.0/24',
    });
    await cluster.patchPool('p', { disabled: false });
    await eventually(async () => expect(await blocksOf('two')).toEqual(['10.70.4.0/24 p Active']));
    await eventually(() => mustBeSound(cluster));
  });

  test('a pool in use that is deleted stays until its last block is free', async () => {
    await cluster.createPool('p', {
      cidrs: ['10.71.0.0/22'],
      blockSize: { ipv4: 24 },
      cooldownSeconds: 2,
    });
    await cluster.leader();
    await cluster.createNode('one');
    await eventually(async () => expect(await blocksOf('one')).toHaveLength(1));
    expect((await cluster.pool('p')).metadata.finalizers).toEqual(['cadastre.dev/blocks-in-use']);
    await cluster.must('DELETE', `${paths.pools}/p`);
    await eventually(async () => {
      const pool = await cluster.pool('p');
      expect(pool.metadata.deletionTimestamp).toBeDefined();
      expect(await poolCondition('p', 'Ready')).toMatchObject({
        status: 'False',
        reason: 'PoolInUse',
        message: 'being deleted; 1 blocks are still held',
      });
    });
    await cluster.createNode('two');
    await eventually(async () =>
      expect(await conditionOf('two')).toMatchObject({ reason: 'PoolDisabled' }),
    );
    expect(await blocksOf('one')).toEqual(['10.71.0.0/24 p Active']);
    await cluster.retireNode('one');
    await eventually(async () => {
      expect(await blocksOf('one')).toEqual(['10.71.0.0/24 p Cooling']);
    });
    expect((await cluster.pools()).length).toBe(1);
    await eventually(async () => {
      expect(await cluster.pools()).toEqual([]);
      expect(await cluster.blocks()).toEqual([]);
    });
    await eventually(async () =>
      expect(await conditionOf('two')).toMatchObject({ reason: 'NoPoolSelectsNode' }),
    );
  });
});

describe('what the API server itself refuses', () => {
  const apply = async (spec: object, name = 'bad') => {
    const answer = await cluster.call<{ message: string }>('POST', paths.pools, {
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'IPPool',
      metadata: { name },
      spec,
    });
    return `${answer.status} ${answer.body.message ?? ''}`;
  };

  test('a malformed pool, with the place and the value', async () => {
    const size = { blockSize: { ipv4: 24 } };
    expect(await apply({ cidrs: ['10.5.113.7/24'], ...size })).toMatch(
      /^422 .*spec\.cidrs\[0\]: .*"10\.5\.113\.7\/24" is not canonical, or has host bits set/,
    );
    expect(await apply({ cidrs: ['10.5.0.0/33'], ...size })).toMatch(
      /^422 .*"10\.5\.0\.0\/33" is not an IPv4 or IPv6 CIDR/,
    );
    expect(await apply({ cidrs: ['10.5.0.0/25'], ...size })).toMatch(
      /^422 .*blockSize\.ipv4 must be given for the ipv4 cidrs and be no larger than any of them/,
    );
    expect(await apply({ cidrs: ['fd00::/48'], ...size })).toMatch(
      /^422 .*blockSize\.ipv6 must be given for the ipv6 cidrs/,
    );
    expect(await apply({ cidrs: ['10.0.0.0/8', '10.5.0.0/16'], ...size })).toMatch(
      /^422 .*cidrs overlap each other/,
    );
    expect(await apply({ cidrs: [], ...size })).toMatch(/^422 .*spec\.cidrs/);
    expect(await apply({ cidrs: ['10.5.0.0/16'], blockSize: { ipv4: 33 } })).toMatch(
      /^422 .*spec\.blockSize\.ipv4.*33/,
    );
    const nodeSelector = { matchExpressions: [{ key: 'rack', operator: 'In' }] };
    expect(await apply({ cidrs: ['10.5.0.0/16'], ...size, nodeSelector })).toMatch(
      /^422 .*In and NotIn need values/,
    );
    expect(await cluster.pools()).toEqual([]);
    expect(await apply({ cidrs: ['10.5.0.0/16'], ...size }, 'good')).toMatch(/^201/);
  });

  test('another blockSize, and a CIDR in use that vanishes; one not in use may go', async () => {
    await cluster.createPool('p', {
      cidrs: ['10.72.0.0/24', '10.73.0.0/24'],
      blockSize: { ipv4: 24 },
    });
    await cluster.leader();
    await cluster.createNode('one');
    await eventually(async () =>
      expect((await cluster.pool('p')).status?.cidrs?.[0]).toMatchObject({ assigned: 1 }),
    );
    const said = ({ status, body }: { status: number; body: PoolObject | { message: string } }) =>
      `${status} ${'message' in body ? body.message : ''}`;
    expect(said(await cluster.patchPool('p', { blockSize: { ipv4: 25 } }))).toMatch(
      /^422 .*blockSize is fixed; make a new pool for another size/,
    );
    expect(said(await cluster.patchPool('p', { cidrs: ['10.73.0.0/24'] }))).toMatch(
      /^422 .*cidrs that nodes hold blocks of may not be taken out of the pool/,
    );
    expect(said(await cluster.patchPool('p', { cidrs: ['10.72.0.0/24'] }))).toMatch(/^200/);
    expect(said(await cluster.patchPool('p', { cidrs: ['10.72.0.0/20'] }))).toMatch(/^200/);
    expect(await blocksOf('one')).toEqual(['10.72.0.0/24 p Active']);
  });

  test('a NodeBlock under another name than its CIDR, or handed from node to node', async () => {
    const create = async (name: string, spec: object) => {
      const answer = await cluster.call<{ message: string }>('POST', paths.blocks, {
        apiVersion: 'cadastre.dev/v1alpha1',
        kind: 'NodeBlock',
        metadata: { name },
        spec,
      });
      return `${answer.status} ${answer.body.message ?? ''}`;
    };
    const spec = { cidr: '10.9.0.0/24', pool: 'p', node: { name: 'a', uid: 'u' } };
    expect(await create('mine', spec)).toMatch(/^422 .*a NodeBlock is named after its CIDR/);
    expect(await create('10-9-0-0-24', { ...spec, cidr: '10.9.0.1/24' })).toMatch(
      /^422 .*"10\.9\.0\.1\/24" is not canonical, or has host bits set/,
    );
    expect(await create('10-9-0-0-24', spec)).toMatch(/^201/);
    expect(await create('10-9-0-0-24', { ...spec, node: { name: 'b', uid: 'v' } })).toMatch(
      /^409 .*already exists/,
    );
    const patch = async (change: object) => {
      const path = `${paths.blocks}/10-9-0-0-24`;
      const answer = await cluster.call<{ message?: string }>('PATCH', path, { spec: change });
      return `${answer.status} ${answer.body.message ?? ''}`;
    };
    expect(await patch({ node: { name: 'b' } })).toMatch(
      /^422 .*a block never passes from one node to another/,
    );
    expect(await patch({ cidr: '10.8.0.0/24' })).toMatch(/^422 .*cidr is fixed/);
    expect(await patch({ phase: 'Cooling' })).toMatch(/^422 .*a Cooling block says since when/);
  });
});

// The last of the file: from here on the cluster has CiliumNodes.
test('an operator that is there before Cilium serves it as soon as it comes', async () => {
  await cluster.createNode('early');
  await cluster.operator(['--ipam=cluster-pool', '--cluster-pool-ipv4-cidr=10.71.0.0/16']);
  const [cidr] = await eventually(async () => {
    const held = (await cluster.blocks()).map(({ spec }) => spec.cidr);
    expect(held).toHaveLength(1);
    return held;
  });
  await cluster.registerCiliumNodes();
  await cluster.createCiliumNode('early', []);
  await eventually(async () => {
    const [cilium] = await cluster.ciliumNodes();
    expect(cilium?.spec?.ipam?.podCIDRs).toEqual([cidr]);
  });
});
