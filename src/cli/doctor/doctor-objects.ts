import { stat } from 'node:fs/promises';
import { CadastreError } from '../../base/errors.ts';
import type { SeenObjects } from '../../doctor/assemble.ts';
import { readPods } from '../../doctor/read-pods.ts';
import { ApiError } from '../../kube/api-error.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/kubeconfig.ts';
import { apiVersion, type Resource } from '../../kube/resource.ts';
import type { NodeReportStatus } from '../../model/node-report-status.ts';
import type { KubeObject } from '../../model/object.ts';
import {
  bgpPeers,
  ciliumNodes,
  configMaps,
  daemonSets,
  ipPools,
  loadBalancerPools,
  nodeBlocks,
  nodeReports,
  nodes,
  pods,
  serviceCidrs,
  services,
} from '../../model/resources.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import {
  addView,
  type ClusterView,
  emptyView,
  putObject,
  type ViewedKind,
} from '../view/cluster-view.ts';
import type { ViewFlagValues } from '../view/view-flags.ts';
import { readPlacedObjects, viewOfObjects } from '../view/view-from-files.ts';

/** What the doctor wants to see of a cluster, beyond what every command looks at. */
const ciliumLoadBalancerPools: Resource = {
  group: 'cilium.io',
  version: 'v2alpha1',
  plural: 'ciliumloadbalancerippools',
  kind: 'CiliumLoadBalancerIPPool',
  namespaced: false,
};

export type ObjectFlags = Pick<ViewFlagValues, 'from' | 'kubeconfig' | 'context' | 'verbose'> & {
  ciliumNamespace: string;
};

export function readObjects(flags: ObjectFlags, terminal: Terminal): Promise<SeenObjects> {
  return flags.from === undefined
    ? objectsOfCluster(flags, terminal)
    : objectsOfFiles(flags.from, flags, terminal);
}

/** Of files; each kind is as old as the oldest file that has any of it. */
async function objectsOfFiles(
  from: readonly string[],
  flags: ObjectFlags,
  terminal: Terminal,
): Promise<SeenObjects> {
  const { files, objects, problems } = await readPlacedObjects(from, terminal);
  const view = viewOfObjects(from, files, objects, problems, terminal, flags.verbose ?? false);
  const times = new Map<string, number>();
  for (const file of files) {
    times.set(file, file === '-' ? terminal.clock.wallMs() : (await stat(file)).mtimeMs);
  }
  const oldest = new Map<string, number>();
  for (const { object, place } of objects) {
    const at = times.get(place.file === 'stdin' ? '-' : place.file);
    const kind = object.kind ?? '';
    if (at !== undefined) oldest.set(kind, Math.min(oldest.get(kind) ?? at, at));
  }
  return {
    ...view,
    others: objects.map(({ object }) => object).filter(isOther),
    kind: 'objects',
    ageOf: (kind) => {
      const at = oldest.get(kind);
      return at === undefined
        ? null
        : Math.max(0, Math.round((terminal.clock.wallMs() - at) / 1000));
    },
    unseen: [],
  };
}

const otherKinds = new Set([
  'ConfigMap',
  'DaemonSet',
  'NodeReport',
  'BGPPeer',
  'Pod',
  'Service',
  'CiliumLoadBalancerIPPool',
  'IPAddressPool',
  'LoadBalancerPool',
]);
const isOther = ({ kind }: KubeObject) => otherKinds.has(kind ?? '');

/**
 * Of a cluster, by lists and a few reads. Whoever may not read a kind is told so
 * in the sources and goes on with the rest; only Nodes must be readable.
 */
