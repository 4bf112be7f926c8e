import { plural } from '../base/count-text.ts';
import { describeError } from '../base/errors.ts';
import type { KubeClient } from '../kube/client.ts';
import { getIfThere, ifFound } from '../kube/get-if-there.ts';
import { readCiliumEndpoint } from '../model/cilium-endpoint.ts';
import { readCiliumNode } from '../model/cilium-node.ts';
import type { Block } from '../model/node-block.ts';
import type { KubeObject } from '../model/object.ts';
import { readPod } from '../model/pod.ts';
import { ciliumEndpoints, ciliumNodes, leases, pods } from '../model/resources.ts';
import { parseAddress } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';
import { AgentUses } from '../plan/cilium/agent-uses.ts';
import { agentIsSilent, agentStillServes, podsStillIn } from '../plan/cilium/still-used.ts';

/**
 * What is left of a node whose Node is gone: Pods, CiliumEndpoints, its CiliumNode, and
 * a kubelet that renews its Lease. And of a node that is there, or of another one of its
 * name: what lives in the block. Asked of the API server itself, and only when a
 * block would be released without a word of anybody who can know. What may not be read
 * is not gone.
 */
interface NodeTracesOptions {
  client: KubeClient;
  clock: { monotonicMs(): number };
}

type Look = (block: Block) => Promise<string | undefined>;

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

  async ofGoneNode(block: Block): Promise<string[]> {
    const found: string[] = [];
    for (const [what, look] of [
      ['Pods', this.#pods],
      ['CiliumEndpoints', this.#endpoints],
      ['the CiliumNode', this.#ciliumNode],
      ['the Lease of the kubelet', this.#lease],
    ] as const) {
      found.push(...(await this.#look(block, what, look)));
    }
    return found;
  }

  /** The first that is found: all endpoints of a cluster are listed only when the rest is clear. */
  async inBlock(block: Block): Promise<string[]> {
    for (const [what, look] of [
      ['the CiliumNode', this.#agent],
      ['Pods', this.#podsInBlock],
      ['CiliumEndpoints', this.#endpoints],
    ] as const) {
      const found = await this.#look(block, what, look);
      if (found.length > 0) return found;
    }
    return [];
  }

  async #look(block: Block, what: string, look: Look): Promise<string[]> {
    try {
      const trace = await look.call(this, block);
      return trace === undefined ? [] : [trace];
    } catch (error) {
      return [`${what} could not be read: ${describeError(error)}`];
    }
  }

  forget(block: Block): void {
    this.#leases.delete(block.name);
  }

  async #pods({ nodeName }: Block): Promise<string | undefined> {
    const { length } = await this.#podsOf(nodeName);
    return length > 0 ? `${plural(length, 'Pod')} of ${nodeName} still exist` : undefined;
  }

  async #podsInBlock({ nodeName, prefix }: Block): Promise<string | undefined> {
    const pods = (await this.#podsOf(nodeName)).map(readPod);
    const uses = new AgentUses({ nodes: [], ciliumNodes: [], pods });
    return podsStillIn(uses.of(nodeName).podsIn(prefix), prefix);
  }

  async #podsOf(nodeName: string): Promise<KubeObject[]> {
    const fieldSelector = `spec.nodeName=${nodeName}`;
    const { items } = await this.#o.client.list<KubeObject>(pods, { fieldSelector });
    return items;
  }

  async #agent({ nodeName, prefix }: Block): Promise<string | undefined> {
    const raw = await getIfThere(this.#o.client, ciliumNodes, nodeName);
    if (raw === undefined) return undefined;
    const cilium = readCiliumNode(raw);
    const uses = new AgentUses({ nodes: [], ciliumNodes: [cilium] });
    return agentStillServes(uses.of(nodeName), prefix) ?? agentIsSilent(cilium);
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
        found.push(...readCiliumEndpoint(endpoint).addresses);
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
