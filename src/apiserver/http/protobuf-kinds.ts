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

export const shape = (...fields: Field[]): Shape => ({ fields });

const owner = shape(
  [1, 'kind', 'string'],
  [3, 'name', 'string'],
  [4, 'uid', 'string'],
  [5, 'apiVersion', 'string'],
  [6, 'controller', 'bool'],
  [7, 'blockOwnerDeletion', 'bool'],
);
const meta: Shape = {
  ...shape(
    [1, 'name', 'string'],
    [2, 'generateName', 'string'],
    [3, 'namespace', 'string'],
    [5, 'uid', 'string'],
    [6, 'resourceVersion', 'string'],
    [11, 'labels', 'strings'],
    [12, 'annotations', 'strings'],
    [13, 'ownerReferences', owner, true],
    [14, 'finalizers', 'string', true],
  ),
  dropsUnknown: true,
};
const reference = shape(
  [1, 'kind', 'string'],
  [2, 'namespace', 'string'],
  [3, 'name', 'string'],
  [4, 'uid', 'string'],
  [5, 'apiVersion', 'string'],
  [6, 'resourceVersion', 'string'],
  [7, 'fieldPath', 'string'],
);

const rule = shape(
  [1, 'verbs', 'string', true],
  [2, 'apiGroups', 'string', true],
  [3, 'resources', 'string', true],
  [4, 'resourceNames', 'string', true],
  [5, 'nonResourceURLs', 'string', true],
);
const subject = shape(
  [1, 'kind', 'string'],
  [2, 'apiGroup', 'string'],
  [3, 'name', 'string'],
  [4, 'namespace', 'string'],
);
const roleRef = shape([1, 'apiGroup', 'string'], [2, 'kind', 'string'], [3, 'name', 'string']);
const role = shape([1, 'metadata', meta], [2, 'rules', rule, true]);
const binding = shape(
  [1, 'metadata', meta],
  [2, 'subjects', subject, true],
  [3, 'roleRef', roleRef],
);

const labelSelector = shape(
  [1, 'matchLabels', 'strings'],
  [
    2,
    'matchExpressions',
    shape([1, 'key', 'string'], [2, 'operator', 'string'], [3, 'values', 'string', true]),
    true,
  ],
);

const servicePort = shape(
  [1, 'name', 'string'],
  [2, 'protocol', 'string'],
  [3, 'port', 'int'],
  [4, 'targetPort', 'intOrString'],
  [5, 'nodePort', 'count'],
  [6, 'appProtocol', 'string'],
);
const serviceSpec = shape(
  [1, 'ports', servicePort, true],
  [2, 'selector', 'strings'],
  [3, 'clusterIP', 'string'],
  [4, 'type', 'string'],
  [5, 'externalIPs', 'string', true],
  [7, 'sessionAffinity', 'string'],
  [8, 'loadBalancerIP', 'string'],
  [9, 'loadBalancerSourceRanges', 'string', true],
  [10, 'externalName', 'string'],
  [11, 'externalTrafficPolicy', 'string'],
);

const container = shape(
  [1, 'name', 'string'],
  [2, 'image', 'string'],
  [3, 'command', 'string', true],
  [4, 'args', 'string', true],
  [
    6,
    'ports',
    shape(
      [1, 'name', 'string'],
      [2, 'hostPort', 'count'],
      [3, 'containerPort', 'int'],
      [4, 'protocol', 'string'],
    ),
    true,
  ],
  [14, 'imagePullPolicy', 'string'],
);
const podTemplate = shape(
  [1, 'metadata', meta],
  [2, 'spec', shape([2, 'containers', container, true])],
);

export const protobufKinds: Record<string, Shape> = {
  'v1 ConfigMap': shape(
    [1, 'metadata', meta],
    [2, 'data', 'strings'],
    [3, 'binaryData', 'blobs'],
    [4, 'immutable', 'bool'],
  ),
  'v1 Event': shape(
    [1, 'metadata', meta],
    [2, 'involvedObject', reference],
    [3, 'reason', 'string'],
    [4, 'message', 'string'],
    [5, 'source', shape([1, 'component', 'string'], [2, 'host', 'string'])],
    [6, 'firstTimestamp', 'time'],
    [7, 'lastTimestamp', 'time'],
    [8, 'count', 'int'],
    [9, 'type', 'string'],
    [10, 'eventTime', 'microTime'],
    [11, 'series', shape([1, 'count', 'int'], [2, 'lastObservedTime', 'microTime'])],
    [12, 'action', 'string'],
    [13, 'related', reference],
    [14, 'reportingComponent', 'string'],
    [15, 'reportingInstance', 'string'],
  ),
  'v1 Namespace': shape(
    [1, 'metadata', meta],
    [2, 'spec', shape([1, 'finalizers', 'string', true])],
    [3, 'status', shape([1, 'phase', 'string'])],
  ),
  'v1 Secret': shape(
    [1, 'metadata', meta],
    [2, 'data', 'blobs'],
    [3, 'type', 'string'],
    [4, 'stringData', 'strings'],
    [5, 'immutable', 'bool'],
  ),
  'v1 ServiceAccount': shape(
    [1, 'metadata', meta],
    [2, 'secrets', reference, true],
    [3, 'imagePullSecrets', shape([1, 'name', 'string']), true],
    [4, 'automountServiceAccountToken', 'bool'],
  ),
  'v1 Service': shape([1, 'metadata', meta], [2, 'spec', serviceSpec]),
  'apps/v1 Deployment': shape(
    [1, 'metadata', meta],
    [
      2,
      'spec',
      shape([1, 'replicas', 'int'], [2, 'selector', labelSelector], [3, 'template', podTemplate]),
    ],
  ),
  'policy/v1 PodDisruptionBudget': shape(
    [1, 'metadata', meta],
    [
      2,
      'spec',
      shape(
        [1, 'minAvailable', 'intOrString'],
        [2, 'selector', labelSelector],
        [3, 'maxUnavailable', 'intOrString'],
      ),
    ],
  ),
  'rbac.authorization.k8s.io/v1 ClusterRole': role,
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': binding,
  'rbac.authorization.k8s.io/v1 Role': role,
  'rbac.authorization.k8s.io/v1 RoleBinding': binding,
  'coordination.k8s.io/v1 Lease': shape(
    [1, 'metadata', meta],
    [
      2,
      'spec',
      shape(
        [1, 'holderIdentity', 'string'],
        [2, 'leaseDurationSeconds', 'int'],
        [3, 'acquireTime', 'microTime'],
        [4, 'renewTime', 'microTime'],
        [5, 'leaseTransitions', 'int'],
      ),
    ],
  ),
};

export const deleteOptionsShape = shape(
  [1, 'gracePeriodSeconds', 'int'],
  [2, 'preconditions', shape([1, 'uid', 'string'], [2, 'resourceVersion', 'string'])],
  [3, 'orphanDependents', 'bool'],
  [4, 'propagationPolicy', 'string'],
  [5, 'dryRun', 'string', true],
);
