/** `lab cluster up`: from nothing to kubelets that wait for a pod network. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { plural } from '../../base/count-text.ts';
import { CadastreError } from '../../base/errors.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/kubeconfig.ts';
import { nodes } from '../../model/resources.ts';
import { eventually } from '../eventually.ts';
import type { LabWorld } from '../lab.ts';
import { namespaceOf } from '../layout.ts';
import { ipBatch, refuseForeignNamespaces, writeSettings } from '../namespaces.ts';
import { frr } from '../routers/frr.ts';
import { startRouterSoftware } from '../routers/start.ts';
import { cgroupPaths, readHierarchies } from './cgroups.ts';
import { clusterFolder, KubeletCluster } from './cluster.ts';
import { controlPlaneCommands, embeddedFolder, type PartCommand } from './control-plane.ts';
import { Credentials } from './credentials.ts';
import { makeIdentity } from './embedded-api-server.ts';
import { writeImages } from './images.ts';
import {
  connectLines,
  control,
  hostLines,
  hostSettings,
  nodeHost,
  routerLines,
  routerSettings,
} from './layout.ts';
import { writeNode } from './node-programs.ts';
import type { ApiServerKind, ContainerdMajor } from './programs.ts';
import { routerConfig } from './router.ts';

interface UpOptions {
  readonly name: string;
  /** The containerd of node1, node2 …: one for each node. */
  readonly containerds: readonly ContainerdMajor[];
  /** Archives of more images, which every node gets. */
  readonly images: readonly string[];
  readonly apiServer: ApiServerKind;
}

export async function bringUpCluster(
  world: LabWorld,
  { name, containerds, images, apiServer: kind }: UpOptions,
): Promise<{ cluster: KubeletCluster; seconds: number }> {
  const start = performance.now();
  const since = () => (performance.now() - start) / 1000;
  const say = (words: string) => world.say(`${since().toFixed(1).padStart(5)} s  ${words}`);
  const folder = clusterFolder(world.root, name);
  folder.refuseIfThere();
  const cluster = new KubeletCluster(world, folder, { containerds, apiServer: kind });
  const { programs } = cluster;
  refuseMissingImages(images);
  const { nodeNames } = cluster;
  const hierarchies = readHierarchies();
  const namespaces = ['router', 'control', ...nodeNames].map((one) => namespaceOf(name, one));
  refuseForeignNamespaces(namespaces);
  folder.create({
    name,
    createdAt: new Date().toISOString(),
    containerds,
    apiServer: kind,
    namespaces,
    cgroups: nodeNames.flatMap((node) => cgroupPaths(hierarchies, cluster.namespace(node))),
    isUp: false,
  });

  await makeNetwork(cluster);
  const credentials = makeCredentials(cluster);
  const { apiServer, controllers } = planControlPlane(cluster, credentials);
  for (const part of apiServer) startControl(cluster, part);
  await startRouter(cluster);
  say('the router serves');

  const made = writeImages(programs, folder.makeFolder('images'));
  await Promise.all(
    nodeNames.map(async (node, at) => {
      const place = folder.makeFolder('nodes', node);
      writeNode(place, nodeHost(at + 1), containerds[at]!, credentials, programs);
      await cluster.powerOn(node);
      cluster.startProgram(node, 'containerd');
      await cluster.whenContainerdServes(node);
      for (const archive of [...(await made), ...images]) await cluster.importImage(node, archive);
    }),
  );
  say(`${plural(nodeNames.length, 'node')} with containerd and images`);

  const names = apiServer.map((part) => part.name);
  const client = await whenServing(cluster, credentials, names);
  for (const part of controllers) startControl(cluster, part);
  say(`the API server serves (${kind})`);
  try {
    for (const node of nodeNames) {
      cluster.startProgram(node, 'kubelet');
      cluster.startProgram(node, 'kube-proxy');
    }
    for (const node of nodeNames) await whenRegistered(cluster, client, node);
    await whenControlled(cluster, client);
  } finally {
    await client.close();
  }
  say(`${plural(nodeNames.length, 'node')} registered by kubelet; a pod network is missing`);
  folder.change((manifest) => ({ ...manifest, isUp: true }));
  return { cluster, seconds: since() };
}

const admin = { name: 'kubernetes-admin', groups: ['system:masters'] };

