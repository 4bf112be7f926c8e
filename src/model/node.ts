import {
  allPodCidrAnnotations,
  drainAnnotation,
  driftConditionType,
  nodeConditionType,
  outOfServiceTaint,
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
  /** The kubelet does not report, or says that it cannot run pods. */
  isNotReady?: true;
  /** It carries Kubernetes' out-of-service taint: a person says that the machine is off. */
  isOutOfService?: true;
  /** Our condition on the node, if there is one. */
  condition: Condition | undefined;
  /** What the continuous comparison said of it last. */
  drift?: Condition;
}

export function readNode(object: KubeObject): ClusterNode {
  const spec = (object.spec ?? {}) as {
    podCIDR?: unknown;
    podCIDRs?: unknown;
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
    ...((all?.[drainAnnotation] ?? 'false') === 'false' ? {} : { isLeaving: true as const }),
    ...(isNotReady(status.conditions) ? { isNotReady: true as const } : {}),
    ...(spec.taints?.some(({ key }) => key === outOfServiceTaint)
      ? { isOutOfService: true as const }
      : {}),
    condition: status.conditions?.find((c) => c.type === nodeConditionType),
    ...(drift === undefined ? {} : { drift }),
  };
}

function isNotReady(conditions: readonly Condition[] | undefined): boolean {
  const ready = conditions?.find(({ type }) => type === 'Ready');
  return ready !== undefined && ready.status !== 'True';
}
