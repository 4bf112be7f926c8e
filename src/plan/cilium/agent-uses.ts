import { addToGroup } from '../../base/add-to-group.ts';
import { listNames } from '../../base/count-text.ts';
import { atOnce, type Steps } from '../../base/steps.ts';
import type { CiliumEndpoint } from '../../model/cilium-endpoint.ts';
import type { CiliumNode } from '../../model/cilium-node.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { ClusterPod } from '../../model/pod.ts';
import { type Address, parseAddress } from '../../net/address.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';

/**
 * What nodes really use, whatever their records say. An agent of Cilium fixes its
 * allocator when it starts; a record that changes later moves routes and peers at once,
 * but not the agent. Three signs show it, each by itself:
 *
 *   CiliumInternalIP   the agent's own address, out of the block that it serves from
 *   Pod.status         the addresses that pods have
 *   CiliumEndpoint     the same, as the agent wrote it
 *
 * Put in order once, for all nodes; addresses are parsed when a node is asked for.
 */
export interface SeenUses {
  nodes: readonly Pick<ClusterNode, 'name' | 'addresses'>[];
  ciliumNodes: readonly CiliumNode[];
  /** undefined: not looked at, or there is none. */
  ciliumEndpoints?: readonly CiliumEndpoint[] | undefined;
  pods?: readonly ClusterPod[] | undefined;
}

/** One address of one pod. */
export interface UsedAddress {
  address: Address;
  /** `default/web-1`. */
  pod: string;
  seenIn: 'Pod' | 'CiliumEndpoint' | 'Pod and CiliumEndpoint';
  /** The pod is being deleted, or its endpoint is all that is left of it. */
  isEnding: boolean;
}

/** yes: its own address is in there. unknown: it has none of that family, so nobody can say. */
export type ServesFrom = 'yes' | 'no' | 'unknown';

export interface NodeUses {
  readonly node: string;
  /** CiliumInternalIP; empty: no agent of Cilium has written any. */
  readonly internal: readonly Address[];
  servesFrom(block: Prefix): ServesFrom;
  /** The addresses of its pods, sorted. */
  readonly addresses: readonly UsedAddress[];
  podsIn(block: Prefix): readonly UsedAddress[];
  /** Of those of `blocks` that have a family, in none of them. */
  podsOutside(blocks: readonly Prefix[]): readonly UsedAddress[];
}

/** One address on several pods. */
export interface SharedAddress {
  address: Address;
  /** `node` is empty where nobody knows it. */
  pods: ReadonlyArray<UsedAddress & { node: string }>;
}

/** Some ten milliseconds, with a hundred pods on each. */
export const nodesAStep = 100;

export class AgentUses {
  /** Whether anybody looked at pods, and at endpoints: none seen is no proof without it. */
  readonly sees: { readonly pods: boolean; readonly endpoints: boolean };
  readonly #ciliumNodes: ReadonlyMap<string, CiliumNode>;
  readonly #pods = new Map<string, ClusterPod[]>();
  readonly #endpoints = new Map<string, CiliumEndpoint[]>();
  readonly #podNamed = new Map<string, ClusterPod>();
  /** Endpoints of which nobody knows on which node they are. */
  readonly #homeless: CiliumEndpoint[] = [];
  readonly #made = new Map<string, NodeUses>();

