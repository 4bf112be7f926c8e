/**
 * Which node announces which of its blocks to whom, by Cilium's BGP objects:
 *
 *   CiliumBGPClusterConfig   nodeSelector: which nodes; peers, each with a PeerConfig
 *   CiliumBGPNodeConfig      the same for one node, written by cilium-operator; the agent reads
 *                            this one and no other; its status says how the sessions are
 *   CiliumBGPPeerConfig      families, each with a selector of advertisements
 *   CiliumBGPAdvertisement   PodCIDR, CiliumPodIPPool or Service
 *   CiliumPodIPPool          its labels, by which an advertisement selects it, and its mask sizes
 *   CiliumBGPPeeringPolicy   all of that in one object, up to 1.18; it goes before the others
 *
 * Since its control plane came (1.12), Cilium announces CiliumNode.spec.ipam in every
 * mode: podCIDRs in the modes cluster-pool and kubernetes, the blocks of pools in
 * multi-pool, where advertisements of PodCIDR are off.
 */

import {
  type CiliumBgp,
  type CiliumBgpInstancePeer,
  type CiliumBgpNodeConfig,
  type CiliumBgpSession,
  isSelected,
  type ObjectSelector,
} from '../../model/cilium-bgp.ts';
import type { CiliumNode } from '../../model/cilium-node.ts';
import type { CiliumPodPool } from '../../model/cilium-pod-pool.ts';
import { type Cure, cure } from '../../model/cures.ts';
import type { Labels } from '../../model/label-selector.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { readPrefixes } from '../blocks/truth.ts';
import { compareText } from '../pools/pool-set.ts';

export interface CiliumPeer {
  name: string;
  address: string;
}

/** One block that the objects tell the node to announce to one router. */
export interface CiliumAnnouncement {
  prefix: Prefix;
  peer: CiliumPeer;
  /** The change after which Cilium does not announce it. */
  stop: string;
  /** Why it does not go out; absent: nothing stands against it. */
  gap?: AnnouncingGap;
}

export interface AnnouncingGap {
  /** What is so, in words. */
  why: string;
  fix: Cure;
}

export interface CiliumAnnouncing {
  /** Routers that the node is to have a session with. */
  peers: readonly CiliumPeer[];
  announcements: readonly CiliumAnnouncement[];
  /** Families of which it is to announce every block that CiliumNode names. */
  wholeFamilies: ReadonlySet<Family>;
  /** Why nothing else is announced. */
  otherwise: AnnouncingGap;
}

/** Is the node to announce the block, or would it be if CiliumNode named it? */
export function isToAnnounce(announcing: CiliumAnnouncing, prefix: Prefix): boolean {
  if (announcing.wholeFamilies.has(prefix.family)) return true;
  return announcing.announcements.some((one) => one.prefix.equals(prefix));
}

/** Why the block does not go out to one router or any; empty: nothing stands against it. */
export function announcingGaps(
  announcing: CiliumAnnouncing,
  node: string,
  prefix: Prefix,
): AnnouncingGap[] {
  const ofBlock = announcing.announcements.filter((one) => one.prefix.equals(prefix));
  if (ofBlock.length > 0) return ofBlock.flatMap(({ gap }) => (gap === undefined ? [] : [gap]));
  if (!announcing.wholeFamilies.has(prefix.family)) return [announcing.otherwise];
  return [
    {
      why: `Cilium announces what CiliumNode ${node} names, and this block is not there`,
      fix: cure(
        'SeeCiliumNode',
        `see why CiliumNode ${node} does not name ${prefix}: kubectl get ciliumnode ${node} -o yaml`,
      ),
    },
  ];
}

export interface CiliumSpeaker {
  name: string;
  labels: Labels;
  cilium: CiliumNode | undefined;
}

/** Modes in which Cilium's agent announces CiliumNode.spec.ipam.podCIDRs. */
const podCidrModes: readonly string[] = ['kubernetes', 'cluster-pool'];

export class CiliumAnnouncers {
  readonly #bgp: CiliumBgp;
  readonly #ipam: string | undefined;
  readonly #nodeConfigs: ReadonlyMap<string, CiliumBgpNodeConfig>;
  readonly #podPools: ReadonlyMap<string, CiliumPodPool> | undefined;

