import {
  allPodCidrAnnotations,
  drainAnnotation,
  driftConditionType,
  nodeConditionType,
  outOfServiceTaint,
  unschedulableTaint,
} from './keys.ts';
import type { Labels } from './label-selector.ts';
import {
  type Condition,
  type Identity,
  identityOf,
  type KubeObject,
  textList,
  timestampMs,
} from './object.ts';

/** A Node, cut down to what judgement needs: a tenth of what the API sends. */
export interface ClusterNode extends Identity {
  labels: Labels;
  createdMs: number;
  /** spec.podCIDRs as they are; they may carry host bits. */
  podCidrs: readonly string[];
  /** Only the annotations that carry pod CIDRs. */
  annotations: Readonly<Record<string, string>>;
  /** Whether metadata.annotations exists at all: a JSON patch must know. */
  hasAnnotations: boolean;
  addresses: readonly string[];
  /** Somebody has asked for its routes to be taken back. */
  isLeaving?: true;
  /** Somebody has said that a cordon is to withdraw nothing here. */
  keepsRoutesWhenCordoned?: true;
  /** No new pod is to come: `kubectl cordon`, or the taint that goes with it. */
  isCordoned?: true;
  /** Its kubelet says that the machine is shutting down, and ends its pods. */
  isShuttingDown?: true;
  /** Somebody has said that the machine is off, or is to be treated so. */
  isOutOfService?: true;
  /** The kubelet does not report, or says that it cannot run pods. */
  isNotReady?: true;
  /** Our condition on the node, if there is one. */
  condition: Condition | undefined;
  /** What the continuous comparison said of it last. */
  drift?: Condition;
}

export function readNode(object: KubeObject): ClusterNode {
  const spec = (object.spec ?? {}) as {
    podCIDR?: unknown;
    podCIDRs?: unknown;
    unschedulable?: unknown;
    taints?: Array<{ key?: string }>;
  };
  const status = (object.status ?? {}) as {
    addresses?: Array<{ type?: string; address?: string }>;
    conditions?: Condition[];
  };
  const annotations: Record<string, string> = {};
  const all = object.metadata?.annotations;
  for (const key of allPodCidrAnnotations) {
    const value = all?.[key];
    if (typeof value === 'string') annotations[key] = value;
  }
  const hasTaint = (key: string) => (spec.taints ?? []).some((taint) => taint?.key === key);
  const isCordoned = spec.unschedulable === true || hasTaint(unschedulableTaint);
  const drift = status.conditions?.find((c) => c.type === driftConditionType);
  const several = textList(spec.podCIDRs);
  const podCidrs = several.length > 0 ? several : textList(spec.podCIDR || undefined);
  return {
    ...identityOf(object),
    labels: object.metadata?.labels ?? {},
    createdMs: timestampMs(object.metadata?.creationTimestamp),
    podCidrs,
    annotations,
    hasAnnotations: all !== undefined && all !== null,
    addresses: (status.addresses ?? [])
      .filter((a) => a.type === 'InternalIP' && a.address)
      .map((a) => a.address as string),
    ...drainSigns(all?.[drainAnnotation]),
    ...(isCordoned ? { isCordoned } : {}),
    ...(isShuttingDown(status.conditions) ? { isShuttingDown: true as const } : {}),
    ...(hasTaint(outOfServiceTaint) ? { isOutOfService: true as const } : {}),
    ...(isNotReady(status.conditions) ? { isNotReady: true as const } : {}),
    condition: status.conditions?.find((c) => c.type === nodeConditionType),
    ...(drift === undefined ? {} : { drift }),
  };
}

function drainSigns(value: unknown): Pick<ClusterNode, 'isLeaving' | 'keepsRoutesWhenCordoned'> {
  if (value === undefined || value === null) return {};
  return value === 'false' ? { keepsRoutesWhenCordoned: true } : { isLeaving: true };
}

function isNotReady(conditions: readonly Condition[] | undefined): boolean {
  const ready = conditions?.find(({ type }) => type === 'Ready');
  return ready !== undefined && ready.status !== 'True';
}

/**
 * The kubelet has no reason of its own for it: of all that keeps it from being ready, this is
 * one of the errors in the message (pkg/kubelet/nodeshutdown, pkg/kubelet/nodestatus).
 */
function isShuttingDown(conditions: readonly Condition[] | undefined): boolean {
  const ready = conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'False' && (ready.message ?? '').includes('node is shutting down');
}
