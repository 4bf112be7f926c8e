/**
 * What the API server fills in where nothing is said, by the type it stands in:
 * constants only; what depends on another field is in the rules of the kind.
 * They are not part of the published schemas, as with the real one.
 */
import type { Schema } from '../schema/schema.ts';

const webhook = {
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  timeoutSeconds: 10,
};
const container = {
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
};
const volumeMode = { volumeMode: 'Filesystem' };
const fileMode = { defaultMode: 0o644 };
const once = { replicas: 1 };

const defaults: Readonly<Record<string, Record<string, unknown>>> = {
  'admissionregistration.v1.MatchResources': {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
  },
  'admissionregistration.v1.MutatingAdmissionPolicySpec': { failurePolicy: 'Fail' },
  'admissionregistration.v1.MutatingWebhook': { ...webhook, reinvocationPolicy: 'Never' },
  'admissionregistration.v1.NamedRuleWithOperations': { scope: '*' },
  'admissionregistration.v1.RuleWithOperations': { scope: '*' },
  'admissionregistration.v1.ServiceReference': { port: 443 },
  'admissionregistration.v1.ValidatingAdmissionPolicySpec': { failurePolicy: 'Fail' },
  'admissionregistration.v1.ValidatingWebhook': webhook,
  'apps.v1.DaemonSetSpec': { updateStrategy: {}, revisionHistoryLimit: 10 },
  'apps.v1.DaemonSetUpdateStrategy': { type: 'RollingUpdate' },
  'apps.v1.DeploymentSpec': {
    ...once,
    strategy: {},
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  },
  'apps.v1.DeploymentStrategy': { type: 'RollingUpdate' },
  'apps.v1.ReplicaSetSpec': once,
  'apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy': {
    whenDeleted: 'Retain',
    whenScaled: 'Retain',
  },
  'apps.v1.StatefulSetSpec': {
    ...once,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: {},
    revisionHistoryLimit: 10,
    persistentVolumeClaimRetentionPolicy: {},
  },
  'apps.v1.StatefulSetUpdateStrategy': { type: 'RollingUpdate' },
  'autoscaling.v1.HorizontalPodAutoscalerSpec': { minReplicas: 1 },
  'autoscaling.v2.HorizontalPodAutoscalerSpec': { minReplicas: 1 },
  'batch.v1.CronJobSpec': {
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  },
  'core.v1.ConfigMapVolumeSource': fileMode,
  'core.v1.Container': container,
  'core.v1.DownwardAPIVolumeSource': fileMode,
  'core.v1.EphemeralContainer': container,
  'core.v1.HTTPGetAction': { path: '/', scheme: 'HTTP' },
  'core.v1.HostPathVolumeSource': { type: '' },
  'core.v1.ObjectFieldSelector': { apiVersion: 'v1' },
  'core.v1.PersistentVolumeClaimSpec': volumeMode,
  'core.v1.PersistentVolumeSpec': { ...volumeMode, persistentVolumeReclaimPolicy: 'Retain' },
  'core.v1.PodSpec': {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  },
  'core.v1.Probe': {
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  },
  'core.v1.ProjectedVolumeSource': fileMode,
  'core.v1.ReplicationControllerSpec': once,
  'core.v1.SecretVolumeSource': fileMode,
  'core.v1.ServiceAccountTokenProjection': { expirationSeconds: 3600 },
  'flowcontrol.v1.ExemptPriorityLevelConfiguration': {
    nominalConcurrencyShares: 0,
    lendablePercent: 0,
  },
  'flowcontrol.v1.FlowSchemaSpec': { matchingPrecedence: 1000 },
  'flowcontrol.v1.LimitedPriorityLevelConfiguration': {
    nominalConcurrencyShares: 30,
    lendablePercent: 0,
  },
  'flowcontrol.v1.QueuingConfiguration': { queues: 64, handSize: 8, queueLengthLimit: 50 },
  'networking.v1.IngressClassParametersReference': { scope: 'Cluster' },
  'networking.v1.NetworkPolicyPort': { protocol: 'TCP' },
  'resource.v1.ExactDeviceRequest': { allocationMode: 'ExactCount' },
  'scheduling.v1.PriorityClass': { preemptionPolicy: 'PreemptLowerPriority' },
  'storage.v1.CSIDriverSpec': {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    volumeLifecycleModes: ['Persistent'],
    requiresRepublish: false,
    seLinuxMount: false,
  },
  'storage.v1.StorageClass': { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
};

/** The definitions with these defaults in them. */
export function withDefaults(definitions: Record<string, Schema>): Record<string, Schema> {
  const filled = { ...definitions };
  for (const [type, values] of Object.entries(defaults)) {
    const name = `io.k8s.api.${type}`;
    const known = definitions[name];
    if (known === undefined) throw new Error(`no definition of ${name}`);
    const properties: Record<string, Schema> = { ...known.properties };
    for (const [field, value] of Object.entries(values)) {
      const schema = properties[field];
      if (schema === undefined) throw new Error(`${name} has no field ${field}`);
      properties[field] = { ...schema, default: value };
    }
    filled[name] = { ...known, properties };
  }
  return filled;
}
