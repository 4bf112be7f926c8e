/** Field by field: the kinds that are read from protobuf. The numbers are those of Kubernetes' generated.proto files. */
export type Kind =
  | 'string'
  | 'int'
  /** A number for which zero is nothing. */
  | 'count'
  | 'intOrString'
  | 'bool'
  | 'bytes'
  | 'time'
  | 'microTime'
  | 'strings'
  | 'blobs'
  | Shape;
/** Field number, name in JSON, what it is; a list if it repeats. */
export type Field = [number: number, name: string, kind: Kind, isList?: true];
export interface Shape {
  fields: Field[];
  /** What the server sets itself may be left out of the table. */
  dropsUnknown?: true;
}

type Numbers = Readonly<Record<string, number>>;

export const shape = (...fields: Field[][]): Shape => ({ fields: fields.flat() });
export const one = (kind: Kind, numbers: Numbers): Field[] =>
  Object.entries(numbers).map(([name, number]) => [number, name, kind]);
export const many = (kind: Kind, numbers: Numbers): Field[] =>
  Object.entries(numbers).map(([name, number]) => [number, name, kind, true]);

const owner = shape(
  one('string', { kind: 1, name: 3, uid: 4, apiVersion: 5 }),
  one('bool', { controller: 6, blockOwnerDeletion: 7 }),
);
const meta: Shape = {
  ...shape(
    one('string', { name: 1, generateName: 2, namespace: 3, uid: 5, resourceVersion: 6 }),
    one('strings', { labels: 11, annotations: 12 }),
    many(owner, { ownerReferences: 13 }),
    many('string', { finalizers: 14 }),
  ),
  dropsUnknown: true,
};
/** An object of a kind: its metadata is always field 1. */
const object = (...fields: Field[][]): Shape => shape(one(meta, { metadata: 1 }), ...fields);
/** Most have a spec, which is field 2. */
const withSpec = (...fields: Field[][]): Shape => object(one(shape(...fields), { spec: 2 }));

const reference = shape(
  one('string', { kind: 1, namespace: 2, name: 3, uid: 4, apiVersion: 5 }),
  one('string', { resourceVersion: 6, fieldPath: 7 }),
);

const rule = shape(
  many('string', { verbs: 1, apiGroups: 2, resources: 3, resourceNames: 4, nonResourceURLs: 5 }),
);
const subject = shape(one('string', { kind: 1, apiGroup: 2, name: 3, namespace: 4 }));
const roleRef = shape(one('string', { apiGroup: 1, kind: 2, name: 3 }));
const role = object(many(rule, { rules: 2 }));
const binding = object(many(subject, { subjects: 2 }), one(roleRef, { roleRef: 3 }));

const requirement = shape(one('string', { key: 1, operator: 2 }), many('string', { values: 3 }));
const labelSelector = shape(
  one('strings', { matchLabels: 1 }),
  many(requirement, { matchExpressions: 2 }),
);

const servicePort = shape(
  one('string', { name: 1, protocol: 2, appProtocol: 6 }),
  one('int', { port: 3 }),
  one('intOrString', { targetPort: 4 }),
  one('count', { nodePort: 5 }),
);
const containerPort = shape(
  one('string', { name: 1, protocol: 4 }),
  one('count', { hostPort: 2 }),
  one('int', { containerPort: 3 }),
);
const container = shape(
  one('string', { name: 1, image: 2, imagePullPolicy: 14 }),
  many('string', { command: 3, args: 4 }),
  many(containerPort, { ports: 6 }),
);
const podTemplate = withSpec(many(container, { containers: 2 }));
const source = shape(one('string', { component: 1, host: 2 }));
const series = shape(one('int', { count: 1 }), one('microTime', { lastObservedTime: 2 }));

export const protobufKinds: Record<string, Shape> = {
  'v1 ConfigMap': object(
    one('strings', { data: 2 }),
    one('blobs', { binaryData: 3 }),
    one('bool', { immutable: 4 }),
  ),
  'v1 Event': object(
    one(reference, { involvedObject: 2, related: 13 }),
    one('string', { reason: 3, message: 4, type: 9, action: 12 }),
    one('string', { reportingComponent: 14, reportingInstance: 15 }),
    one(source, { source: 5 }),
    one('time', { firstTimestamp: 6, lastTimestamp: 7 }),
    one('int', { count: 8 }),
    one('microTime', { eventTime: 10 }),
    one(series, { series: 11 }),
  ),
  'v1 Namespace': object(
    one(shape(many('string', { finalizers: 1 })), { spec: 2 }),
    one(shape(one('string', { phase: 1 })), { status: 3 }),
  ),
  'v1 Secret': object(
    one('blobs', { data: 2 }),
    one('string', { type: 3 }),
    one('strings', { stringData: 4 }),
    one('bool', { immutable: 5 }),
  ),
  'v1 ServiceAccount': object(
    many(reference, { secrets: 2 }),
    many(shape(one('string', { name: 1 })), { imagePullSecrets: 3 }),
    one('bool', { automountServiceAccountToken: 4 }),
  ),
  'v1 Service': withSpec(
    many(servicePort, { ports: 1 }),
    one('strings', { selector: 2 }),
    one('string', { clusterIP: 3, type: 4, sessionAffinity: 7, loadBalancerIP: 8 }),
    one('string', { externalName: 10, externalTrafficPolicy: 11 }),
    many('string', { externalIPs: 5, loadBalancerSourceRanges: 9 }),
  ),
  'apps/v1 Deployment': withSpec(
    one('int', { replicas: 1 }),
    one(labelSelector, { selector: 2 }),
    one(podTemplate, { template: 3 }),
  ),
  'policy/v1 PodDisruptionBudget': withSpec(
    one('intOrString', { minAvailable: 1, maxUnavailable: 3 }),
    one(labelSelector, { selector: 2 }),
  ),
  'rbac.authorization.k8s.io/v1 ClusterRole': role,
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': binding,
  'rbac.authorization.k8s.io/v1 Role': role,
  'rbac.authorization.k8s.io/v1 RoleBinding': binding,
  'coordination.k8s.io/v1 Lease': withSpec(
    one('string', { holderIdentity: 1 }),
    one('int', { leaseDurationSeconds: 2, leaseTransitions: 5 }),
    one('microTime', { acquireTime: 3, renewTime: 4 }),
  ),
};

const preconditions = shape(one('string', { uid: 1, resourceVersion: 2 }));
export const deleteOptionsShape = shape(
  one('int', { gracePeriodSeconds: 1 }),
  one(preconditions, { preconditions: 2 }),
  one('bool', { orphanDependents: 3 }),
  one('string', { propagationPolicy: 4 }),
  many('string', { dryRun: 5 }),
);
