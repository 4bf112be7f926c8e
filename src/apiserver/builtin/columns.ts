/** What `kubectl get` shows of the built-in kinds. */
import { age, nameColumn } from '../columns.ts';
import { type Fields, isFields, type KubeObject } from '../object.ts';
import type { Cells, Column } from '../resource.ts';

type Read = (object: KubeObject, nowMs: number) => unknown;

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

const condition = (object: KubeObject, type: string) =>
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

const containers = (object: KubeObject) => list(object, 'spec', 'containers').length;
const readyContainers = (object: KubeObject) =>
  list(object, 'status', 'containerStatuses').filter((each) => each.ready === true).length;
const restarts = (object: KubeObject) =>
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
  const given = list(object, 'status', 'loadBalancer', 'ingress').map(({ ip, hostname }) =>
    String(ip ?? hostname),
  );
  const own = (at(object, 'spec', 'externalIPs') ?? []) as string[];
  const all = [...given, ...own];
  if (all.length > 0) return all.join(',');
  return at(object, 'spec', 'type') === 'LoadBalancer' ? '<pending>' : '<none>';
};

const selector: Read = (object) =>
  orNone(
    Object.entries((at(object, 'spec', 'selector') ?? {}) as Fields)
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
  );

const lastSeen: Read = (object, nowMs) =>
  age(
    object.lastTimestamp ?? object.eventTime ?? at(object, 'metadata', 'creationTimestamp'),
    nowMs,
  );

const subject: Read = ({ involvedObject }) =>
  `${String(at(involvedObject, 'kind') ?? '').toLowerCase()}/${at(involvedObject, 'name') ?? ''}`;

type Shown = [name: string, read: Read, type?: string, priority?: number];

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
    ['Selector', selector, 'string', 1],
  ],
  ConfigMap: [
    ['Data', count('data'), 'integer'],
    ['Age', ageOf],
  ],
  Secret: [
    ['Type', text('type')],
    ['Data', count('data'), 'integer'],
    ['Age', ageOf],
  ],
  Event: [
    ['Last Seen', lastSeen],
    ['Type', text('type')],
    ['Reason', text('reason')],
    ['Object', subject],
    ['Message', text('message')],
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
    ['Age', ageOf],
  ],
  Deployment: [
    ['Ready', (o) => `${at(o, 'status', 'readyReplicas') ?? 0}/${at(o, 'spec', 'replicas') ?? 0}`],
    ['Up-to-date', (o) => at(o, 'status', 'updatedReplicas') ?? 0, 'integer'],
    ['Available', (o) => at(o, 'status', 'availableReplicas') ?? 0, 'integer'],
    ['Age', ageOf],
  ],
  CustomResourceDefinition: [['Created At', text('metadata', 'creationTimestamp'), 'date']],
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
  // Events are told by when, not by name.
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
