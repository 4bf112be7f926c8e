import { excludeNodeLabel } from '../../model/keys.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { NodeReportStatus } from '../../model/node-report-status.ts';

/**
 * Which signs on a Node ask for its routes to be withdrawn, and which of them.
 *
 *   the taint node.kubernetes.io/out-of-service       everything, at once
 *   the kubelet's message "node is shutting down"     everything
 *   our annotation cadastre.dev/drain=true            everything
 *   cordoned                                          what --on-cordon says; with `services` the
 *                                                     blocks follow when the last pod has left;
 *                                                     with cadastre.dev/drain=false nothing
 *
 * Every one of them leads to the same ordered drain (agent/drain), and when the sign goes everything
 * is announced again.
 */
export const cordonChoices = ['services', 'blocks', 'nothing'] as const;

/** What a cordoned node withdraws while it still has pods. */
export type OnCordon = (typeof cordonChoices)[number];

export type LeavingSign = 'OutOfService' | 'Shutdown' | 'Annotation' | 'Cordon';

export interface Leaving {
  readonly sign: LeavingSign;
  readonly why: string;
  /** The blocks too, not only the addresses of Services. */
  readonly withBlocks: boolean;
  /** How long an address of a Service that no other node could announce stays after the others. */
  readonly keepMs: number;
}

type Signs = Pick<
  ClusterNode,
  | 'isLeaving'
  | 'isCordoned'
  | 'keepsRoutesWhenCordoned'
  | 'isShuttingDown'
  | 'isOutOfService'
  | 'isNotReady'
>;

interface LeavingInput {
  readonly onCordon: OnCordon;
  /** A pod has an address out of the node's blocks. */
  readonly hasPods: boolean;
  /** By which sign it was leaving before, if it was. */
  readonly before: LeavingSign | undefined;
}

/**
 * Time for another pod of the Service to become ready elsewhere. The kubelet's usual grace for a
 * shutdown is 30 s, and nobody who runs `cadastre drain` wants to wait for ever.
 */
export const keepLastMs = 30_000;

export function leavingOf(node: Signs, input: LeavingInput): Leaving | undefined {
  const { onCordon, hasPods, before } = input;
  const everything = { withBlocks: true, keepMs: keepLastMs };
  if (node.isOutOfService) {
    const why = 'the Node has the taint node.kubernetes.io/out-of-service';
    return { sign: 'OutOfService', why, ...everything, keepMs: 0 };
  }
  // The kubelet ends before the machine does. That its Node is then Unknown, or after the start
  // not ready yet, takes nothing back.
  if (node.isShuttingDown || (before === 'Shutdown' && node.isNotReady)) {
    return {
      sign: 'Shutdown',
      why: 'the kubelet says that the node is shutting down',
      ...everything,
    };
  }
  if (node.isLeaving) {
    return {
      sign: 'Annotation',
      why: 'the Node has the annotation cadastre.dev/drain',
      ...everything,
    };
  }
  if (!node.isCordoned || onCordon === 'nothing' || node.keepsRoutesWhenCordoned) return undefined;
  const cordon = { sign: 'Cordon', keepMs: Number.POSITIVE_INFINITY } as const;
  if (onCordon === 'blocks') return { ...cordon, why: 'the node is cordoned', withBlocks: true };
  return hasPods
    ? { ...cordon, why: 'the node is cordoned', withBlocks: false }
    : { ...cordon, why: 'the node is cordoned and no pod is left in its blocks', withBlocks: true };
}

export function hasLeavingSign(node: Signs): boolean {
  const { isOutOfService, isShuttingDown, isLeaving, isCordoned } = node;
  return (isOutOfService ?? isShuttingDown ?? isLeaving ?? isCordoned) === true;
}

/** Whether another node can be relied on to announce a Service that it can serve. */
export function staysForServices(
  node: Signs & Pick<ClusterNode, 'labels'>,
  onCordon: OnCordon,
): boolean {
  if (node.isNotReady || Object.hasOwn(node.labels, excludeNodeLabel)) return false;
  return leavingOf(node, { onCordon, hasPods: true, before: undefined }) === undefined;
}

/** Whether routers may lack this block of the node because it was withdrawn on purpose. */
export function isMeantToBeWithdrawn(
  node: Signs,
  report: Pick<NodeReportStatus, 'unannounced'> | undefined,
  cidr: string,
): boolean {
  if (node.isOutOfService || node.isShuttingDown || node.isLeaving) return true;
  if (!node.isCordoned) return false;
  return (report?.unannounced ?? []).some(
    (one) => one.cidr === cidr && one.reason === 'NodeDraining',
  );
}