async function makeNetwork(cluster: KubeletCluster): Promise<void> {
  const [routerNamespace, controlNamespace] = ['router', 'control'].map((one) =>
    cluster.namespace(one),
  ) as [string, string];
  await ipBatch(undefined, [`netns add ${routerNamespace}`, `netns add ${controlNamespace}`]);
  writeSettings(routerNamespace, routerSettings);
  writeSettings(controlNamespace, hostSettings);
  await ipBatch(routerNamespace, [...routerLines, ...connectLines(cluster.name, control)]);
  await ipBatch(controlNamespace, hostLines(control));
}

/** The embedded API server takes one token, whoever it is. */
function makeCredentials({ apiServer, folder }: KubeletCluster): Credentials {
  if (apiServer === 'real') return new Credentials();
  return new Credentials(makeIdentity(folder.makeFolder('control', embeddedFolder)));
}

function planControlPlane(cluster: KubeletCluster, credentials: Credentials) {
  const { folder, programs, world } = cluster;
  const place = folder.makeFolder('control');
  credentials.writeControlPlane(folder.makeFolder('control', 'pki'));
  for (const part of ['controller-manager', 'scheduler']) {
    credentials.writeKubeconfig(join(place, `${part}.conf`), { name: `system:kube-${part}` });
  }
  credentials.writeKubeconfig(cluster.insideKubeconfigPath, admin);
  const { apiServer, controllers } = controlPlaneCommands(
    cluster.apiServer,
    programs,
    place,
    world.cadastre,
  );
  const outside = `/proc/${process.pid}/ns/net`;
  const forward = [
    ...cluster.world.cadastre,
    'lab',
    'cluster',
    'forward',
    outside,
    portFile(cluster),
  ];
  return { apiServer: [...apiServer, { name: 'api-forward', command: forward }], controllers };
}

function startControl(cluster: KubeletCluster, { name, command }: PartCommand): void {
  cluster.processes.start(name, cluster.namespace('control'), command);
}

async function startRouter(cluster: KubeletCluster): Promise<void> {
  const folder = cluster.folder.makeFolder('router');
  await startRouterSoftware(cluster.processes, {
    name: 'router',
    namespace: cluster.namespace('router'),
    folder,
    files: routerConfig(),
    processes: frr.processes(folder, []),
    user: frr.user,
  });
}

/** Writes the kubeconfig for people, and waits until it can be used. */
async function whenServing(
  cluster: KubeletCluster,
  credentials: Credentials,
  parts: readonly string[],
): Promise<KubeClient> {
  const { processes, kubeconfigPath } = cluster;
  const refuseEnded = () => {
    for (const part of parts) {
      if (processes.isRunning(part)) continue;
      throw new CadastreError('LAB_FAILED', `${part} has ended:\n${processes.tail(part)}`);
    }
  };
  const file = portFile(cluster);
  const port = await eventually('the API server is forwarded to the machine', () => {
    refuseEnded();
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
  });
  credentials.writeKubeconfig(kubeconfigPath, admin, `https://127.0.0.1:${port}`);
  const client = new KubeClient(await loadKubeConfig({ kubeconfig: kubeconfigPath }), {});
  await eventually(
    'the API server serves',
    async () => {
      refuseEnded();
      return (await client.rawGet('/readyz', { retries: 0 })) === 'ok' || undefined;
    },
    { withinMs: 120_000 },
  );
  return client;
}

async function whenRegistered(cluster: KubeletCluster, client: KubeClient, node: string) {
  await eventually(
    `the kubelet of ${node} registers its node`,
    async () => (await client.get(nodes, node)) !== undefined || undefined,
    { withinMs: 120_000, everyMs: 200, why: () => cluster.processes.tail(`${node}-kubelet`) },
  );
}

/** Pods need a ServiceAccount, which kube-controller-manager makes. */
async function whenControlled(cluster: KubeletCluster, client: KubeClient): Promise<void> {
  await eventually(
    'kube-controller-manager makes the ServiceAccount default',
    () => client.rawGet('/api/v1/namespaces/default/serviceaccounts/default', { retries: 0 }),
    {
      withinMs: 120_000,
      everyMs: 100,
      why: () => cluster.processes.tail('kube-controller-manager'),
    },
  );
}

function portFile(cluster: KubeletCluster): string {
  return cluster.folder.file('control', 'forwarded-port');
}

function refuseMissingImages(images: readonly string[]): void {
  const missing = images.filter((file) => !existsSync(file));
  if (missing.length === 0) return;
  throw new CadastreError('BAD_FLAG', `--image: there is no file ${missing.join(', ')}`);
}
