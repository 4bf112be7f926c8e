import { type CacheBase, type ClusterCaches, clusterCache } from '../cluster/cluster-caches.ts';
import type { KubeClient } from '../kube/client.ts';
import { getIfThere } from '../kube/get-if-there.ts';
import { readCiliumNode } from '../model/cilium-node.ts';
import { readMigration } from '../model/node-migration.ts';
import { readNodeReport } from '../model/node-report.ts';
import type { KubeObject } from '../model/object.ts';
import { ciliumNodes, nodeMigrations, nodeReports, nodes, pods } from '../model/resources.ts';
import type { MigrationWorld, MovingPod } from '../plan/migration/migration-next.ts';
import { readMovingNode } from './migration-driver.ts';

/** Says which of the prefixes some router does not hold with one of these next hops. */
export type RouterWatch = (cidrs: readonly string[], nextHops: readonly string[]) => string[];

/** What a migration sees of its node. NodeBlocks are watched; the rest is one node's and read each time. */
export class MigrationView {
  readonly #client: KubeClient;
  readonly #blocks: ClusterCaches<'blocks'>['blocks'];
  readonly #routers: RouterWatch | undefined;

  constructor(base: CacheBase, signal: AbortSignal, routers?: RouterWatch) {
    this.#client = base.client;
    this.#routers = routers;
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
    const [node, report, cilium, living] = await Promise.all([
      getIfThere(client, nodes, name),
      getIfThere(client, nodeReports, name),
      getIfThere(client, ciliumNodes, name),
      podsOn(client, name),
    ]);
    const blocks = [...this.#blocks.values()].filter((block) => block.nodeName === name);
    const moving = node === undefined ? undefined : readMovingNode(node);
    const active = blocks
      .filter(({ phase }) => phase === 'Active')
      .map(({ prefix }) => prefix.toString());
    return {
      migration: readMigration(stored),
      node: moving,
      blocks,
      report: report === undefined ? undefined : readNodeReport(report),
      ciliumPodCidrs: cilium === undefined ? [] : readCiliumNode(cilium).podCidrs,
      pods: living,
      unseen: this.#routers?.(active, moving?.addresses ?? []),
    };
  }
}

interface PodObject extends KubeObject {
  spec?: { hostNetwork?: boolean };
  status?: { phase?: string };
}

/** Pods whose addresses are out of the node's blocks: not the host's own, not those that have ended. */
async function podsOn(client: KubeClient, node: string): Promise<MovingPod[]> {
  const { items } = await client.list<PodObject>(pods, { fieldSelector: `spec.nodeName=${node}` });
  return items
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
      isGoing: Boolean(metadata?.deletionTimestamp),
    }));
}
