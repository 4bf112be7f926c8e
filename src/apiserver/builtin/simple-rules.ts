/** Kinds with one or two rules of their own. */
import type { ApiObject, Fields } from '../object.ts';
import { type KindRules, keepSpec } from '../resource.ts';

/** What a new object's status says, whatever its creator said. */
const startsWith = (status: Fields): KindRules => ({
  prepareCreate: (object) => {
    object.status = { ...status };
  },
  prepareStatus: keepSpec,
});

export const simpleRules: Record<string, KindRules> = {
  CertificateSigningRequest: startsWith({}),
  CronJob: startsWith({}),
  // As a kubelet sends it before any driver has registered.
  CSINode: { prepareCreate: fillDrivers, prepareUpdate: fillDrivers },
  FlowSchema: startsWith({}),
  HorizontalPodAutoscaler: startsWith({ currentReplicas: 0, desiredReplicas: 0 }),
  Ingress: startsWith({ loadBalancer: {} }),
  NetworkPolicy: { prepareCreate: fillPolicyTypes, prepareUpdate: fillPolicyTypes },
  PersistentVolume: startsWith({ phase: 'Pending' }),
  PersistentVolumeClaim: startsWith({ phase: 'Pending' }),
  PodDisruptionBudget: startsWith({
    currentHealthy: 0,
    desiredHealthy: 0,
    disruptionsAllowed: 0,
    expectedPods: 0,
  }),
  PriorityLevelConfiguration: startsWith({}),
  ResourceClaim: startsWith({}),
  ResourceQuota: startsWith({}),
  ValidatingAdmissionPolicy: startsWith({}),
  VolumeAttachment: startsWith({ attached: false }),
};

function fillPolicyTypes(policy: ApiObject): void {
  const spec = (policy.spec ?? {}) as Fields;
  if (((spec.policyTypes ?? []) as string[]).length > 0) return;
  const hasEgress = ((spec.egress ?? []) as unknown[]).length > 0;
  spec.policyTypes = hasEgress ? ['Ingress', 'Egress'] : ['Ingress'];
}

function fillDrivers(node: ApiObject): void {
  node.spec ??= {};
  (node.spec as Fields).drivers ??= [];
}
