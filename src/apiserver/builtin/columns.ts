/** What `kubectl get` shows of the built-in kinds. */
import { age, nameColumn } from '../columns.ts';
import { type ApiObject, type Fields, isFields } from '../object.ts';
import type { Cells, Column } from '../resource.ts';

type Read = (object: ApiObject, nowMs: number) => unknown;

const at = (object: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((value, name) => (isFields(value) ? value[name] : undefined), object);
const list = (object: unknown, ...path: string[]): Fields[] => {
  const found = at(object, ...path);
  return Array.isArray(found) ? found : [];
};
const text =
  (...path: string[]): Read =>
  (object) =>
    String(at(object, ...path) ?? '');
const orNone = (value: string) => (value === '' ? '<none>' : value);
const count =
  (...path: string[]): Read =>
  (object) =>
    Object.keys(at(object, ...path) ?? {}).length;
const ageOf: Read = ({ metadata }, nowMs) => age(metadata.creationTimestamp, nowMs);

const condition = (object: ApiObject, type: string) =>
  list(object, 'status', 'conditions').find((each) => each.type === type)?.status;

const nodeStatus: Read = (object) => {
  const ready = condition(object, 'Ready');
  const word = ready === 'True' ? 'Ready' : ready === undefined ? 'Unknown' : 'NotReady';
  return at(object, 'spec', 'unschedulable') === true ? `${word},SchedulingDisabled` : word;
};

const roles: Read = ({ metadata }) => {
  const prefix = 'node-role.kubernetes.io/';
  const found = Object.keys(metadata.labels ?? {})
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length))
    .sort();
  return orNone(found.join(','));
};

const nodeAddress =
  (type: string): Read =>
  (object) =>
    list(object, 'status', 'addresses').find((each) => each.type === type)?.address ?? '<none>';

const containers = (object: ApiObject) => list(object, 'spec', 'containers').length;
const readyContainers = (object: ApiObject) =>
  list(object, 'status', 'containerStatuses').filter((each) => each.ready === true).length;
const restarts = (object: ApiObject) =>
  list(object, 'status', 'containerStatuses').reduce(
    (sum, each) => sum + Number(each.restartCount ?? 0),
    0,
  );

const ports: Read = (object) =>
  orNone(
    list(object, 'spec', 'ports')
      .map(({ port, nodePort, protocol }) =>
        nodePort === undefined ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
      )
      .join(','),
  );

const externalAddresses: Read = (object) => {
  if (at(object, 'spec', 'type') === 'ExternalName') return at(object, 'spec', 'externalName');
  const given = list(object, 'status', 'loadBalancer', 'ingress').map(({ ip, hostname }) =>
    String(ip ?? hostname),
  );
  const own = (at(object, 'spec', 'externalIPs') ?? []) as string[];
  const all = [...given, ...own];
  if (all.length > 0) return all.join(',');
  return at(object, 'spec', 'type') === 'LoadBalancer' ? '<pending>' : '<none>';
};

const pairsOf = (fields: unknown): string[] =>
  Object.entries((fields ?? {}) as Fields).map(([key, value]) => `${key}=${value}`);
const pairs =
  (...path: string[]): Read =>
  (object) =>
    orNone(pairsOf(at(object, ...path)).join(','));

