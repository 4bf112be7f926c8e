import { addToGroup } from '../../base/add-to-group.ts';
import type { Block } from '../../model/node-block.ts';
import { hostPrefix } from '../../model/service-address.ts';
import type { Address } from '../../net/address.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import type { Prefix } from '../../net/prefix.ts';
import { canonicalAddress } from '../doctor/next-hops.ts';
import type { Survey, SurveyedBlock } from '../doctor/survey.ts';

/** A pod, by whoever has seen it: the Pod itself, or Cilium's endpoint. */
export interface FoundPod {
  /** `namespace/name`. */
  name: string;
  node: string;
  addresses: readonly string[];
}

/**
 * A survey, to be asked for names and addresses. Made once for a state of the
 * cluster; then who has an address is looked up, not searched.
 */
export class ClusterIndex {
  readonly survey: Survey;
  readonly pods: ReadonlyMap<string, FoundPod>;
  readonly podsOf: ReadonlyMap<string, readonly FoundPod[]>;
  /** By name; a router that nodes only have as a peer is one too. */
  readonly routers: ReadonlyMap<string, FoundRouter>;
  readonly #podAt = new Map<string, FoundPod>();
  readonly #nodeAt = new Map<string, string>();
  readonly #registered = new ClaimIndex<Block>();

  constructor(survey: Survey) {
    this.survey = survey;
    const { evidence } = survey;
    for (const block of evidence.blocks) this.#registered.record(block.prefix, block);
    for (const { node } of survey.nodes.values()) {
      for (const address of node.addresses) {
        this.#nodeAt.set(canonicalAddress(address), node.name);
      }
    }
    const pods = new Map<string, FoundPod>();
    for (const pod of evidence.pods ?? []) {
      const name = `${pod.namespace}/${pod.name}`;
      pods.set(name, { name, node: pod.node, addresses: pod.addresses });
    }
    for (const endpoint of evidence.ciliumEndpoints ?? []) {
      const name = `${endpoint.namespace}/${endpoint.name}`;
      if (pods.has(name)) continue;
      const node = this.#nodeAt.get(canonicalAddress(endpoint.nodeIp)) ?? '';
      pods.set(name, { name, node, addresses: endpoint.addresses });
    }
    const podsOf = new Map<string, FoundPod[]>();
    for (const pod of pods.values()) {
      addToGroup(podsOf, pod.node, pod);
      for (const address of pod.addresses) this.#podAt.set(canonicalAddress(address), pod);
    }
    this.pods = pods;
    this.podsOf = podsOf;
    this.routers = routersOf(survey);
  }

  podAt(address: Address): FoundPod | undefined {
    return this.#podAt.get(address.toString());
  }

  nodeAt(address: Address): string | undefined {
    return this.#nodeAt.get(address.toString());
  }

  /** The smallest block of a live node around it, by the record that is the truth. */
  ownedAround(prefix: Prefix): SurveyedBlock | undefined {
    const { claims, blocks } = this.survey;
    const found = longest(claims.around(prefix));
    return found === undefined ? undefined : blocks[found.owner];
  }

  /** The smallest NodeBlock around it, in whatever phase; a guard only takes room. */
  registeredAround(prefix: Prefix): Block | undefined {
    return longest(this.#registered.around(prefix).filter(({ owner }) => owner.phase !== 'Guard'))
      ?.owner;
  }

  registeredIn(prefix: Prefix): Block[] {
    return this.#registered.overlapping(prefix).map(({ owner }) => owner);
  }

  blockAt(address: Address): SurveyedBlock | undefined {
    return this.ownedAround(hostPrefix(address));
  }
}

export interface FoundRouter {
  name: string;
  addresses: readonly string[];
  /** Its autonomous system, where a peer or a session states it. */
  asn: number | undefined;
}

function routersOf({ evidence, nodes }: Survey): Map<string, FoundRouter> {
  const found = new Map<string, FoundRouter>();
  const nameAt = new Map<string, string>();
  for (const { router, addresses } of evidence.routers) {
    found.set(router, { name: router, addresses, asn: undefined });
    for (const address of addresses) nameAt.set(canonicalAddress(address), router);
  }
  const add = (peer: string, address: string, asn: number) => {
    const name = nameAt.get(canonicalAddress(address)) ?? peer;
    const known = found.get(name);
    const addresses = known?.addresses.length ? known.addresses : [address];
    found.set(name, { name, addresses, asn: known?.asn ?? asn });
  };
  for (const { name, address, asn } of evidence.peers) add(name, address, asn);
  for (const { report } of nodes.values()) {
    for (const { peer, address, asn } of report?.status?.sessions ?? []) add(peer, address, asn);
  }
  return found;
}

function longest<T extends { prefix: Prefix }>(all: readonly T[]): T | undefined {
  let best: T | undefined;
  for (const one of all)
    if (best === undefined || one.prefix.length > best.prefix.length) best = one;
  return best;
}
