/**
 * The modes beside ip-pool: cluster-pool and cluster-pool-v2 cut from flags and
 * write where Cilium reads; kubernetes allocates nothing. And everything that is
 * refused at the door, before anything is looked at.
 */
import { execFile } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Cluster, shortLease } from './cluster.ts';
import { eventually, pause } from './eventually.ts';
import { type BlockObject, paths } from './objects.ts';
import { cadastreProgram } from './operator-process.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
  await cluster.registerCiliumNodes();
});

afterEach(() => cluster.wipe());
afterAll(() => cluster?.stop());

async function blocksOf(node: string): Promise<string[]> {
  const held = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === node);
  return held.map(({ spec }) => `${spec.cidr} ${spec.phase}`).sort();
}

async function active(node: string): Promise<string[]> {
  const held = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === node);
  return held.filter(({ spec }) => spec.phase === 'Active').map(({ spec }) => spec.cidr);
}

async function onCiliumNode(node: string): Promise<string[] | undefined> {
  const found = (await cluster.ciliumNodes()).find(({ metadata }) => metadata.name === node);
  return found?.spec?.ipam?.podCIDRs;
}

async function reasonOn(node: string): Promise<string | undefined> {
  const { status } = await cluster.node(node);
  return status?.conditions?.find(({ type }) => type === 'CadastreBlocksAssigned')?.reason;
}

describe('cluster-pool', () => {
  const flags = (cidrs: string) => [
    '--ipam=cluster-pool',
    `--cluster-pool-ipv4-cidr=${cidrs}`,
    '--cluster-pool-ipv4-mask-size=26',
    '--cooldown-seconds=1',
    ...shortLease,
  ];

  test('the next CIDR serves when one is full, and a cluster grows by adding one', async () => {
    for (const name of ['n1', 'n2', 'n3', 'n4', 'n5']) await cluster.createNode(name);
    await cluster.createCiliumNode('n5', []);
    const first = await cluster.leader(flags('10.7.0.0/25,10.8.0.0/25'));
    await eventually(async () => {
      const held = (await cluster.blocks()).map(({ spec }) => spec.cidr).sort();
      expect(held).toEqual(['10.7.0.0/26', '10.7.0.64/26', '10.8.0.0/26', '10.8.0.64/26']);
      expect(await reasonOn('n5')).toBe('PoolExhausted');
    });
    expect(await active('n1')).toEqual(['10.7.0.0/26']);
    await eventually(async () => {
      const gauge = 'cadastre_pool_blocks_assigned';
      expect(await first.metric(gauge, { pool: 'cluster-pool' })).toBe(4);
      expect(await first.metric('cadastre_pool_blocks_free', { pool: 'cluster-pool' })).toBe(0);
    });
    expect(await first.stop()).toBe('exit 0');
    await cluster.leader(flags('10.7.0.0/25,10.8.0.0/25,10.9.0.0/25'));
    await eventually(async () => {
      expect(await active('n5')).toEqual(['10.9.0.0/26']);
      expect(await reasonOn('n5')).toBe('BlocksAssigned');
      expect(await onCiliumNode('n5')).toEqual(['10.9.0.0/26']);
    });
  });

  test('both families, on the CiliumNode that the agent made; none is made for a node without Cilium', async () => {
    const kept = await cluster.createCiliumNode('known', []);
    await cluster.createNode('known');
    await cluster.createNode('unknown');
    await cluster.leader([
      ...flags('10.7.0.0/24'),
      '--enable-ipv6',
      '--cluster-pool-ipv6-cidr=fd00:7::/120',
      '--cluster-pool-ipv6-mask-size=122',
    ]);
    const both = (name: string) => async () => {
      const held = await active(name);
      expect(held).toHaveLength(2);
      const expected = name === 'known' ? [...held].sort() : undefined;
      expect((await onCiliumNode(name))?.slice().sort()).toEqual(expected);
      return held;
    };
    const held = [...(await eventually(both('known'))), ...(await eventually(both('unknown')))];
    expect(held.sort()).toEqual(['10.7.0.0/26', '10.7.0.64/26', 'fd00:7::/122', 'fd00:7::40/122']);
    const all = await cluster.ciliumNodes();
    const found = all.find((cilium) => cilium.metadata.name === 'known')!;
    expect(found.metadata.uid).toBe(kept.metadata.uid);
    // What Cilium's agent wrote beside the blocks is still there.
    expect(found.spec).toMatchObject({ health: { ipv4: '10.200.0.9' }, encryption: { key: 3 } });
    // The default of this mode is the CiliumNode alone.
    expect((await cluster.node('known')).metadata.annotations ?? {}).toEqual({});

    // With IPv6 full a node gets nothing, again and again, and no IPv4 block leaks.
    for (const name of ['n3', 'n4', 'n5']) await cluster.createNode(name);
    await eventually(async () => expect(await cluster.blocks()).toHaveLength(8));
    const late = (await cluster.nodes()).map((node) => node.metadata.name);
    const refused = await eventually(async () => {
      const reasons = await Promise.all(late.map(reasonOn));
      const at = reasons.indexOf('PoolExhausted');
      expect(at).toBeGreaterThanOrEqual(0);
      return late[at]!;
    });
    for (let i = 0; i < 3; i++) {
      await cluster.patchNode(refused, { metadata: { labels: { poke: String(i) } } });
      await pause(200);
    }
    expect(await blocksOf(refused)).toEqual([]);
    expect(await cluster.blocks()).toHaveLength(8);
  });
});

