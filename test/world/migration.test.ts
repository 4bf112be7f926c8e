/**
 * Moving a running cluster to pools, node by node: what fits stays, who must move
 * moves, a crash between any two steps is gone on from, and all of it can be undone.
 */
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { repair } from '../../src/doctor/repair-driver.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kubeconfig.ts';
import { runBuilt } from '../cli/built-command.ts';
import { accountOf } from './account.ts';
import { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { ownerOf } from './fake-cilium-agent.ts';
import { cadastreProgram } from './operator-process.ts';

let cluster: Cluster;
let onCluster: string[];
const migrations = '/apis/cadastre.dev/v1alpha1/nodemigrations';
const reports = '/apis/cadastre.dev/v1alpha1/nodereports';
const annotation = 'network.cilium.io/ipv4-pod-cidr';

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
  await cluster.registerCiliumNodes();
  onCluster = ['--kubeconfig', cluster.api.kubeconfigPath];
  await cluster.call('POST', '/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
  });
}, 120_000);

afterAll(() => cluster?.stop());

beforeEach(async () => {
  await cluster.wipe();
  for (const { metadata } of await cluster.list<{ metadata: { name: string } }>(migrations)) {
    await cluster.must('DELETE', `${migrations}/${metadata.name}`);
  }
});

interface Plan {
  adopt: Array<{ node: string; blocks: Array<{ cidr: string }> }>;
  moves: Array<{ node: string; from: string[]; method: string; to: Array<{ cidr: string }> }>;
  refused: unknown[];
}

async function planNow(): Promise<Plan> {
  const { stdout } = await runBuilt(['migrate', 'plan', ...onCluster, '-o', 'json']);
  return JSON.parse(stdout) as Plan;
}

async function createPod(name: string, nodeName: string, isBare = false): Promise<void> {
  const owner = await ownerOf(cluster, 'default', 'ReplicaSet', 'rs');
  await cluster.must('POST', '/api/v1/namespaces/default/pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...(isBare ? {} : { ownerReferences: [owner] }) },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'none' }],
    },
  });
}