async function objectsOfCluster(flags: ObjectFlags, terminal: Terminal): Promise<SeenObjects> {
  const { kubeconfig, context, ciliumNamespace: namespace } = flags;
  const access = await loadKubeConfig({
    kubeconfig,
    context,
    env: terminal.env,
    clock: terminal.clock,
  });
  const client = new KubeClient(access, { userAgent: `cadastre/${readVersion()}` });
  const view = emptyView(access.origin);
  const others: KubeObject[] = [];
  const unseen: Array<{ kind: string; why: string }> = [];
  const attempt = async (kind: string, read: () => Promise<unknown>) => {
    try {
      await read();
    } catch (error) {
      if (!(error instanceof ApiError) || kind === 'Node') throw error;
      if (error.isNotFound) return;
      if (!error.isForbidden) throw error;
      unseen.push({ kind, why: `${kind}: the API server does not let us look (forbidden)` });
    }
  };
  try {
    for (const resource of [ipPools, nodeBlocks, ciliumNodes, serviceCidrs]) {
      await attempt(resource.kind, () => listInto(client, resource, view));
    }
    const get = (resource: Resource, name: string) =>
      attempt(resource.kind, async () => {
        const found = await client.get<KubeObject>(resource, name, { namespace });
        others.push({ ...found, apiVersion: apiVersion(resource), kind: resource.kind });
      });
    await get(configMaps, 'cilium-config');
    await get(configMaps, 'bgp-config');
    await get(daemonSets, 'cilium');
    const list = (
      resource: Resource,
      options: { namespace?: string; labelSelector?: string } = {},
    ) =>
      attempt(resource.kind, () =>
        client.listPages<KubeObject>(resource, options, (items, { page }) => {
          if (page === 0) removeKind(others, resource.kind, options.labelSelector !== undefined);
          for (const item of items)
            others.push({ ...item, apiVersion: apiVersion(resource), kind: resource.kind });
        }),
      );
    await list(bgpPeers);
    await list(services);
    await list(ciliumLoadBalancerPools);
    await list(loadBalancerPools);
    await list(nodeReports);
    const hasReports = others.some(({ kind }) => kind === 'NodeReport');
    if (hasReports) await list(pods);
    else await list(pods, controllerManager);
    if (seemsLeaked(others)) {
      // A pod that ended a moment ago looks the same: its agent has not written yet.
      terminal.say(`addresses of pods that do not exist? looking again in ${settleMs / 1000} s`);
      const before = others.filter(({ kind }) => kind === 'Pod');
      await new Promise((resolve) => setTimeout(resolve, settleMs));
      await list(nodeReports);
      await list(pods);
      const known = new Set(others.map(({ metadata }) => metadata?.uid));
      others.push(...before.filter(({ metadata }) => !known.has(metadata?.uid)));
    }
    // Last, so that a block never seems to belong to a node that is only a moment younger.
    await attempt('Node', () => listInto(client, nodes, view));
    if (flags.verbose) {
      terminal.say(
        `read ${access.origin}: ${view.nodes.length} nodes, ${others.length} other objects`,
      );
    }
  } finally {
    await client.close();
  }
  for (const { kind, name, problems } of view.malformed) {
    unseen.push({ kind, why: `${kind} ${name}: ${problems.join('; ')}` });
  }
  return { ...view, others, kind: 'cluster', ageOf: () => 0, unseen };
}

const controllerManager = {
  namespace: 'kube-system',
  labelSelector: 'component=kube-controller-manager',
};

/** Longer than an agent takes to write down what changed. */
const settleMs = 10_000;

/** By count alone, a node and family at a time; the judgement looks at the addresses. */
function seemsLeaked(others: readonly KubeObject[]): boolean {
  const seen = new Map<string, number>();
  for (const { node } of readPods(others)) seen.set(node, (seen.get(node) ?? 0) + 1);
  if (seen.size === 0) return false;
  return others.some(({ kind, metadata, status }) => {
    if (kind !== 'NodeReport') return false;
    const held = { ipv4: 0, ipv6: 0 };
    for (const { cidr, pods: count } of (status as Partial<NodeReportStatus>)?.blocks ?? []) {
      held[cidr.includes(':') ? 'ipv6' : 'ipv4'] += count;
    }
    return Math.max(held.ipv4, held.ipv6) > (seen.get(metadata?.name ?? '') ?? 0);
  });
}

/** A list that had to begin again does not count twice. */
function removeKind(others: KubeObject[], kind: string, isPart: boolean): void {
  if (isPart) return;
  for (let at = others.length - 1; at >= 0; at--)
    if (others[at]?.kind === kind) others.splice(at, 1);
}

async function listInto(client: KubeClient, resource: Resource, view: ClusterView): Promise<void> {
  const { kind } = resource;
  let found = emptyView('');
  await client.listPages<KubeObject>(resource, {}, (items, { page }) => {
    if (page === 0) found = emptyView('');
    for (const item of items) {
      putObject(found, kind as ViewedKind, { ...item, apiVersion: apiVersion(resource), kind });
    }
  });
  addView(view, found);
}

/** Nothing to judge: then there is no answer, and it must not look like one. */
export function requireNodes(objects: SeenObjects): void {
  if (objects.nodes.length > 0) return;
  throw new CadastreError(
    'BAD_INPUT',
    'there is no Node in what was given: nothing can be compared',
    {
      remedy: 'Give the Nodes too: kubectl get nodes,ciliumnodes -o json > cluster.json',
    },
  );
}
