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

const ports = (object: ApiObject) =>
  list(object, 'spec', 'ports').map(({ port, nodePort, protocol }) =>
    nodePort === undefined ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
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

/** Shown with `-o wide`. */
const wide = (name: string, read: Read): Shown => [name, read, 'string', 1];
/** What stands there, or other words where there is nothing. */
const or =
  (otherwise: unknown, ...path: string[]): Read =>
  (object) =>
    at(object, ...path) || otherwise;
const number = (name: string, ...path: string[]): Shown => [name, or(0, ...path), 'integer'];
const joined =
  (read: (object: ApiObject) => readonly unknown[]): Read =>
  (object) =>
    orNone(read(object).join(','));

const createdAt: Shown = ['Created At', text('metadata', 'creationTimestamp'), 'date'];

const ofContainers =
  (field: string): Read =>
  (object) =>
    list(object, 'spec', 'template', 'spec', 'containers')
      .map((each) => String(each[field]))
      .join(',');
/** What a DaemonSet or Deployment runs. */
const workload: Shown[] = [
  wide('Containers', ofContainers('name')),
  wide('Images', ofContainers('image')),
  wide('Selector', (o) => labelSelector(at(o, 'spec', 'selector'))),
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
  wide('Users', subjects('User')),
  wide('Groups', subjects('Group')),
  wide('ServiceAccounts', subjects('ServiceAccount')),
];

const shown: Record<string, Shown[]> = {
  Node: [
    ['Status', nodeStatus],
    ['Roles', roles],
    ['Age', ageOf],
    ['Version', text('status', 'nodeInfo', 'kubeletVersion')],
    wide('Internal-IP', nodeAddress('InternalIP')),
    wide('External-IP', nodeAddress('ExternalIP')),
    wide('OS-Image', or('<unknown>', 'status', 'nodeInfo', 'osImage')),
    wide('Kernel-Version', or('<unknown>', 'status', 'nodeInfo', 'kernelVersion')),
    wide('Container-Runtime', or('<unknown>', 'status', 'nodeInfo', 'containerRuntimeVersion')),
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
    wide('IP', or('<none>', 'status', 'podIP')),
    wide('Node', or('<none>', 'spec', 'nodeName')),
    wide('Nominated Node', or('<none>', 'status', 'nominatedNodeName')),
    wide('Readiness Gates', readinessGates),
  ],
  Namespace: [
    ['Status', text('status', 'phase')],
    ['Age', ageOf],
  ],
  Service: [
    ['Type', text('spec', 'type')],
    ['Cluster-IP', (object) => at(object, 'spec', 'clusterIP') || '<none>'],
    ['External-IP', externalAddresses],
    ['Port(s)', joined(ports)],
    ['Age', ageOf],
    wide('Selector', pairs('spec', 'selector')),
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
    wide('Subobject', text('involvedObject', 'fieldPath')),
    wide('Source', source),
    ['Message', text('message')],
    wide('First Seen', firstSeen),
    ['Count', (event) => at(event, 'series', 'count') || event.count || 1, 'integer', 1],
  ],
  Lease: [
    ['Holder', text('spec', 'holderIdentity')],
    ['Age', ageOf],
  ],
  DaemonSet: [
    number('Desired', 'status', 'desiredNumberScheduled'),
    number('Current', 'status', 'currentNumberScheduled'),
    number('Ready', 'status', 'numberReady'),
    number('Up-to-date', 'status', 'updatedNumberScheduled'),
    number('Available', 'status', 'numberAvailable'),
    ['Node Selector', pairs('spec', 'template', 'spec', 'nodeSelector')],
    ['Age', ageOf],
    ...workload,
  ],
  Deployment: [
    ['Ready', (o) => `${at(o, 'status', 'readyReplicas') ?? 0}/${at(o, 'spec', 'replicas') ?? 0}`],
    number('Up-to-date', 'status', 'updatedReplicas'),
    number('Available', 'status', 'availableReplicas'),
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
    number('Allowed Disruptions', 'status', 'disruptionsAllowed'),
    ['Age', ageOf],
  ],
  ServiceCIDR: [
    ['CIDRs', (object) => ((at(object, 'spec', 'cidrs') ?? []) as string[]).join(',')],
    ['Age', ageOf],
  ],
  EndpointSlice: [
    ['AddressType', text('addressType')],
    ['Ports', joined((o) => list(o, 'ports').map(({ port }) => port))],
    ['Endpoints', joined((o) => list(o, 'endpoints').flatMap(({ addresses }) => addresses))],
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