describe('cluster-pool-v2', () => {
  const flags = [
    '--ipam=cluster-pool-v2',
    '--cluster-pool-ipv4-cidr=10.7.0.0/24',
    '--cluster-pool-ipv4-mask-size=28',
    '--cooldown-seconds=2',
    ...shortLease,
  ];

  const report = (name: string, spec: object) =>
    cluster.must('PATCH', `${paths.reports}/${name}`, { spec });

  const block = (cidr: string) =>
    cluster.must<BlockObject>('GET', `${paths.blocks}/${cidr.replace(/[./]/g, '-')}`);

  test('a node gets as many blocks as it says it needs, and gives back what it has emptied', async () => {
    const { metadata } = await cluster.createNode('busy');
    await cluster.createCiliumNode('busy', []);
    await cluster.createNode('idle');
    await cluster.leader(flags);
    await eventually(async () => {
      expect(await active('busy')).toHaveLength(1);
      expect(await active('idle')).toHaveLength(1);
    });
    await cluster.must('POST', paths.reports, {
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'NodeReport',
      metadata: { name: 'busy' },
      spec: { nodeUID: metadata.uid, neededAddresses: { ipv4: 39 } },
    });
    // A block has 13 addresses for pods.
    const held = await eventually(async () => {
      const now = await active('busy');
      expect(now).toHaveLength(3);
      expect((await onCiliumNode('busy'))?.slice().sort()).toEqual([...now].sort());
      return now;
    });
    expect(await active('idle')).toHaveLength(1);

    const emptied = held[1]!;
    const { uid } = (await block(emptied)).metadata;
    const releases = [{ cidr: emptied, uid }];
    await report('busy', { neededAddresses: { ipv4: 20 }, releases });
    await eventually(async () => {
      expect((await block(emptied)).spec.phase).toBe('Cooling');
      expect(await onCiliumNode('busy')).toHaveLength(2);
    });
    expect(await onCiliumNode('busy')).not.toContain(emptied);
    await eventually(async () => expect(await blocksOf('busy')).toHaveLength(2));

    // The release outlives the block: it must not take away the next block of that CIDR.
    await report('busy', { neededAddresses: { ipv4: 39 } });
    await eventually(async () => expect(await active('busy')).toHaveLength(3));
    expect(await active('busy')).toContain(emptied);
    await pause(1_500);
    expect(await active('busy')).toHaveLength(3);

    // All at once: one block always stays.
    const all = await Promise.all((await active('busy')).map(block));
    await report('busy', {
      neededAddresses: { ipv4: 0 },
      releases: all.map((one) => ({ cidr: one.spec.cidr, uid: one.metadata.uid })),
    });
    await eventually(async () => expect(await active('busy')).toHaveLength(1));
    await pause(1_000);
    expect(await active('busy')).toHaveLength(1);
  });

  test('the word of an earlier node of the name, or of no node, counts for nothing', async () => {
    await cluster.createNode('n');
    await cluster.leader(flags);
    await eventually(async () => expect(await active('n')).toHaveLength(1));
    await cluster.must('POST', paths.reports, {
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'NodeReport',
      metadata: { name: 'n' },
      spec: { nodeUID: 'somebody-else', neededAddresses: { ipv4: 200 } },
    });
    await cluster.createNode('after');
    await eventually(async () => expect(await active('after')).toHaveLength(1));
    await pause(500);
    expect(await active('n')).toHaveLength(1);
  });
});

