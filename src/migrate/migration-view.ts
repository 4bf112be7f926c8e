import { type CacheBase, type ClusterCaches, clusterCache } from '../cluster/cluster-caches.ts';
import type { KubeClient } from '../kube/client.ts';
import { getIfThere, ifFound } from '../kube/get-if-there.ts';
import { type CiliumEndpoint, readCiliumEndpoint } from '../model/cilium-endpoint.ts';
import { readCiliumNode } from '../model/cilium-node.ts';
import type { Block } from '../model/node-block.ts';
import { readMigration } from '../model/node-migration.ts';
import { readNodeReport } from '../model/node-report.ts';
import { type KubeObject, timestampMs } from '../model/object.ts';
import { readPod } from '../model/pod.ts';
import {
  ciliumEndpoints,
  ciliumNodes,
  nodeMigrations,
  nodeReports,
  nodes,
  pods,
} from '../model/resources.ts';
import { parsePrefix } from '../net/prefix.ts';
import { AgentUses } from '../plan/cilium/agent-uses.ts';
import type { AgentPod, MigrationWorld, MovingPod } from '../plan/migration/migration-next.ts';
import { readMovingNode } from './migration-driver.ts';

/** Says which of the prefixes some router does not hold with one of these next hops. */
export type RouterWatch = (cidrs: readonly string[], nextHops: readonly string[]) => string[];

export interface MigrationSettings {
  may: MigrationWorld['may'];
  /** Where the DaemonSet of Cilium's agent is. */
  ciliumNamespace: string;
  routers?: RouterWatch | undefined;
}

/** What a migration sees of its node. NodeBlocks are watched; the rest is one node's and read each time. */
export class MigrationView {
  readonly #client: KubeClient;
  readonly #blocks: ClusterCaches<'blocks'>['blocks'];
  readonly #settings: MigrationSettings;

  constructor(base: CacheBase, signal: AbortSignal, settings: MigrationSettings) {
    this.#client = base.client;
    this.#settings = settings;
    this.#blocks = clusterCache('blocks', base);
    this.#blocks.start(signal);
  }

  async ready(): Promise<void> {
    await this.#blocks.synced;
  }

  async look(name: string): Promise<MigrationWorld | undefined> {
    const client = this.#client;
    const stored = await getIfThere(client, nodeMigrations, name);
    if (stored === undefined) return undefined;
    const migration = readMigration(stored);
    const [node, report, ciliumNode, onNode] = await Promise.all([
      getIfThere(client, nodes, name),
      getIfThere(client, nodeReports, name),
      getIfThere(client, ciliumNodes, name),
      client.list<PodObject>(pods, { fieldSelector: `spec.nodeName=${name}` }),
    ]);
    const cilium = ciliumNode === undefined ? undefined : readCiliumNode(ciliumNode);
    const all = [...this.#blocks.values()];
    const blocks = all.filter((block) => block.nodeName === name);
    const moving = node === undefined ? undefined : readMovingNode(node);
    const active = blocks
      .filter(({ phase }) => phase === 'Active')
      .map(({ prefix }) => prefix.toString());
    // All of the cluster's, so only when it can be the last evidence that is missing.
    const isCilium = (cilium?.internalIps ?? []).length > 0;
    const endpoints = isCilium && migration.hasReleased ? await this.#endpoints() : undefined;
    const uses = new AgentUses({
      nodes: moving === undefined ? [] : [moving],
      ciliumNodes: cilium === undefined ? [] : [cilium],
      ciliumEndpoints: endpoints,
      pods: onNode.items.map((pod) => readPod(pod)),
    });
    const { may, ciliumNamespace, routers } = this.#settings;
    return {
      migration,
      node: moving,
      blocks,
      taken: takenBy(migration.from, all, name),
      uses: uses.of(name),
      agentPod: agentPodOf(onNode.items, ciliumNamespace),
      may,
      report: report === undefined ? undefined : readNodeReport(report),
      ciliumPodCidrs: cilium?.podCidrs ?? [],
      pods: movingPods(onNode.items),
      unseen: routers?.(active, moving?.addresses ?? []),
    };
  }

  async #endpoints(): Promise<CiliumEndpoint[]> {
    const found: CiliumEndpoint[] = [];
    const reader = {
      onStart: () => {
        found.length = 0;
      },
      onItem: (endpoint: KubeObject) => {
        found.push(readCiliumEndpoint(endpoint));
      },
    };
    await ifFound(this.#client.listEach<KubeObject>(ciliumEndpoints, {}, reader));
    return found;
  }
}

function takenBy(
  from: readonly string[],
  all: readonly Block[],
  own: string,
): Array<{ cidr: string; node: string }> {
  return from.flatMap((cidr) => {
    const prefix = parsePrefix(cidr);
    const other = all.find(
      (block) =>
        block.nodeName !== own &&
        block.phase !== 'Guard' &&
        prefix !== undefined &&
        block.prefix.overlaps(prefix),
    );
    return other === undefined ? [] : [{ cidr, node: other.nodeName }];
  });
}

/** Of Cilium's own installation: the DaemonSet is called cilium in every one of them. */
function agentPodOf(all: readonly PodObject[], namespace: string): AgentPod | undefined {
  const found = all.filter(({ metadata }) => {
    const owners = (metadata?.ownerReferences ?? []) as Array<{ kind?: string; name?: string }>;
    return (
      metadata?.namespace === namespace &&
      owners.some(({ kind, name }) => kind === 'DaemonSet' && name === 'cilium')
    );
  });
  const pods = found.map(({ metadata }) => ({
    namespace,
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    createdMs: timestampMs(metadata?.creationTimestamp),
    isGoing: Boolean(metadata?.deletionTimestamp),
  }));
  // While one stops its successor may be there already.
  return pods.find(({ isGoing }) => isGoing) ?? pods[0];
}

interface PodObject extends KubeObject {
  spec?: { hostNetwork?: boolean };
  status?: { phase?: string };
}

/** Pods whose addresses are out of the node's blocks: not the host's own, not those that have ended. */
function movingPods(all: readonly PodObject[]): MovingPod[] {
  return all
    .filter(({ spec, status, metadata }) => {
      const isMirror = metadata?.annotations?.['kubernetes.io/config.mirror'] !== undefined;
      const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed';
      return !spec?.hostNetwork && !isMirror && !hasEnded;
    })
    .map(({ metadata }) => ({
      namespace: metadata?.namespace ?? '',
      name: metadata?.name ?? '',
      uid: metadata?.uid ?? '',
      isOfDaemonSet: ((metadata?.ownerReferences ?? []) as Array<{ kind?: string }>).some(
        ({ kind }) => kind === 'DaemonSet',
      ),
      isBare: !((metadata?.ownerReferences ?? []) as Array<{ controller?: boolean }>).some(
        ({ controller }) => controller === true,
      ),
      createdMs: timestampMs(metadata?.creationTimestamp),
      isGoing: Boolean(metadata?.deletionTimestamp),
    }));
}
