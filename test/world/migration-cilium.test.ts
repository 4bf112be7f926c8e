/**
 * Moving nodes whose pods are served by Cilium's own agents, which take another block
 * only when they start again: no address is ever on two pods, and the old block stays
 * its node's until nothing there uses it.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { runBuilt } from '../cli/built-command.ts';
import { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { FakeCiliumAgent, ownerOf } from './fake-cilium-agent.ts';

let cluster: Cluster;
let onCluster: string[];
let agents: FakeCiliumAgent[] = [];
const migrations = '/apis/cadastre.dev/v1alpha1/nodemigrations';
const pods = '/api/v1/namespaces/default/pods';

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
  await cluster.registerCiliumNodes();
  await FakeCiliumAgent.registerEndpoints(cluster);
  onCluster = ['--kubeconfig', cluster.api.kubeconfigPath];
  await cluster.call('POST', '/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
  });
}, 120_000);

afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.stop()));
  await cluster?.stop();
});

beforeEach(async () => {
  await Promise.all(agents.map((agent) => agent.stop()));
  agents = [];
  await cluster.wipe();
  for (const path of [pods, '/api/v1/namespaces/kube-system/pods', migrations]) {
    await cluster.must('DELETE', path);
  }
});

const blocks = async () =>
  (await cluster.blocks())
    .map(({ spec }) => `${spec.cidr} ${spec.node?.name} ${spec.phase}`)
    .sort();

async function createPod(name: string, nodeName: string): Promise<void> {
  const owner = await ownerOf(cluster, 'default', 'ReplicaSet', 'web');
  await cluster.must('POST', pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ownerReferences: [owner] },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'none' }],
    },
  });
}

function agentOn(
  node: string,
  nodeIp: string,
  mode: 'cluster-pool' | 'kubernetes',
): FakeCiliumAgent {
  const agent = new FakeCiliumAgent({ cluster, node, nodeIp, mode, daemonSets: ['logs'] }).play();
  agents.push(agent);
  return agent;
}

/** Looks all the time; what it saw is asked for at the end. */
function watchAddresses(): () => Promise<string[]> {
  const seen = new Set<string>();
  let isWatching = true;
  const loop = (async () => {
    while (isWatching) {
      const all = await cluster.list<{
        metadata: { name: string };
        spec: { nodeName?: string };
        status?: { podIP?: string };
      }>(pods);
      const by = new Map<string, string>();
      for (const { metadata, status, spec } of all) {
        if (status?.podIP === undefined) continue;
        const where = `${metadata.name} on ${spec.nodeName}`;
        const other = by.get(status.podIP);
        if (other !== undefined) seen.add(`${status.podIP}: ${other}, ${where}`);
        by.set(status.podIP, where);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return async () => {
    isWatching = false;
    await loop;
    return [...seen];
  };
}

const apply = (...more: string[]) =>
  runBuilt(['migrate', 'apply', 'n1', '--yes', ...more, ...onCluster]);

for (const mode of ['cluster-pool', 'kubernetes'] as const) {
  test(`mode ${mode}: n1 moves, and no address is on two pods`, async () => {
    const rack = (name: string, cidr: string) =>
      cluster.createPool(`rack-${name}`, {
        cidrs: [cidr],
        blockSize: { ipv4: 24 },
        nodeSelector: { matchLabels: { rack: name } },
        cooldownSeconds: 0,
      });
    await rack('1', '10.50.0.0/24');
    await rack('2', '10.60.0.0/16');
    await cluster.leader([mode === 'kubernetes' ? '--project=node-spec' : '--project=ciliumnode']);
    await cluster.createNode('n1', { labels: { rack: '1' }, addresses: ['192.168.0.7'] });
    await eventually(async () => expect(await blocks()).toEqual(['10.50.0.0/24 n1 Active']));
    const agent = agentOn('n1', '192.168.0.7', mode);
    await createPod('web', 'n1');
    await eventually(async () => {
      const found = await agent.addresses();
      expect(Object.values(found).filter((ip) => ip.startsWith('10.50.0.'))).toHaveLength(2);
    });
    const doubled = watchAddresses();
    await cluster.patchNode('n1', { metadata: { labels: { rack: '2' } } });
    await eventually(async () => {
      const { stdout } = await runBuilt(['migrate', 'plan', ...onCluster]);
      expect(stdout).toContain('restart-agent');
    });
    // Somebody waits for exactly the block that n1 leaves.
    await cluster.createNode('n4', { labels: { rack: '1' }, addresses: ['192.168.0.9'] });

    // Not allowed to restart the agent: it says what is needed, and nothing is let go.
    const asked = await apply('--no-restart-cilium-agent', '--timeout', '8');
    expect(asked.code).toBe(1);
    expect(asked.stderr).toContain('kubectl -n kube-system delete pod cilium-n1');
    expect(agent.starts).toBe(1);
    const between = await blocks();
    expect(between.filter((one) => one.includes(' n4 '))).toEqual([]);
    expect(between).toContain('10.60.0.0/24 n1 Active');
    // Also where the Node was made anew: the agent serves from it until it is restarted.
    await eventually(async () => expect(await blocks()).toContain('10.50.0.0/24 n1 Draining'));

    const applied = await apply();
    expect(applied.code, applied.stderr).toBe(0);
    expect(applied.stderr).toMatch(/n1: restart-agent: /);
    expect([agent.starts, agent.block]).toEqual([2, '10.60.0.0/24']);
    // The pod of the DaemonSet is another one, and has an address that leads here.
    const after = await agent.addresses();
    expect(Object.keys(after)).toEqual(['logs-n1']);
    expect(after['logs-n1']).toMatch(/^10\.60\.0\./);
    // Now that nobody uses it, and only now, the next one gets it.
    await eventually(async () => {
      expect(await blocks()).toEqual(['10.50.0.0/24 n4 Active', '10.60.0.0/24 n1 Active']);
    });
    const refused = await runBuilt(['migrate', 'undo', 'n1', '--yes', ...onCluster]);
    expect([refused.code, refused.stderr.match(/10\.50\.0\.0\/24 is of n4/)?.length]).toEqual([
      1, 1,
    ]);
    const { spec } = await cluster.must<{ spec: { phase: string } }>('GET', `${migrations}/n1`);
    expect(spec.phase).toBe('Moved');
    expect(await doubled()).toEqual([]);
  }, 240_000);
}

test('the way back: the agent starts again there too, and the node has its old block', async () => {
  await cluster.createPool('all', {
    cidrs: ['10.50.0.0/16'],
    blockSize: { ipv4: 24 },
    nodeSelector: { matchLabels: { rack: '1' } },
    cooldownSeconds: 0,
  });
  await cluster.createPool('other', {
    cidrs: ['10.60.0.0/16'],
    blockSize: { ipv4: 24 },
    nodeSelector: { matchLabels: { rack: '2' } },
    cooldownSeconds: 0,
  });
  await cluster.leader(['--project=ciliumnode']);
  await cluster.createNode('n1', { labels: { rack: '1' }, addresses: ['192.168.0.7'] });
  const agent = agentOn('n1', '192.168.0.7', 'cluster-pool');
  await eventually(async () => {
    expect((await agent.addresses())['logs-n1']).toMatch(/^10\.50\.0\./);
  });
  const doubled = watchAddresses();
  await cluster.patchNode('n1', { metadata: { labels: { rack: '2' } } });
  await eventually(async () => {
    const applied = await apply();
    expect(applied.stderr).toContain('n1: moved');
  });
  expect(agent.block).toBe('10.60.0.0/24');
  // The pools still want it elsewhere: only a record of the new Node can bring it back.
  const undone = await runBuilt(['migrate', 'undo', 'n1', '--yes', ...onCluster]);
  expect(undone.code, undone.stderr).toBe(0);
  expect([agent.starts, agent.block]).toEqual([3, '10.50.0.0/24']);
  expect((await agent.addresses())['logs-n1']).toMatch(/^10\.50\.0\./);
  // Nobody uses what it left, as undo has seen: it is free without anybody's word.
  await eventually(async () => expect(await blocks()).toEqual(['10.50.0.0/24 n1 Active']));
  const { metadata } = await cluster.must<{
    metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  }>('GET', '/api/v1/nodes/n1');
  expect([metadata.labels.rack, Object.keys(metadata.annotations ?? {})]).toEqual(['2', []]);
  // Nothing is left that would hold the next move.
  await eventually(async () => {
    const applied = await apply();
    expect(applied.stderr).toContain('n1: moved');
  });
  expect(agent.block).toMatch(/^10\.60\./);
  expect(await doubled()).toEqual([]);
}, 240_000);
