import { listNames } from '../../base/count-text.ts';
import type { CiliumNode } from '../../model/cilium-node.ts';
import { announcedFrom, curedByUpgrade, releaseText } from '../../model/cilium-support.ts';
import type { WitnessReport } from '../../model/cluster-kinds.ts';
import type { ClusterState } from '../../model/cluster-state.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Prefix } from '../../net/prefix.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { readPrefixes, type Truth } from '../blocks/truth.ts';
import { CiliumAnnouncers, type CiliumAnnouncing } from '../cilium/announces.ts';

/**
 * What nodes announce, where we can know it without asking a router. An agent of
 * ours says it in its NodeReport. Cilium's BGP control plane is told by its BGP
 * objects (plan/cilium/announces.ts). Before that (`bgp-announce-pod-cidr`) it is
 * known which record each version reads: up to 1.11 Node.spec.podCIDRs whatever
 * the mode (cilium/cilium#18852), from 1.12 on the record of its own mode.
 */
export type AnnouncedRecord = 'Node.spec' | 'CiliumNode';

export type AnnouncedBy =
  | {
      kind: 'record';
      record: AnnouncedRecord;
      orAnnotation: boolean;
      /** So old that it announces Node.spec whatever the mode: another version cures that. */
      isOld: boolean;
      why: string;
    }
  | { kind: 'objects'; announcers: CiliumAnnouncers; record: 'CiliumNode'; why: string }
  /**
   * Nodes announce, but from which record is not known, or whether they do. `isUnread`: who
   * knows was not to be asked, so that neither silence nor an outage is proven.
   */
  | { kind: 'unknown'; why: string; isPerhapsNothing: boolean; isUnread?: true }
  | { kind: 'nothing'; why: string };

type Announcers = Pick<
  ClusterState,
  'cilium' | 'ciliumBgp' | 'unreadCiliumBgp' | 'ciliumPodPools' | 'hasMetallb'
>;

export function announcedRecord(seen: Announcers, truth: Truth): AnnouncedBy {
  const { cilium, ciliumBgp, hasMetallb } = seen;
  if (cilium === undefined) {
    if (ciliumBgp !== undefined) return byObjects(ciliumBgp, seen, 'Cilium');
    if (hasMetallb === true) return { kind: 'nothing', why: 'MetalLB announces Services alone' };
    return { kind: 'unknown', why: 'no cilium-config was seen', isPerhapsNothing: false };
  }
  const { version, bgp } = cilium;
  if (bgp === 'off') return { kind: 'nothing', why: 'Cilium announces no pod blocks' };
  const name = version === undefined ? 'Cilium' : `Cilium ${releaseText(version)}`;
  if (bgp === 'control-plane') {
    const { unreadCiliumBgp: unread } = seen;
    if (unread !== undefined) {
      const why = `${name} has its BGP control plane on, but what it announces is not known: ${listNames(unread)} could not be read`;
      return { kind: 'unknown', why, isPerhapsNothing: false, isUnread: true };
    }
    if (ciliumBgp !== undefined) return byObjects(ciliumBgp, seen, name);
    const why = `${name} has its BGP control plane on, but no BGP object of it was seen`;
    return { kind: 'unknown', why, isPerhapsNothing: true };
  }
  if (version === undefined) {
    const why = 'Cilium announces, but its version is not known';
    return { kind: 'unknown', why, isPerhapsNothing: false };
  }
  if (curedByUpgrade(version)) {
    const why = `${name} announces Node.spec.podCIDRs`;
    return { kind: 'record', record: 'Node.spec', orAnnotation: false, isOld: true, why };
  }
  const isNode = truth.mode.truth === 'node' || announcedFrom(cilium) === 'Node.spec.podCIDRs';
  const record = isNode ? 'Node.spec' : 'CiliumNode';
  const field = record === 'Node.spec' ? 'Node.spec.podCIDRs' : 'CiliumNode.spec.ipam';
  const orAnnotation = record === 'Node.spec';
  return { kind: 'record', record, orAnnotation, isOld: false, why: `${name} announces ${field}` };
}

function byObjects(
  bgp: NonNullable<Announcers['ciliumBgp']>,
  { cilium, ciliumPodPools }: Announcers,
  name: string,
): AnnouncedBy {
  const why = `${name} announces CiliumNode.spec.ipam as its BGP objects say`;
  const announcers = new CiliumAnnouncers(bgp, cilium?.ipam, ciliumPodPools);
  return { kind: 'objects', announcers, record: 'CiliumNode', why };
}

export interface AnnouncedPrefix {
  prefix: Prefix;
  /** Undefined: to every peer. */
  peer?: string;
}

/** What one node announces; undefined: not known. */
export function announcementsOf(
  by: AnnouncedBy,
  node: ClusterNode,
  cilium: CiliumNode | undefined,
  report: WitnessReport | undefined,
  byCilium: CiliumAnnouncing | undefined,
): AnnouncedPrefix[] | undefined {
  const sessions = report?.status?.sessions;
  if (sessions !== undefined && sessions.length > 0) {
    return sessions.flatMap(({ peer, state, announced }) =>
      state === 'Established'
        ? announced.flatMap(({ prefix: text }) => {
            const prefix = parsePrefix(text);
            return prefix === undefined ? [] : [{ prefix, peer }];
          })
        : [],
    );
  }
  if (byCilium !== undefined) {
    return byCilium.announcements.flatMap(({ prefix, peer, gap }) =>
      gap === undefined ? [{ prefix, peer: peer.name }] : [],
    );
  }
  if (by.kind !== 'record') return by.kind === 'nothing' ? [] : undefined;
  if (by.record === 'CiliumNode') {
    return readPrefixes(cilium?.poolCidrs ?? cilium?.podCidrs ?? []).map((prefix) => ({ prefix }));
  }
  const isSilent = node.podCidrs.length === 0 && by.orAnnotation;
  const texts = isSilent ? Object.values(node.annotations) : node.podCidrs;
  return readPrefixes(texts).map((prefix) => ({ prefix }));
}