/** `a=b,c in (d,e),!f` */
function labelSelector(of: unknown): string {
  const terms = list(of, 'matchExpressions').map(({ key, operator, values = [] }) => {
    const set = `(${(values as string[]).join(',')})`;
    if (operator === 'Exists') return String(key);
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} ${set}`;
  });
  return [...pairsOf(at(of, 'matchLabels')), ...terms].join(',');
}

const readinessGates: Read = (object) => {
  const gates = list(object, 'spec', 'readinessGates');
  if (gates.length === 0) return '<none>';
  const open = gates.filter(
    ({ conditionType }) => condition(object, String(conditionType)) === 'True',
  );
  return `${open.length}/${gates.length}`;
};

const firstSeen: Read = (event, nowMs) =>
  age(event.firstTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp, nowMs);

const source: Read = (event) => {
  const component = at(event, 'source', 'component') || event.reportingComponent || '';
  const host = at(event, 'source', 'host') || event.reportingInstance || '';
  return host === '' ? component : `${component}, ${host}`;
};

const lastSeen: Read = (object, nowMs) =>
  age(
    object.lastTimestamp ?? object.eventTime ?? at(object, 'metadata', 'creationTimestamp'),
    nowMs,
  );

const subject: Read = ({ involvedObject }) =>
  `${String(at(involvedObject, 'kind') ?? '').toLowerCase()}/${at(involvedObject, 'name') ?? ''}`;

type Shown = [name: string, read: Read, type?: string, priority?: number];

const createdAt: Shown = ['Created At', text('metadata', 'creationTimestamp'), 'date'];

const ofContainers =
  (field: string): Read =>
  (object) =>
    list(object, 'spec', 'template', 'spec', 'containers')
      .map((each) => String(each[field]))
      .join(',');
/** What a DaemonSet or Deployment runs. */
const workload: Shown[] = [
  ['Containers', ofContainers('name'), 'string', 1],
  ['Images', ofContainers('image'), 'string', 1],
  ['Selector', (o) => labelSelector(at(o, 'spec', 'selector')), 'string', 1],
];

const subjects =
  (kind: string): Read =>
  (object) =>
    list(object, 'subjects')
      .filter((each) => each.kind === kind)
      .map(({ name, namespace }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
      .join(', ');
const binding: Shown[] = [
  ['Role', (object) => `${at(object, 'roleRef', 'kind')}/${at(object, 'roleRef', 'name')}`],
  ['Age', ageOf],
  ['Users', subjects('User'), 'string', 1],
  ['Groups', subjects('Group'), 'string', 1],
  ['ServiceAccounts', subjects('ServiceAccount'), 'string', 1],
];

const shown: Record<string, Shown[]> = {
  Node: [
    ['Status', nodeStatus],
    ['Roles', roles],
    ['Age', ageOf],
    ['Version', text('status', 'nodeInfo', 'kubeletVersion')],
    ['Internal-IP', nodeAddress('InternalIP'), 'string', 1],
    ['External-IP', nodeAddress('ExternalIP'), 'string', 1],
    [
      'OS-Image',
      (object) => at(object, 'status', 'nodeInfo', 'osImage') || '<unknown>',
      'string',
      1,
    ],
    [
      'Kernel-Version',
      (object) => at(object, 'status', 'nodeInfo', 'kernelVersion') || '<unknown>',
      'string',
      1,
    ],
    [
      'Container-Runtime',
      (object) => at(object, 'status', 'nodeInfo', 'containerRuntimeVersion') || '<unknown>',
      'string',
      1,
    ],
  ],
  Pod: [
    ['Ready', (object) => `${readyContainers(object)}/${containers(object)}`],
    [
      'Status',
      (object) =>
        object.metadata.deletionTimestamp === undefined
          ? at(object, 'status', 'phase')
          : 'Terminating',
    ],
    ['Restarts', (object) => String(restarts(object))],
    ['Age', ageOf],
    ['IP', (object) => at(object, 'status', 'podIP') ?? '<none>', 'string', 1],
    ['Node', (object) => at(object, 'spec', 'nodeName') ?? '<none>', 'string', 1],
    ['Nominated Node', (o) => at(o, 'status', 'nominatedNodeName') || '<none>', 'string', 1],
    ['Readiness Gates', readinessGates, 'string', 1],
  ],
  Namespace: [
    ['Status', text('status', 'phase')],
    ['Age', ageOf],
  ],
  Service: [
    ['Type', text('spec', 'type')],
    ['Cluster-IP', (object) => at(object, 'spec', 'clusterIP') || '<none>'],
    ['External-IP', externalAddresses],
    ['Port(s)', ports],
    ['Age', ageOf],
    ['Selector', pairs('spec', 'selector'), 'string', 1],
  ],
  ConfigMap: [
    ['Data', count('data')],
    ['Age', ageOf],
  ],
  Secret: [
    ['Type', text('type')],
    ['Data', count('data')],
    ['Age', ageOf],
  ],
  Event: [
    ['Last Seen', lastSeen],
    ['Type', text('type')],
    ['Reason', text('reason')],
    ['Object', subject],
    ['Subobject', text('involvedObject', 'fieldPath'), 'string', 1],
    ['Source', source, 'string', 1],
    ['Message', text('message')],
    ['First Seen', firstSeen, 'string', 1],
    ['Count', (event) => at(event, 'series', 'count') || event.count || 1, 'integer', 1],
  ],
  Lease: [
    ['Holder', text('spec', 'holderIdentity')],
    ['Age', ageOf],
  ],
  DaemonSet: [
    ['Desired', (o) => at(o, 'status', 'desiredNumberScheduled') ?? 0, 'integer'],
    ['Current', (o) => at(o, 'status', 'currentNumberScheduled') ?? 0, 'integer'],
    ['Ready', (o) => at(o, 'status', 'numberReady') ?? 0, 'integer'],
    ['Up-to-date', (o) => at(o, 'status', 'updatedNumberScheduled') ?? 0, 'integer'],
    ['Available', (o) => at(o, 'status', 'numberAvailable') ?? 0, 'integer'],
    ['Node Selector', pairs('spec', 'template', 'spec', 'nodeSelector')],
    ['Age', ageOf],
    ...workload,
  ],
  Deployment: [
    ['Ready', (o) => `${at(o, 'status', 'readyReplicas') ?? 0}/${at(o, 'spec', 'replicas') ?? 0}`],
    ['Up-to-date', (o) => at(o, 'status', 'updatedReplicas') ?? 0, 'integer'],
    ['Available', (o) => at(o, 'status', 'availableReplicas') ?? 0, 'integer'],
    ['Age', ageOf],
    ...workload,
  ],
  CustomResourceDefinition: [createdAt],
  ClusterRole: [createdAt],
  ClusterRoleBinding: binding,
  Role: [createdAt],
  RoleBinding: binding,
  NetworkPolicy: [
    ['Pod-Selector', (o) => orNone(labelSelector(at(o, 'spec', 'podSelector')))],
    ['Age', ageOf],
  ],
  PodDisruptionBudget: [
    ['Min Available', (o) => String(at(o, 'spec', 'minAvailable') ?? 'N/A')],
    ['Max Unavailable', (o) => String(at(o, 'spec', 'maxUnavailable') ?? 'N/A')],
    ['Allowed Disruptions', (o) => at(o, 'status', 'disruptionsAllowed') ?? 0, 'integer'],
    ['Age', ageOf],
  ],
  ServiceCIDR: [
    ['CIDRs', (object) => ((at(object, 'spec', 'cidrs') ?? []) as string[]).join(',')],
    ['Age', ageOf],
  ],
  EndpointSlice: [
    ['AddressType', text('addressType')],
    [
      'Ports',
      (o) =>
        orNone(
          list(o, 'ports')
            .map(({ port }) => String(port))
            .join(','),
        ),
    ],
    [
      'Endpoints',
      (o) =>
        orNone(
          list(o, 'endpoints')
            .flatMap(({ addresses }) => addresses as string[])
            .join(','),
        ),
    ],
    ['Age', ageOf],
  ],
};

export function builtinColumns(kind: string): { columns: Column[]; cells: Cells } {
  const own: Shown[] = shown[kind] ?? [['Age', ageOf]];
  const others = own.map(([name, , type, priority]) => ({
    name,
    type: type ?? 'string',
    priority: priority ?? 0,
  }));
  // Events are listed by time, not by name.
  const isNamed = kind !== 'Event';
  return {
    columns: isNamed ? [nameColumn, ...others] : [...others, { ...nameColumn, priority: 1 }],
    cells: (object, nowMs) => {
      const cells = own.map(([, read]) => read(object, nowMs));
      const { name } = object.metadata;
      return isNamed ? [name, ...cells] : [...cells, name];
    },
  };
}
