import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import {
  type ClusterKind,
  ciliumBgpKinds,
  foreignServicePoolKinds,
} from '../model/cluster-kinds.ts';
import type { ItemLists } from '../model/cluster-state.ts';
import { ClusterList } from './list-cluster.ts';

/**
 * What stands around the blocks and changes rarely: Service networks, Cilium's
 * settings and version, what its BGP objects say, its pools, pools of other load balancers, and whether
 * kube-controller-manager allocates. Listed every now and then instead of
 * watched; a kind that the cluster does not have is empty, and one that it does not show
 * us is named in `unread`.
 */
export const surroundingKinds = [
  'serviceCidrs',
  'configMaps',
  'daemonSets',
  'deployments',
  'ciliumPodPools',
  ...foreignServicePoolKinds,
  ...ciliumBgpKinds,
  'peers',
  'pods',
] as const satisfies readonly ClusterKind[];

export interface SurroundingsOptions {
  client: KubeClient;
  log: Log;
  bgpConfigMap?: { namespace: string; name: string } | undefined;
  /** Only these, for whoever needs no more. */
  kinds?: readonly ClusterKind[] | undefined;
  everyMs?: number | undefined;
  /** Something is different from the last look. */
  onChange?: (() => void) | undefined;
}

const usualEveryMs = 60_000;

export class Surroundings {
  readonly #o: SurroundingsOptions;
  #items: ItemLists = {};
  #unread: ReadonlyMap<ClusterKind, string> = new Map();
  #text = '';

  constructor(options: SurroundingsOptions) {
    this.#o = options;
  }

  get items(): ItemLists {
    return this.#items;
  }

  /** Kinds that may not be read, and why: what they hold is not known. */
  get unread(): ReadonlyMap<ClusterKind, string> {
    return this.#unread;
  }

  /** Looks once; whether anything is different. */
  async look(): Promise<boolean> {
    const { client, bgpConfigMap, kinds = surroundingKinds } = this.#o;
    const list = new ClusterList(client, { origin: '', isLenient: true, bgpConfigMap });
    for (const kind of kinds) await list.read(kind, 'controller-manager');
    const { items, unread } = list.result();
    const text = JSON.stringify([items, [...unread]], withoutVersions);
    const isChanged = text !== this.#text;
    this.#items = items;
    this.#sayUnread(unread);
    this.#text = text;
    return isChanged;
  }

  /** Once, and again when it is another: whoever forgot a right should find it in the log. */
  #sayUnread(unread: ReadonlyMap<ClusterKind, string>): void {
    const words = [...unread.values()].join('; ');
    const isSaid = words === [...this.#unread.values()].join('; ');
    this.#unread = unread;
    if (isSaid || words === '') return;
    this.#o.log.warn(
      { resource: [...unread.keys()] },
      `not known, for it may not be read: ${words}`,
    );
  }

  /** Looks again and again until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { log, everyMs, onChange } = this.#o;
    while (!signal.aborted) {
      await pause(everyMs ?? usualEveryMs, signal);
      if (signal.aborted) return;
      try {
        if (await this.look()) onChange?.();
      } catch (error) {
        if (signal.aborted) return;
        const words = 'could not read Service networks and settings of other components; retrying';
        log.warn({ error: describeError(error) }, words);
      }
    }
  }
}

/** A heartbeat changes an object's version and nothing that matters here. */
function withoutVersions(key: string, value: unknown): unknown {
  if (key === 'resourceVersion') return undefined;
  return typeof value === 'bigint' ? value.toString() : value;
}