describe('kubernetes', () => {
  test('writes nothing about nodes, and says so', async () => {
    await cluster.createNode('a', { podCIDRs: ['10.1.0.0/24'] });
    await cluster.createNode('b');
    const before = await cluster.nodes();
    const mark = cluster.requests.mark();
    const operator = await cluster.operator(['--ipam=kubernetes']);
    const line = await operator.whenLogged(
      ({ msg }) => msg.startsWith('mode kubernetes'),
      'mode kubernetes',
    );
    expect(line.msg).toBe(
      'mode kubernetes: kube-controller-manager sets Node.spec.podCIDRs; nothing is allocated here',
    );
    await cluster.createNode('c');
    await pause(2_000);
    await eventually(async () => {
      const ready = await operator.get('/readyz');
      expect(ready.status, ready.text).toBe(200);
    });
    // The custom resources that the agents wait for, how it was started, and its lease are its own.
    const own = new Set(['customresourcedefinitions', 'operatorreports']);
    const written = cluster.requests.ofOperators(mark).map(({ resource }) => resource);
    expect(written.filter((resource) => !own.has(resource))).toEqual([]);
    const after = await cluster.nodes();
    for (const { metadata } of before) {
      const now = after.find((node) => node.metadata.name === metadata.name)!;
      expect(now.metadata.resourceVersion).toBe(metadata.resourceVersion);
    }
    expect(await cluster.blocks()).toEqual([]);
    expect(await operator.stop()).toBe('exit 0');
  });
});

describe('at the door', () => {
  const refused: Array<[string, string[], RegExp]> = [
    ['an unknown mode', ['--ipam=eni'], /--ipam=eni is not a mode Cadastre knows/],
    [
      'CIDRs that overlap',
      ['--ipam=cluster-pool', '--cluster-pool-ipv4-cidr=10.0.0.0/8,10.5.0.0/16'],
      /--cluster-pool-ipv4-cidr: 10\.5\.0\.0\/16 overlaps 10\.0\.0\.0\/8/,
    ],
    [
      'a CIDR for a family that is off',
      [
        '--ipam=cluster-pool',
        '--cluster-pool-ipv4-cidr=10.0.0.0/8',
        '--cluster-pool-ipv6-cidr=fd00::/48',
      ],
      /--cluster-pool-ipv6-cidr=fd00::\/48 is given, but --enable-ipv6 is off/,
    ],
    [
      'no CIDR for a family that is on',
      ['--ipam=cluster-pool', '--enable-ipv6', '--cluster-pool-ipv4-cidr=10.0.0.0/8'],
      /--cluster-pool-ipv6-cidr is missing, but --enable-ipv6 is on/,
    ],
    [
      'a mask that does not fit',
      [
        '--ipam=cluster-pool',
        '--cluster-pool-ipv4-cidr=10.0.0.0/24',
        '--cluster-pool-ipv4-mask-size=20',
      ],
      /--cluster-pool-ipv4-mask-size=20 does not fit: 10\.0\.0\.0\/24 is smaller than a \/20 block/,
    ],
    [
      'host bits',
      ['--ipam=cluster-pool', '--cluster-pool-ipv4-cidr=10.5.112.9/21'],
      /--cluster-pool-ipv4-cidr: .*10\.5\.112\.9\/21/,
    ],
    [
      'a projection that is none',
      ['--project=annotation'],
      /--project=annotation has "annotation"/,
    ],
    ['a lease that cannot work', ['--lease-duration=2', '--renew-deadline=9'], /renew deadline/],
    ['an address that is none', ['--listen=everywhere'], /--listen=everywhere is not an address/],
    [
      'no number of writes',
      ['--concurrency=0'],
      /--concurrency=0 is not a whole number from 1 to 1024/,
    ],
  ];

  test.each(refused)('%s is refused with one sentence and exit 2', async (_, flags, sentence) => {
    const mark = cluster.requests.mark();
    const answer = await run(flags);
    expect(answer.stderr).toMatch(sentence);
    expect(answer.exitCode).toBe(2);
    expect(answer.stderr.trim().split('\n').length).toBeLessThanOrEqual(2);
    expect(answer.stdout).toBe('');
    expect(cluster.requests.ofOperators(mark)).toEqual([]);
  });

  test('a kubeconfig that cannot be read is exit 1 with its path', async () => {
    const path = cluster.writeFile('broken-kubeconfig', 'clusters: [');
    const answer = await run([], path);
    expect(answer.stderr).toContain(path);
    expect(answer.exitCode).toBeGreaterThan(0);
  });
});

async function run(flags: string[], kubeconfigPath = cluster.api.kubeconfigPath) {
  const args = [await cadastreProgram(), 'operator', `--kubeconfig=${kubeconfigPath}`, ...flags];
  return new Promise<{ exitCode: number; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, args, { timeout: 20_000 }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ exitCode, stdout, stderr });
    });
  });
}
