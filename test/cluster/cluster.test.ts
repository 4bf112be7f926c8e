/** The cluster itself: it comes up, loses a node and gets it back, and nothing of it is left. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import {
  Cluster,
  clusterName,
  clustersFolder,
  labCluster,
  mustLabCluster,
  sweepClusters,
  tracesOf,
  whenTrue,
} from './cluster.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({ name: 'kubelets' });
}, 300_000);

afterAll(async () => {
  await cluster?.close();
});

test('three nodes of both families wait for a pod network, as after kubeadm', async () => {
  const { items } = await cluster.get<{
    items: Array<{
      metadata: { name: string };
      spec: { podCIDR?: string };
      status: {
        addresses: Array<{ type: string; address: string }>;
        conditions: Array<{ type: string; status: string; message: string }>;
        nodeInfo: { containerRuntimeVersion: string };
      };
    }>;
  }>('nodes');
  expect(
    items.map(({ metadata, spec, status }) => ({
      name: metadata.name,
      podCIDR: spec.podCIDR,
      addresses: status.addresses.flatMap((one) =>
        one.type === 'InternalIP' ? [one.address] : [],
      ),
      containerd: Number(/^containerd:\/\/(\d)/.exec(status.nodeInfo.containerRuntimeVersion)?.[1]),
      ready: status.conditions.find(({ type }) => type === 'Ready')?.status,
    })),
  ).toEqual(
    [1, 2, 3].map((index) => ({
      name: `node${index}`,
      podCIDR: undefined,
      addresses: [`10.4.94.1${index}`, `fd04:94::1${index}`],
      containerd: index === 1 ? 1 : 2,
      ready: 'False',
    })),
  );
  const { stdout } = await mustLabCluster(['status', cluster.name]);
  expect(stdout).toContain('NotReady: container runtime network not ready');
  expect(stdout).toContain('not running  -');
});

test('a node that lost its power starts again with its disk, and without what was in /run', async () => {
  await cluster.exec('node3', ['sh', '-c', 'echo kept > /var/lib/kept; echo lost > /run/lost']);
  const boot = async () =>
    (await cluster.get<{ status: { nodeInfo: { bootID: string } } }>('node', 'node3')).status
      .nodeInfo.bootID;
  const first = await boot();
  await cluster.cutPower('node3');
  const dead = (await mustLabCluster(['status', cluster.name])).stdout;
  expect(dead).toContain('not running  node3, node3-containerd, node3-kubelet, node3-kube-proxy');
  await cluster.boot('node3');
  const { stdout } = await cluster.exec('node3', ['sh', '-c', 'cat /var/lib/kept; ls /run/lost']);
  expect(stdout).toBe('kept\n');
  await whenTrue(async () => expect(await boot()).not.toBe(first));
}, 300_000);

test('what cannot work is refused, and makes nothing', async () => {
  const again = await labCluster(['up', '--name', cluster.name]);
  expect(again).toMatchObject({ code: 1 });
  expect(again.stderr).toContain(`there is a lab cluster ${cluster.name} already`);
  const name = clusterName('none');
  const image = await labCluster(['up', '--name', name, '--image', '/nowhere.tar']);
  expect(image.stderr).toContain('--image: there is no file /nowhere.tar');
  expect((await labCluster(['down', name])).stderr).toContain(`there is no lab cluster ${name}`);
  const machine = await labCluster(['exec', '--name', cluster.name, 'node9', '--', 'true']);
  expect(machine.stderr).toContain('There are router, control, node1, node2, node3.');
  expect(await tracesOf(name)).toEqual([]);
});

test('down leaves no namespace, process, mount, cgroup or folder behind', async () => {
  expect((await tracesOf(cluster.name)).length).toBeGreaterThan(30);
  await cluster.close();
  expect(await tracesOf(cluster.name)).toEqual([]);
}, 120_000);

test('down after a crash of up removes what was made', async () => {
  await sweepClusters();
  const crashed = clusterName('crash');
  const words = [
    await cadastreProgram(),
    'lab',
    'cluster',
    'up',
    '--name',
    crashed,
    '--nodes',
    '1',
  ];
  const child = spawn(process.execPath, words, {
    env: { ...process.env, CADASTRE_CLUSTERS: clustersFolder },
    stdio: 'ignore',
  });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  await eventually(() => {
    const record = join(clustersFolder, crashed, 'processes/node1-containerd.json');
    expect(existsSync(record)).toBe(true);
  });
  child.kill('SIGKILL');
  await gone;
  expect((await mustLabCluster(['status', crashed])).stdout).toContain('not up');
  await mustLabCluster(['down', crashed]);
  expect(await tracesOf(crashed)).toEqual([]);
}, 120_000);