  /** `ipam` as in cilium-config; undefined: not seen. So are `podPools`. */
  constructor(bgp: CiliumBgp, ipam: string | undefined, podPools?: readonly CiliumPodPool[]) {
    this.#podPools = podPools && new Map(podPools.map((one) => [one.name, one]));
    this.#bgp = bgp;
    this.#ipam = ipam;
    this.#nodeConfigs = new Map(bgp.nodeConfigs.map((one) => [one.name, one]));
  }

  of(node: CiliumSpeaker): CiliumAnnouncing {
    const policies = this.#bgp.peeringPolicies.filter(({ nodeSelector }) =>
      isSelected(nodeSelector, node.labels),
    );
    if (policies.length > 0) return this.#byPolicies(node, policies);
    return this.#byConfigs(node);
  }

  #byPolicies(
    node: CiliumSpeaker,
    policies: readonly CiliumBgp['peeringPolicies'][number][],
  ): CiliumAnnouncing {
    const names = policies.map(({ name }) => name).sort();
    const peers: CiliumPeer[] = [];
    const announcements: CiliumAnnouncement[] = [];
    const wholeFamilies = new Set<Family>();
    // The agent ends all its sessions where two policies select its node.
    const conflict: AnnouncingGap | undefined =
      policies.length === 1
        ? undefined
        : {
            why: `CiliumBGPPeeringPolicies ${names.join(' and ')} all select ${node.name}; Cilium then obeys none`,
            fix: cure(
              'OnePeeringPolicy',
              `change nodeSelector so that one CiliumBGPPeeringPolicy selects ${node.name}`,
            ),
          };
    for (const { name, routers } of policies) {
      const at = `CiliumBGPPeeringPolicy ${name}`;
      for (const { exportsPodCidr, pools, peers: neighbors } of routers) {
        const blocks: PlannedBlock[] = [
          ...(exportsPodCidr ? this.#podCidrs(node, `set exportPodCIDR: false in ${at}`) : []),
          ...this.#pooled(node, pools, `take podIPPoolSelector out of ${at}`, false),
        ];
        for (const { address, families } of neighbors) {
          if (exportsPodCidr && this.#hasPodCidrs)
            for (const one of families) wholeFamilies.add(one);
          const peer = { name: address, address };
          peers.push(peer);
          for (const block of blocks) {
            if (!families.includes(block.prefix.family)) continue;
            announcements.push({ ...block, peer, ...(conflict ? { gap: conflict } : {}) });
          }
        }
      }
    }
    const otherwise = conflict ?? {
      why: `CiliumBGPPeeringPolicy ${names[0]} does not announce it`,
      fix: cure(
        'ExportPodCidr',
        `set exportPodCIDR: true in CiliumBGPPeeringPolicy ${names[0]}, if it is to be announced${this.#hint()}`,
      ),
    };
    return { peers, announcements, wholeFamilies, otherwise };
  }

  #byConfigs(node: CiliumSpeaker): CiliumAnnouncing {
    const { name } = node;
    const nodeConfig = this.#nodeConfigs.get(name);
    const selecting = this.#bgp.clusterConfigs
      .filter(({ nodeSelector }) => isSelected(nodeSelector, node.labels))
      .sort((a, b) => compareText(a.name, b.name));
    // Of several the one that the node's configuration was made from counts.
    const config = selecting.find((one) => one.name === nodeConfig?.owner) ?? selecting[0];
    const planned = [...(nodeConfig?.peers ?? [])];
    for (const peer of config?.peers ?? []) {
      if (!planned.some((one) => isSame(one, peer))) planned.push(peer);
    }
    const peers: CiliumPeer[] = [];
    const announcements: CiliumAnnouncement[] = [];
    const wholeFamilies = new Set<Family>();
    const silent: AnnouncingGap[] = [];
    for (const one of planned) {
      const peer = { name: one.name, address: one.address ?? '' };
      peers.push(peer);
      const { blocks, why } = this.#advertised(node, one, wholeFamilies);
      if (why !== undefined) silent.push(why);
      const gap = this.#gap(name, config?.name ?? '', nodeConfig, one);
      for (const block of blocks) {
        announcements.push({ ...block, peer, ...(gap === undefined ? {} : { gap }) });
      }
    }
    const otherwise = silent[0] ?? this.#nobody(name, planned.length > 0);
    return { peers, announcements, wholeFamilies, otherwise };
  }

  #nobody(node: string, hasPeers: boolean): AnnouncingGap {
    const { clusterConfigs } = this.#bgp;
    if (hasPeers) {
      return {
        why: 'no CiliumBGPAdvertisement that its peers select is about it',
        fix: cure(
          'AdvertisePods',
          `see CiliumBGPAdvertisements and the families of CiliumBGPPeerConfigs${this.#hint()}`,
        ),
      };
    }
    if (clusterConfigs.length === 0) {
      return {
        why: 'there is no CiliumBGPClusterConfig',
        fix: cure(
          'CreateClusterConfig',
          'create a CiliumBGPClusterConfig, if blocks are to be announced',
        ),
      };
    }
    const names = clusterConfigs.map(({ name }) => name).sort();
    return {
      why: `no CiliumBGPClusterConfig selects ${node} by its labels`,
      fix: cure(
        'LabelForClusterConfig',
        `label ${node} as spec.nodeSelector asks: kubectl get ciliumbgpclusterconfig ${names.join(' ')} -o yaml`,
      ),
    };
  }

  /** What stands between a planned announcement and the router. */
  #gap(
    node: string,
    config: string,
    nodeConfig: CiliumBgpNodeConfig | undefined,
    peer: CiliumBgpInstancePeer,
  ): AnnouncingGap | undefined {
    if (nodeConfig === undefined) {
      return {
        why: `CiliumBGPClusterConfig ${config} selects ${node}, but there is no CiliumBGPNodeConfig ${node}, which cilium-operator makes`,
        fix: cure(
          'RunCiliumOperator',
          'see that cilium-operator runs and what it logs: kubectl -n kube-system get deployment cilium-operator',
        ),
      };
    }
    if (!nodeConfig.peers.some((one) => isSame(one, peer))) {
      return {
        why: `CiliumBGPNodeConfig ${node} has no peer ${peer.name} of CiliumBGPClusterConfig ${config} yet; cilium-operator adds it`,
        fix: cure(
          'RunCiliumOperator',
          'see that cilium-operator runs and what it logs: kubectl -n kube-system get deployment cilium-operator',
        ),
      };
    }
    const session = nodeConfig.sessions.find((one) => isSessionOf(one, peer));
    if (session?.state === undefined || session.state === 'established') return undefined;
    return {
      why: `the session of ${node} with ${peer.name} is ${session.state}, by CiliumBGPNodeConfig ${node}`,
      fix: cure(
        'SeeCiliumSession',
        `see why the session is down, on the router too: kubectl get ciliumbgpnodeconfig ${node} -o yaml`,
      ),
    };
  }

  #advertised(
    node: CiliumSpeaker,
    { name, peerConfig }: CiliumBgpInstancePeer,
    wholeFamilies: Set<Family>,
  ): { blocks: PlannedBlock[]; why?: AnnouncingGap } {
    if (peerConfig === undefined) {
      const why = `peer ${name} names no CiliumBGPPeerConfig, so that nothing is announced to it`;
      const fix = cure(
        'GivePeerConfigRef',
        `give peer ${name} a peerConfigRef, if blocks are to be announced to it`,
      );
      return { blocks: [], why: { why, fix } };
    }
    const settings = this.#bgp.peerConfigs.find((one) => one.name === peerConfig);
    if (settings === undefined) {
      const why = `peer ${name} names CiliumBGPPeerConfig ${peerConfig}, which does not exist`;
      return {
        blocks: [],
        why: { why, fix: cure('CreatePeerConfig', `create CiliumBGPPeerConfig ${peerConfig}`) },
      };
    }
    const found = new Map<string, PlannedBlock>();
    for (const { family, advertisements } of settings.families) {
      const parts = this.#bgp.advertisements
        .filter(({ labels }) => isSelected(advertisements, labels))
        .flatMap(({ name, parts }) => parts.map((part) => ({ ...part, of: name })));
      for (const { type, selector, of } of parts) {
        const stop = `take advertisementType ${type} out of CiliumBGPAdvertisement ${of}`;
        if (type === 'PodCIDR' && this.#hasPodCidrs) wholeFamilies.add(family);
        const blocks =
          type === 'PodCIDR'
            ? this.#podCidrs(node, stop)
            : type === 'CiliumPodIPPool'
              ? this.#pooled(node, selector, stop, true)
              : [];
        for (const block of blocks) {
          const key = block.prefix.toString();
          if (block.prefix.family !== family) continue;
          if (found.get(key)?.gap !== undefined || !found.has(key)) found.set(key, block);
        }
      }
    }
    return { blocks: [...found.values()] };
  }

  /** Advertisements of PodCIDR have an effect in this mode. */
  get #hasPodCidrs(): boolean {
    return this.#ipam === undefined || podCidrModes.includes(this.#ipam);
  }

  #podCidrs({ cilium }: CiliumSpeaker, stop: string): PlannedBlock[] {
    if (!this.#hasPodCidrs) return [];
    return readPrefixes(cilium?.podCidrs ?? []).map((prefix) => ({ prefix, stop }));
  }

  /**
   * The node's blocks of the pools that are selected. `byLength`: the agent lets out blocks of
   * the pool's mask size alone, as it does by CiliumBGPAdvertisements.
   */
  #pooled(
    { cilium }: CiliumSpeaker,
    selector: ObjectSelector,
    stop: string,
    byLength: boolean,
  ): PlannedBlock[] {
    return (cilium?.pools ?? []).flatMap(({ pool: name, cidrs }): PlannedBlock[] => {
      const pool = this.#podPools?.get(name);
      const own = { [poolNameLabel]: name, [poolNamespaceLabel]: '' };
      const isMeant =
        this.#podPools === undefined
          ? isSelected(ofNameAlone(selector), own)
          : isSelected(selector, { ...pool?.labels, ...own });
      if (!isMeant) return [];
      return readPrefixes(cidrs).map((prefix) => {
        const gap = this.#poolGap(name, pool, prefix, byLength);
        return { prefix, stop, ...(gap === undefined ? {} : { gap }) };
      });
    });
  }

  #poolGap(
    name: string,
    pool: CiliumPodPool | undefined,
    prefix: Prefix,
    byLength: boolean,
  ): AnnouncingGap | undefined {
    if (this.#podPools === undefined) return undefined;
    if (pool === undefined) {
      return {
        why: `there is no CiliumPodIPPool ${name}, and Cilium announces blocks of no other pools`,
        fix: cure(
          'CreateCiliumPodIPPool',
          `create CiliumPodIPPool ${name} with the CIDRs and mask sizes of the IPPool, if its blocks are to be announced`,
        ),
      };
    }
    const size = pool.maskSize[prefix.family];
    if (!byLength || size === prefix.length) return undefined;
    return {
      why: `CiliumPodIPPool ${name} has ${size === undefined ? `no ${prefix.family}` : `the mask size ${size}`}, and Cilium announces no block of another size`,
      fix: cure(
        'AlignMaskSize',
        `give CiliumPodIPPool ${name} blocks of /${prefix.length}, as the node has`,
      ),
    };
  }

  #hint(): string {
    if (this.#hasPodCidrs) return '';
    const other = this.#ipam === 'multi-pool' ? '; CiliumPodIPPool announces blocks of pools' : '';
    return ` (in mode ${this.#ipam} Cilium has no advertisements of PodCIDR${other})`;
  }
}

/** A pool has its labels, and its name as one more. */
const poolNameLabel = 'io.cilium.podippool.name';
const poolNamespaceLabel = 'io.cilium.podippool.namespace';

/** Where no pool was seen, only names are known: whatever else is asked for counts as met. */
function ofNameAlone(selector: ObjectSelector): ObjectSelector {
  if (selector.kind !== 'by') return selector;
  const { matchLabels = {}, matchExpressions = [] } = selector.by;
  const byName = Object.entries(matchLabels).filter(([key]) => key === poolNameLabel);
  return {
    kind: 'by',
    by: {
      matchLabels: Object.fromEntries(byName),
      matchExpressions: matchExpressions.filter(({ key }) => key === poolNameLabel),
    },
  };
}

/** A block, and what stands against it whatever the router. */
type PlannedBlock = Omit<CiliumAnnouncement, 'peer'>;

function isSame(one: CiliumBgpInstancePeer, other: CiliumBgpInstancePeer): boolean {
  return one.instance === other.instance && one.name === other.name;
}

function isSessionOf({ instance, peer }: CiliumBgpSession, of: CiliumBgpInstancePeer): boolean {
  return instance === of.instance && peer === of.name;
}
