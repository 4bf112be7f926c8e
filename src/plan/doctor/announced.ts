import type { CiliumSettings } from '../../model/cilium-config.ts';
import type { CiliumNode } from '../../model/cilium-node.ts';
import type { WitnessReport } from '../../model/cluster-kinds.ts';
import { modeOfCilium } from '../../model/modes.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Prefix } from '../../net/prefix.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { readPrefixes, type Truth } from '../blocks/truth.ts';

/**
 * What nodes announce, where we can know it without asking a router. An agent of
 * ours says it in its NodeReport. Cilium says nothing, but it is known which
 * record each version reads: up to 1.11 Node.spec.podCIDRs whatever the mode
 * (cilium/cilium#18852), from 1.12 on the record of its own mode.
 */
export type AnnouncedRecord = 'Node.spec' | 'CiliumNode';

export type AnnouncedBy =
  | { kind: 'record'; record: AnnouncedRecord; orAnnotation: boolean; why: string }
  /** Nodes announce, but from which record is not known. */
  | { kind: 'unknown'; why: string }
  | { kind: 'nothing'; why: string };

export function announcedRecord(cilium: CiliumSettings | undefined, truth: Truth): AnnouncedBy {
  if (cilium === undefined) return { kind: 'unknown', why: 'no cilium-config was seen' };
  if (!cilium.announcesPods) return { kind: 'nothing', why: 'Cilium announces no pod blocks' };
  const { version } = cilium;
  if (version === undefined) {
    return { kind: 'unknown', why: 'Cilium announces, but its version is not known' };
  }
  const name = `Cilium ${version.major}.${version.minor}`;
  if (version.major < 1 || (version.major === 1 && version.minor <= 11)) {
    const why = `${name} announces Node.spec.podCIDRs`;
    return { kind: 'record', record: 'Node.spec', orAnnotation: false, why };
  }
  const record = [truth.mode, modeOfCilium(cilium.ipam)].some((mode) => mode?.truth === 'node')
    ? 'Node.spec'
    : 'CiliumNode';
  const field = record === 'Node.spec' ? 'Node.spec.podCIDRs' : 'CiliumNode.spec.ipam';
  const orAnnotation = record === 'Node.spec';
  return { kind: 'record', record, orAnnotation, why: `${name} announces ${field}` };
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
  if (by.kind !== 'record') return by.kind === 'nothing' ? [] : undefined;
  if (by.record === 'CiliumNode') {
    return readPrefixes(cilium?.poolCidrs ?? cilium?.podCidrs ?? []).map((prefix) => ({ prefix }));
  }
  const isSilent = node.podCidrs.length === 0 && by.orAnnotation;
  const texts = isSilent ? Object.values(node.annotations) : node.podCidrs;
  return readPrefixes(texts).map((prefix) => ({ prefix }));
}