  constructor(seen: SeenUses) {
    const { nodes, ciliumNodes, ciliumEndpoints, pods } = seen;
    this.sees = { pods: pods !== undefined, endpoints: ciliumEndpoints !== undefined };
    this.#ciliumNodes = new Map(ciliumNodes.map((one) => [one.name, one]));
    for (const pod of pods ?? []) {
      addToGroup(this.#pods, pod.node, pod);
      if (ciliumEndpoints !== undefined) this.#podNamed.set(keyOf(pod), pod);
    }
    if (ciliumEndpoints === undefined) return;
    const nodeAt = new Map<string, string>();
    const put = (name: string, addresses: readonly string[]) => {
      for (const address of addresses) nodeAt.set(canonical(address), name);
    };
    for (const { name, nodeIps } of ciliumNodes) put(name, nodeIps ?? []);
    // Last: a CiliumNode may be left over from a machine that had the address before.
    for (const { name, addresses } of nodes) put(name, addresses);
    for (const endpoint of ciliumEndpoints) {
      const node =
        nodeAt.get(canonical(endpoint.nodeIp)) ?? this.#podNamed.get(keyOf(endpoint))?.node;
      if (node === undefined) this.#homeless.push(endpoint);
      else addToGroup(this.#endpoints, node, endpoint);
    }
  }

  /** Whatever is known of a node, be it gone. */
  of(node: string): NodeUses {
    const known = this.#made.get(node);
    if (known !== undefined) return known;
    const made = this.#make(node);
    this.#made.set(node, made);
    return made;
  }

  /** Every node of which anything is known, sorted. */
  get nodeNames(): string[] {
    const names = [...this.#ciliumNodes.keys(), ...this.#pods.keys(), ...this.#endpoints.keys()];
    return [...new Set(names)].sort();
  }

  /** Endpoints of which nobody knows on which node they are. */
  get homeless(): readonly UsedAddress[] {
    return this.#usesOf([], this.#homeless);
  }

  shared(): SharedAddress[] {
    return atOnce(this.sharedInSteps());
  }

  /** Addresses that several live pods have, sorted; who has them by node. */
  *sharedInSteps(): Steps<SharedAddress[]> {
    const first = new Map<number | string, { node: string; used: UsedAddress }>();
    const found = new Map<number | string, SharedAddress>();
    const put = (node: string, used: UsedAddress) => {
      if (used.isEnding) return;
      const { address: at } = used;
      // A number where it can be one: there may be a hundred thousand of them.
      const key = at.family === 'ipv4' ? at.w0 : at.toString();
      const known = first.get(key);
      if (known === undefined) first.set(key, { node, used });
      else if (known.used.pod !== used.pod) {
        const { address } = used;
        const shared = found.get(key) ?? { address, pods: [{ node: known.node, ...known.used }] };
        found.set(key, { address, pods: [...shared.pods, { node, ...used }] });
      }
    };
    let seen = 0;
    for (const node of this.nodeNames) {
      for (const used of this.of(node).addresses) put(node, used);
      if (++seen % nodesAStep === 0) yield;
    }
    for (const used of this.homeless) put('', used);
    return [...found.values()].sort((a, b) => a.address.compare(b.address));
  }

  #make(node: string): NodeUses {
    const cilium = this.#ciliumNodes.get(node);
    const internal = (cilium?.internalIps ?? []).flatMap((text) => parseAddress(text) ?? []);
    // In mode multi-pool an agent takes blocks as they come, and lives in one of them.
    const pooled = (cilium?.poolCidrs ?? []).flatMap((text) => parsePrefix(text) ?? []);
    let addresses: UsedAddress[] | undefined;
    const all = () => {
      addresses ??= this.#usesOf(this.#pods.get(node) ?? [], this.#endpoints.get(node) ?? []);
      return addresses;
    };
    return {
      node,
      internal,
      get addresses() {
        return all();
      },
      servesFrom(block) {
        if (internal.some((own) => block.contains(own))) return 'yes';
        if (pooled.some((one) => one.overlaps(block))) return 'yes';
        return internal.some(({ family }) => family === block.family) ? 'no' : 'unknown';
      },
      podsIn: (block) => all().filter(({ address }) => block.contains(address)),
      podsOutside: (blocks) =>
        all().filter(
          ({ address }) =>
            blocks.some(({ family }) => family === address.family) &&
            !blocks.some((block) => block.contains(address)),
        ),
    };
  }

  #usesOf(pods: readonly ClusterPod[], endpoints: readonly CiliumEndpoint[]): UsedAddress[] {
    const all: UsedAddress[] = [];
    const found = new Map<string, UsedAddress>();
    const put = (pod: string, text: string, seenIn: UsedAddress['seenIn'], isEnding: boolean) => {
      const address = parseAddress(text);
      if (address === undefined) return;
      const used: UsedAddress = { address, pod, seenIn, isEnding };
      // Only endpoints can say the same once more.
      if (endpoints.length === 0) {
        all.push(used);
        return;
      }
      const id = `${pod} ${address}`;
      const known = found.get(id);
      if (known === undefined) {
        found.set(id, used);
        all.push(used);
      } else if (known.seenIn !== seenIn) known.seenIn = 'Pod and CiliumEndpoint';
    };
    for (const pod of pods) {
      for (const text of pod.addresses) put(keyOf(pod), text, 'Pod', pod.isEnding === true);
    }
    for (const endpoint of endpoints) {
      const key = keyOf(endpoint);
      const pod = this.#podNamed.get(key);
      const isLeftOver = this.sees.pods && (pod === undefined || pod.isEnding === true);
      for (const text of endpoint.addresses) put(key, text, 'CiliumEndpoint', isLeftOver);
    }
    return all.sort((a, b) => a.address.compare(b.address) || (a.pod < b.pod ? -1 : 1));
  }
}

/** `10.50.0.28 of default/web-1, 10.50.0.29 of default/web-2 and 3 more`. */
export function usedWords(used: readonly UsedAddress[], most?: number): string {
  return listNames(
    used.map(({ address, pod }) => `${address} of ${pod}`),
    most,
  );
}

function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}

function canonical(text: string): string {
  return parseAddress(text)?.toString() ?? text;
}
