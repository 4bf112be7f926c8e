import { ClusterList } from '../cluster/list-cluster.ts';
import type { ReadCluster } from '../cluster/read-cluster.ts';
import type { KubeClient } from '../kube/client.ts';
import {
  type ClusterKind,
  ciliumBgpKinds,
  foreignServicePoolKinds,
} from '../model/cluster-kinds.ts';
import type { ClusterPod } from '../model/pod.ts';

export interface ListEvidenceOptions {
  client: KubeClient;
  origin: string;
  ciliumNamespace: string;
  say(line: string): void;
  /** What is being read, for who waits. */
  doing?: ((stage: string) => void) | undefined;
  pause(ms: number): Promise<void>;
}

const kinds = [
  'operatorReports',
  'pools',
  'blocks',
  'ciliumNodes',
  'ciliumEndpoints',
  'serviceCidrs',
  'configMaps',
  'daemonSets',
  'deployments',
  'peers',
  'services',
  'ciliumPodPools',
  ...foreignServicePoolKinds,
  ...ciliumBgpKinds,
  'servicePools',
  'serviceAddresses',
  'reports',
] as const satisfies readonly ClusterKind[];

/** Longer than an agent takes to write down what changed. */
const settleMs = 10_000;

/**
 * Everything the doctor compares of a live cluster, by lists and a few reads.
 * A kind that may not be read is named in the sources and goes on with the
 * rest; only Nodes must be readable.
 */
export async function listEvidence(options: ListEvidenceOptions): Promise<ReadCluster> {
  const { client, origin, ciliumNamespace, say, pause } = options;
  const list = new ClusterList(client, { origin, ciliumNamespace, isLenient: true });
  for (const kind of [...kinds, 'pods'] as const) {
    options.doing?.(`reading ${kind}`);
    await list.read(kind);
  }
  let before: ClusterPod[] = [];
  if (seemsLeaked(list.result())) {
    // A pod that ended a moment ago looks the same: its agent has not written yet.
    say(`addresses of pods that do not exist? looking again in ${settleMs / 1000} s`);
    before = [...(list.result().items.pods ?? [])];
    await pause(settleMs);
    await list.readAll(['reports', 'pods']);
  }
  // Last, so that a block never seems to belong to a node that is only a moment younger.
  await list.read('nodes');
  const result = list.result();
  const pods = [...(result.items.pods ?? [])];
  const known = new Set(pods.map(({ uid }) => uid));
  const all = [...pods, ...before.filter(({ uid }) => !known.has(uid))];
  return { ...result, items: { ...result.items, pods: all } };
}

/** By count alone, a node and family at a time; the judgement looks at the addresses. */
function seemsLeaked({ items }: ReadCluster): boolean {
  const seen = new Map<string, number>();
  for (const { node, addresses } of items.pods ?? []) {
    if (addresses.length > 0) seen.set(node, (seen.get(node) ?? 0) + 1);
  }
  if (seen.size === 0) return false;
  return [...(items.reports ?? [])].some(({ name, status }) => {
    const held = { ipv4: 0, ipv6: 0 };
    for (const { cidr, pods } of status?.blocks ?? []) {
      held[cidr.includes(':') ? 'ipv6' : 'ipv4'] += pods;
    }
    return Math.max(held.ipv4, held.ipv6) > (seen.get(name) ?? 0);
  });
}
