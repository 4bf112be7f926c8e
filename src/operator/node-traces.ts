import { plural } from '../base/count-text.ts';
import { describeError } from '../base/errors.ts';
import type { KubeClient } from '../kube/client.ts';
import { getIfThere, ifFound } from '../kube/get-if-there.ts';
import type { Block } from '../model/node-block.ts';
import type { KubeObject } from '../model/object.ts';
import { readPod } from '../model/pod.ts';
import { ciliumEndpoints, ciliumNodes, leases, pods } from '../model/resources.ts';
import { parseAddress } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';

/**
 * What is left of a node whose Node is gone: Pods, CiliumEndpoints, its CiliumNode, and
 * a kubelet that renews its Lease. Asked of the API server itself, and only when a
 * block would be released without a word of anybody who can know. What may not be read
 * is not gone.
 */
interface NodeTracesOptions {
  client: KubeClient;
  clock: { monotonicMs(): number };
}

/** A kubelet renews its Lease every 10 s; one that has not for so long does not. */
const leaseWatchMs = 60_000;
/** When many nodes go at once, all endpoints are listed once for all of them. */
const endpointsForMs = 10_000;

export class NodeTraces {
  readonly #o: NodeTracesOptions;
  #endpointList: { atMs: number; addresses: readonly string[] } | undefined;
  readonly #leases = new Map<string, { version: string; sinceMs: number }>();

  constructor(options: NodeTracesOptions) {
    this.#o = options;
  }

  /** `isNamesake`: there is another Node of that name, so its Pods and its Lease say nothing. */
  async of(block: Block, isNamesake: boolean): Promise<string[]> {
    const found: string[] = [];
    const look = async (what: string, count: () => Promise<string | undefined>) => {
      try {
        const trace = await count();
        if (trace !== undefined) found.push(trace);
      } catch (error) {
        found.push(`${what} could not be read: ${describeError(error)}`);
      }
    };
    await look('Pods', () => this.#pods(block, isNamesake));
    await look('CiliumEndpoints', () => this.#endpoints(block));
    if (!isNamesake) {
      await look('the CiliumNode', () => this.#ciliumNode(block));
      await look('the Lease of the kubelet', () => this.#lease(block));
    }
    return found;
  }

  forget(block: Block): void {
    this.#leases.delete(block.name);
  }

  async #pods({ nodeName, prefix }: Block, isNamesake: boolean): Promise<string | undefined> {
    const fieldSelector = `spec.nodeName=${nodeName}`;
    const { items } = await this.#o.client.list<KubeObject>(pods, { fieldSelector });
    const left = isNamesake
      ? items.filter((pod) => readPod(pod).addresses.some((address) => liesIn(prefix, address)))
      : items;
    return left.length > 0 ? `${plural(left.length, 'Pod')} of ${nodeName} still exist` : undefined;
  }

  /** By the address of the endpoint: its `node` is an address that another machine may have by now. */
  async #endpoints({ prefix }: Block): Promise<string | undefined> {
    const nowMs = this.#o.clock.monotonicMs();
    if (this.#endpointList === undefined || nowMs - this.#endpointList.atMs > endpointsForMs) {
      this.#endpointList = { atMs: nowMs, addresses: await this.#listEndpoints() };
    }
    const count = this.#endpointList.addresses.filter((one) => liesIn(prefix, one)).length;
    return count > 0 ? `${plural(count, 'CiliumEndpoint')} in ${prefix} still exist` : undefined;
  }

  async #listEndpoints(): Promise<string[]> {
    let found: string[] = [];
    const reader = {
      onStart: () => {
        found = [];
      },
      onItem: (endpoint: KubeObject) => {
        found.push(...endpointAddresses(endpoint));
      },
    };
    await ifFound(this.#o.client.listEach<KubeObject>(ciliumEndpoints, {}, reader));
    return found;
  }

  async #ciliumNode({ nodeName }: Block): Promise<string | undefined> {
    const found = await getIfThere(this.#o.client, ciliumNodes, nodeName);
    return found === undefined ? undefined : `CiliumNode ${nodeName} still exists`;
  }

  /** A Lease that is only left behind does not change. */
  async #lease({ name, nodeName }: Block): Promise<string | undefined> {
    const lease = await getIfThere(this.#o.client, leases, nodeName, {
      namespace: 'kube-node-lease',
    });
    if (lease === undefined) return undefined;
    const { resourceVersion: version = '' } = lease.metadata ?? {};
    const nowMs = this.#o.clock.monotonicMs();
    const known = this.#leases.get(name);
    if (known?.version !== version) this.#leases.set(name, { version, sinceMs: nowMs });
    else if (nowMs - known.sinceMs >= leaseWatchMs) return undefined;
    return `the kubelet of ${nodeName} may still renew its Lease`;
  }
}

function liesIn(prefix: Prefix, text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && prefix.contains(address);
}

function endpointAddresses({ status }: KubeObject): string[] {
  const { networking } = (status ?? {}) as {
    networking?: { addressing?: Array<{ ipv4?: string; ipv6?: string }> | null } | null;
  };
  return (networking?.addressing ?? []).flatMap(({ ipv4, ipv6 }) =>
    [ipv4, ipv6].filter((text): text is string => typeof text === 'string'),
  );
}