interface Whole {
  metadata: { uid: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: { podCIDRs?: string[]; unschedulable?: boolean };
}

async function ciliumBlocks(name: string): Promise<string[] | undefined> {
  const found = (await cluster.ciliumNodes()).find(({ metadata }) => metadata.name === name);
  return found?.spec?.ipam?.podCIDRs;
}

const wholeNode = async (name: string) => (await cluster.node(name)) as unknown as Whole;

async function blocksOf(node: string, phase = 'Active'): Promise<string[]> {
  return (await cluster.blocks())
    .filter(({ spec }) => spec.node?.name === node && spec.phase === phase)
    .map(({ spec }) => spec.cidr);
}

test('from podCIDRs of kube-controller-manager: what fits is adopted, the other moves, and can go back', async () => {
  const rack = { rack: '83' };
  await cluster.createNode('fits', { labels: rack, podCIDRs: ['10.83.0.0/24'] });
  await cluster.createNode('strays', {
    labels: { ...rack, keep: 'me' },
    podCIDRs: ['10.99.0.0/24'],
    addresses: ['192.168.0.7'],
  });
  await cluster.createCiliumNode('strays', ['10.99.0.0/24']);
  await createPod('lodger', 'strays');
  await cluster.createPool('rack-83', {
    cidrs: ['10.83.0.0/16'],
    blockSize: { ipv4: 24 },
    nodeSelector: { matchLabels: rack },
    cooldownSeconds: 0,
  });
  const plan = await planNow();
  expect(plan.adopt.map(({ node }) => node)).toEqual(['fits']);
  expect(plan.moves).toMatchObject([
    { node: 'strays', from: ['10.99.0.0/24'], method: 'recreate', to: [{ cidr: '10.83.1.0/24' }] },
  ]);
  await cluster.leader(['--project=annotations,ciliumnode']);
  await eventually(async () => expect(await blocksOf('fits')).toEqual(['10.83.0.0/24']));
  const before = await wholeNode('strays');
  const unasked = await runBuilt(['migrate', 'apply', 'strays', ...onCluster]);
  expect([unasked.code, unasked.stderr.match(/Add --yes/)?.[0]]).toEqual([2, 'Add --yes']);
  expect((await wholeNode('strays')).spec.unschedulable).toBeUndefined();

  const applied = await runBuilt(['migrate', 'apply', 'strays', '--yes', ...onCluster]);
  expect(applied.code, applied.stderr).toBe(0);
  const after = await wholeNode('strays');
  expect(after.metadata.uid).not.toBe(before.metadata.uid);
  expect(after.metadata.labels).toMatchObject({ rack: '83', keep: 'me' });
  expect(after.metadata.annotations?.[annotation]).toBe('10.83.1.0/24');
  expect(after.spec).toEqual(expect.not.objectContaining({ unschedulable: true }));
  expect(after.spec.podCIDRs).toBeUndefined();
  expect(await blocksOf('strays')).toEqual(['10.83.1.0/24']);
  await eventually(async () => expect(await ciliumBlocks('strays')).toEqual(['10.83.1.0/24']));
  expect(await cluster.list('/api/v1/namespaces/default/pods')).toEqual([]);
  expect((await planNow()).moves).toEqual([]);
  const status = await runBuilt(['migrate', 'status', ...onCluster]);
  expect(status.stdout).toMatch(/strays +Moved +10\.99\.0\.0\/24 +10\.83\.1\.0\/24/);
  const again = await runBuilt(['migrate', 'apply', 'strays', '--yes', ...onCluster]);
  expect([again.code, again.stderr]).toEqual([0, 'strays does not have to move.\n']);

  const undone = await runBuilt(['migrate', 'undo', 'strays', '--yes', ...onCluster]);
  expect(undone.code, undone.stderr).toBe(0);
  const back = await wholeNode('strays');
  expect(back.spec.podCIDRs).toEqual(['10.99.0.0/24']);
  expect(back.spec.unschedulable).toBeUndefined();
  expect(await blocksOf('strays')).toEqual([]);
  // Nobody uses what it leaves, as undo has seen: it awaits nobody's word.
  await eventually(async () => expect(await blocksOf('strays', 'Cooling')).toEqual([]));
  expect(await ciliumBlocks('strays')).toEqual(['10.99.0.0/24']);
  expect((await planNow()).moves.map(({ node }) => node)).toEqual(['strays']);
}, 180_000);

interface ShadowReport {
  intentions: Array<{ action: string; node: string; cidr: string }>;
}

test('shadow mode says what the operator then does, may only look, and writes nothing', async () => {
  const kubeconfigPath = await accountOf(cluster, 'deploy/shadow.yaml', 'cadastre-shadow');
  await cluster.createPool('p', { cidrs: ['10.1.0.0/22'], blockSize: { ipv4: 24 } });
  await cluster.createNode('held', { podCIDRs: ['10.1.2.0/24'] });
  await cluster.createCiliumNode('held', ['10.1.2.0/24']);
  await cluster.createNode('strays', { podCIDRs: ['10.9.0.0/24'] });
  const mark = cluster.requests.mark();
  const shadow = await cluster.operator(['--shadow'], { kubeconfigPath });
  await shadow.whenSynced();
  await cluster.createNode('new');
  const seen = await eventually(async () => {
    const report = JSON.parse((await shadow.get('/shadow')).text) as ShadowReport;
    expect(report.intentions.map(({ node }) => node)).toContain('new');
    return report.intentions.map(({ action, node, cidr }) => `${action} ${node} ${cidr}`);
  });
  expect(seen.sort()).toEqual([
    'adopt held 10.1.2.0/24',
    'assign new 10.1.0.0/24',
    'project held 10.1.2.0/24',
    'project new 10.1.0.0/24',
    'refuse strays ',
  ]);
  expect(await shadow.metric('cadastre_shadow_intentions', { action: 'project' })).toBe(2);
  expect(
    cluster.requests.since(mark).filter(({ userAgent }) => userAgent.startsWith('cadastre')),
  ).toEqual([]);
  expect(shadow.logged(({ level }) => level === 'error' || level === 'warn')).toEqual([]);

  await cluster.leader();
  await eventually(async () => {
    expect([await blocksOf('held'), await blocksOf('new'), await blocksOf('strays')]).toEqual([
      ['10.1.2.0/24'],
      ['10.1.0.0/24'],
      [],
    ]);
    const report = JSON.parse((await shadow.get('/shadow')).text) as ShadowReport;
    expect(report.intentions.map(({ action, node }) => `${action} ${node}`)).toEqual([
      'refuse strays',
    ]);
  });
  await shadow.whenLogged(({ msg }) => msg === 'no longer would assign 10.1.0.0/24', 'no longer');
}, 120_000);

test('what stays wrong is said on the node, in an Event and by a metric, and taken back when it is cured', async () => {
  await cluster.createPool('p', { cidrs: ['10.1.0.0/22'], blockSize: { ipv4: 24 } });
  const operator = await cluster.leader(['--drift-every=0.5']);
  const { metadata } = await cluster.createNode('mute', { addresses: ['192.168.0.7'] });
  await eventually(async () => expect(await blocksOf('mute')).toEqual(['10.1.0.0/24']));
  await cluster.must('POST', reports, {
    apiVersion: 'cadastre.dev/v1alpha1',
    kind: 'NodeReport',
    metadata: { name: 'mute' },
    spec: { nodeUID: metadata.uid },
  });
  const tell = (announced: object[]) =>
    cluster.must('PATCH', `${reports}/mute/status`, {
      status: {
        blocks: [{ cidr: '10.1.0.0/24', pods: 1 }],
        sessions: [{ peer: 'tor1', address: '192.168.0.1', state: 'Established', announced }],
      },
    });
  const drift = async () =>
    (await cluster.node('mute')).status?.conditions?.find(({ type }) => type === 'CadastreDrift');
  await tell([]);
  await eventually(async () => {
    expect(await drift()).toMatchObject({ status: 'True', reason: 'NotAnnounced' });
    const events = await cluster.events();
    expect(events.map(({ reason }) => reason)).toContain('NotAnnounced');
  });
  expect(await operator.metric('cadastre_drift_findings', { reason: 'NotAnnounced' })).toBe(1);
  await tell([{ prefix: '10.1.0.0/24', nextHop: '192.168.0.7' }]);
  await eventually(async () => {
    expect(await drift()).toMatchObject({ status: 'False', reason: 'NoDrift' });
  });
  expect(await operator.metric('cadastre_drift_findings')).toBe(0);
  // Nothing changes: nothing is compared or written.
  const mark = cluster.requests.mark();
  const passes = await operator.metric('cadastre_drift_pass_seconds');
  expect(passes).toBeGreaterThan(0);
  await cluster.createNode('second');
  await eventually(async () => expect(await blocksOf('second')).toHaveLength(1));
  const onNodes = cluster.requests
    .ofOperators(mark)
    .filter(({ resource, subresource }) => resource === 'nodes' && subresource === 'status');
  expect(onNodes).toEqual([]);
}, 90_000);

test('doctor --fix does what is safe, step by step, and leaves what has changed since', async () => {
  await cluster.createPool('p', { cidrs: ['10.1.0.0/22'], blockSize: { ipv4: 24 } });
  const { metadata } = await cluster.createNode('a', {
    annotations: { [annotation]: '10.1.3.0/24' },
  });
  const block = (cidr: string, name: string, uid: string) =>
    cluster.must<{ metadata: { resourceVersion: string; uid: string } }>(
      'POST',
      '/apis/cadastre.dev/v1alpha1/nodeblocks',
      {
        apiVersion: 'cadastre.dev/v1alpha1',
        kind: 'NodeBlock',
        metadata: { name: cidr.replace(/[./]/g, '-') },
        spec: { cidr, pool: 'p', node: { name, uid } },
      },
    );
  await block('10.1.0.0/24', 'a', metadata.uid);
  const stranded = await block('10.1.1.0/24', 'gone', 'no-such-uid');
  await cluster.createCiliumNode('ghost', ['10.1.2.0/24']);

  const unasked = await runBuilt(['doctor', '--fix', ...onCluster]);
  expect([unasked.code, unasked.stderr.match(/Add --yes/)?.[0]]).toEqual([2, 'Add --yes']);
  const fixed = await runBuilt(['doctor', '--fix', '--yes', ...onCluster]);
  expect(fixed.stderr).toMatch(/3 of 3 steps done; 0 findings stay advice/);
  expect(fixed.code).toBe(0);
  expect((await wholeNode('a')).metadata.annotations?.[annotation]).toBe('10.1.0.0/24');
  expect(await blocksOf('gone', 'Cooling')).toEqual(['10.1.1.0/24']);
  expect(await cluster.ciliumNodes()).toEqual([]);
  const again = await runBuilt(['doctor', ...onCluster]);
  expect(again.code, again.stdout).toBe(0);

  // Decided on what is no longer so: nothing is written.
  const client = new KubeClient(await loadKubeConfig({ kubeconfig: cluster.api.kubeconfigPath }));
  try {
    const { uid, resourceVersion } = stranded.metadata;
    const about = { reason: 'StrandedBlock', prefix: '10.1.1.0/24', does: '', safe: '' } as const;
    const fence = { name: '10-1-1-0-24', uid, resourceVersion };
    const old = { ...about, node: 'gone', do: 'cool block', block: fence } as const;
    expect(await repair(client, old, Date.now())).toMatchObject({ kind: 'left' });
    const live = { ...about, node: 'a', do: 'cool block', block: fence } as const;
    expect(await repair(client, live, Date.now())).toMatchObject({
      kind: 'left',
      why: 'there is a Node a now',
    });
    const path = '/metadata/annotations/network.cilium.io~1ipv4-pod-cidr';
    const operations = [
      { op: 'test' as const, path, value: '10.1.3.0/24' },
      { op: 'add' as const, path, value: '10.1.1.0/24' },
    ];
    const stale = { ...about, node: 'a', do: 'correct annotations', operations } as const;
    expect(await repair(client, stale, Date.now())).toMatchObject({ kind: 'left' });
  } finally {
    await client.close();
  }
  expect(await blocksOf('gone', 'Cooling')).toEqual(['10.1.1.0/24']);
}, 90_000);

/** What an agent would do, as far as the register sees it: gives back what drains, tells what is its own. */
function playAgent(node: string): () => Promise<void> {
  let isPlaying = true;
  const play = async () => {
    const there = await cluster.call<Whole>('GET', `/api/v1/nodes/${node}`);
    if (there.status !== 200) return;
    const { uid, annotations } = there.body.metadata;
    const own = (await cluster.blocks()).filter(
      ({ spec }) => spec.node?.uid === uid && spec.phase !== 'Cooling',
    );
    const releases = own
      .filter(({ spec }) => spec.phase === 'Draining')
      .map(({ spec, metadata }) => ({ cidr: spec.cidr, uid: metadata.uid }));
    const spec = { nodeUID: uid, releases };
    const body = { apiVersion: 'cadastre.dev/v1alpha1', kind: 'NodeReport', spec };
    const written = await cluster.call('PATCH', `${reports}/${node}`, { spec });
    if (written.status === 404) {
      await cluster.must('POST', reports, { ...body, metadata: { name: node } });
    }
    const isLeaving = annotations?.['cadastre.dev/drain'] === 'true';
    const announced = isLeaving
      ? []
      : own.map((block) => ({ prefix: block.spec.cidr, nextHop: '192.168.0.7' }));
    await cluster.must('PATCH', `${reports}/${node}/status`, {
      status: {
        blocks: own.map((block) => ({ cidr: block.spec.cidr, pods: 0 })),
        sessions: [{ peer: 'tor1', address: '192.168.0.1', state: 'Established', announced }],
      },
    });
  };
  const loop = (async () => {
    while (isPlaying) {
      await play();
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  })();
  return async () => {
    isPlaying = false;
    await loop;
  };
}

/** Runs the command and kills it as soon as it says something new; undefined when it came to its end. */
async function killAtNextStep(args: string[], known: Set<string>): Promise<number | undefined> {
  const program = await cadastreProgram();
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  for await (const piece of child.stderr.setEncoding('utf8')) {
    text += piece;
    const [, step] = [...text.matchAll(/^moves: (\w+): /gm)].at(-1) ?? [];
    if (step !== undefined && !known.has(step)) {
      known.add(step);
      child.kill('SIGKILL');
    }
  }
  return child.exitCode === null && child.signalCode === null
    ? new Promise((resolve) => child.on('exit', (code) => resolve(code ?? undefined)))
    : (child.exitCode ?? undefined);
}

test('from another pool layout, with an agent, killed after every step: it arrives, and nothing is lost', async () => {
  const pool = (rack: string, cidr: string) =>
    cluster.createPool(`rack-${rack}`, {
      cidrs: [cidr],
      blockSize: { ipv4: 24 },
      nodeSelector: { matchLabels: { rack } },
      cooldownSeconds: 0,
    });
  await pool('1', '10.1.0.0/16');
  await pool('2', '10.2.0.0/16');
  await cluster.leader();
  await cluster.createNode('moves', { labels: { rack: '1' }, addresses: ['192.168.0.7'] });
  await eventually(async () => expect(await blocksOf('moves')).toEqual(['10.1.0.0/24']));
  const stopAgent = playAgent('moves');
  try {
    await eventually(async () => {
      await cluster.must('GET', `${reports}/moves`);
    });
    await cluster.patchNode('moves', { metadata: { labels: { rack: '2' } } });
    await eventually(async () => {
      expect((await planNow()).moves).toMatchObject([{ node: 'moves', method: 'release' }]);
    });
    const { uid } = (await wholeNode('moves')).metadata;
    const steps = new Set<string>();
    const args = ['migrate', 'apply', 'moves', '--yes', ...onCluster];
    let code: number | undefined;
    for (let turn = 0; turn < 15 && code === undefined; turn++) {
      code = await killAtNextStep(args, steps);
      expect((await wholeNode('moves')).metadata.uid).toBe(uid);
    }
    expect(code).toBe(0);
    expect([...steps]).toEqual(expect.arrayContaining(['release']));
    expect(await blocksOf('moves')).toEqual(['10.2.0.0/24']);
    const after = await wholeNode('moves');
    expect(after.spec.unschedulable).toBeUndefined();
    expect(after.metadata.annotations?.['cadastre.dev/drain']).toBeUndefined();
    expect(after.metadata.annotations?.[annotation]).toBe('10.2.0.0/24');

    const undone = await runBuilt(['migrate', 'undo', 'moves', '--yes', ...onCluster]);
    expect(undone.code, undone.stderr).toBe(0);
    expect(await blocksOf('moves')).toEqual(['10.1.0.0/24']);
  } finally {
    await stopAgent();
  }
}, 240_000);

test('a move is taken back before anything was let go, and the node is as it was', async () => {
  await cluster.createNode('strays', { podCIDRs: ['10.99.0.0/24'] });
  await createPod('guarded', 'strays');
  await cluster.must('PATCH', '/api/v1/namespaces/default/pods/guarded', {
    metadata: { labels: { app: 'g' }, finalizers: ['test.example/hold'] },
  });
  await cluster.createPool('p', { cidrs: ['10.1.0.0/16'], blockSize: { ipv4: 24 } });
  await cluster.leader();
  const before = await wholeNode('strays');
  const args = ['migrate', 'apply', 'strays', '--yes', '--timeout', '3', ...onCluster];
  // Nobody would start this one again: it is left alone, and said.
  await createPod('bare', 'strays', true);
  const stuck = await runBuilt(args);
  expect(stuck.code).toBe(1);
  expect(stuck.stderr).toContain('no controller would start default/bare again elsewhere');
  await cluster.must('DELETE', '/api/v1/namespaces/default/pods/bare');
  const late = await runBuilt(args);
  expect(late.code).toBe(1);
  expect(late.stderr).toMatch(
    /strays has not finished its move within 3 s; it waits at "evict: 1 pods/,
  );
  expect((await wholeNode('strays')).spec.unschedulable).toBe(true);
  const undone = await runBuilt(['migrate', 'undo', 'strays', '--yes', ...onCluster]);
  expect(undone.code, undone.stderr).toBe(0);
  const after = await wholeNode('strays');
  expect(after.metadata.uid).toBe(before.metadata.uid);
  expect(after.spec).toEqual(before.spec);
  await cluster.must('PATCH', '/api/v1/namespaces/default/pods/guarded', {
    metadata: { finalizers: null },
  });
}, 120_000);
