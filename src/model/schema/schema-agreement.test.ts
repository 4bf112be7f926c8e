/**
 * The same object, judged by the API server (structure, defaults and CEL rules of
 * the definition) and by our own checks of the same schema: both take it or both
 * refuse it.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { customTypes } from '../../apiserver/custom/definition.ts';
import { fillDefaults } from '../../apiserver/schema/shape.ts';
import { ApiRefusal } from '../../apiserver/status.ts';
import { decode } from '../../apiserver/verbs/decode.ts';
import { mustBeValid } from '../../apiserver/verbs/judge.ts';
import { crd } from '../crd.ts';
import { definitions } from '../crds.ts';
import { apiVersion } from '../keys.ts';
import { shapeProblems } from './shape-problems.ts';

type Kind = keyof typeof definitions;

const time = '2026-01-31T12:00:00Z';
const condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Served',
  message: '',
  lastTransitionTime: time,
};
const selector = {
  matchLabels: { rack: '83' },
  matchExpressions: [
    { key: 'zone', operator: 'In', values: ['a', 'b'] },
    { key: 'gpu', operator: 'Exists' },
  ],
};

/** One object of each kind that uses every field. */
const samples: Record<Kind, { name: string; spec: object; status?: object }[]> = {
  IPPool: [
    {
      name: 'rack-83',
      spec: {
        cidrs: ['10.5.112.0/21', 'fd00:5::/48', '10.6.0.0/16'],
        blockSize: { ipv4: 24, ipv6: 64 },
        nodeSelector: selector,
        priority: 3,
        reserved: ['10.5.112.0/24'],
        disabled: false,
        cooldownSeconds: 60,
        maxBlocksPerNode: 8,
      },
      status: { capacity: 8, cidrs: [{ cidr: '10.5.112.0/21', free: 8 }], conditions: [condition] },
    },
  ],
  NodeBlock: [
    {
      name: '10-5-113-0-24',
      spec: {
        cidr: '10.5.113.0/24',
        pool: 'rack-83',
        node: { name: 'node1', uid: 'u1' },
        phase: 'Cooling',
        coolingSince: time,
      },
      status: { conditions: [condition] },
    },
    {
      name: 'fd00-5---64',
      spec: { cidr: 'fd00:5::/64', pool: 'p', phase: 'Guard', guards: ['fd00:5::/80', 'x'] },
    },
  ],
  NodeReport: [
    {
      name: 'node1',
      spec: {
        nodeUID: 'u1',
        neededAddresses: { ipv4: 16, ipv6: 16 },
        releases: [
          { cidr: '10.0.0.0/24', uid: 'b1' },
          { cidr: '10.0.1.0/24', uid: 'b2' },
        ],
      },
      status: {
        agentVersion: '1',
        startedAt: time,
        blocks: [
          { cidr: '10.0.0.0/24', pool: 'p', draining: false, pods: 3, resting: 0, total: '254' },
        ],
        kernel: {
          wanted: 1,
          held: 1,
          ownRoutes: ['10.0.0.0/24'],
          refused: [{ route: 'x', reason: 'y' }],
        },
        sessions: [
          {
            peer: 'tor1',
            address: '10.4.0.1',
            asn: 64512,
            state: 'Established',
            establishedAt: time,
            families: [{ family: 'ipv4', received: 0, advertised: 1 }],
            announced: [{ prefix: '10.0.0.0/24', nextHop: '10.4.0.9', since: time }],
          },
        ],
        drain: { steps: [{ step: 'Asked', at: time, detail: '' }] },
        findings: [{ reason: 'X', cidr: '10.0.0.0/24', detail: 'y' }],
        conditions: [condition],
      },
    },
  ],
  BGPPeer: [
    {
      name: 'tor1',
      spec: {
        address: '10.4.36.250',
        port: 179,
        asn: 64512,
        localASN: 64513,
        localAddress: '10.4.36.9',
        routerID: '10.4.36.9',
        families: ['ipv4', 'ipv6'],
        holdSeconds: 9,
        keepaliveSeconds: 3,
        connectRetrySeconds: 5,
        ttlSecurityHops: 1,
        gracefulRestartSeconds: 120,
        nodeSelector: selector,
      },
    },
    { name: 'tor2', spec: { address: 'fd00::1', asn: 1, localASN: 2, multihopTTL: 3 } },
  ],
  BGPAdvertisement: [
    {
      name: 'all',
      spec: {
        nodeSelector: selector,
        peers: ['tor1', 'tor2'],
        pools: ['p'],
        priority: 1,
        communities: ['64513:100', 'no-export'],
        largeCommunities: ['64513:1:2'],
        localPref: 100,
        med: 0,
        prepend: 2,
      },
    },
  ],
  BlockHistory: [
    {
      name: 'blocks-00',
      spec: {
        blocks: [
          {
            cidr: '10.0.0.0/24',
            dropped: 0,
            entries: [{ at: time, event: 'Assigned', node: 'n', nodeUID: 'u', peers: ['tor1'] }],
          },
        ],
      },
    },
  ],
  NodeMigration: [
    {
      name: 'node1',
      spec: {
        node: { name: 'node1', uid: 'u' },
        from: ['10.0.0.0/24'],
        pools: ['p'],
        method: 'recreate',
        phase: 'Moving',
        wasUnschedulable: false,
        undoUID: 'u',
        saved: { node: { kind: 'Node' }, ciliumPodCIDRs: ['10.0.0.0/24'] },
      },
      status: { step: 'drain', message: '', since: time },
    },
  ],
  OperatorReport: [
    {
      name: 'cadastre',
      spec: {
        mode: 'cluster-pool',
        version: '0.2.0',
        identity: 'host_1',
        families: ['ipv4', 'ipv6'],
        clusterPool: {
          ipv4: { cidrs: ['10.0.0.0/8'], maskSize: 24 },
          ipv6: { cidrs: ['fd00::/48'], maskSize: 64 },
          cooldownSeconds: 60,
          releaseByTimeSeconds: 0,
          maxBlocksPerNode: 4,
        },
        serviceCIDRs: ['10.96.0.0/12'],
        adoptFrom: ['report', 'spec'],
        project: ['ciliumnode'],
        bgpConfigMap: { namespace: 'kube-system', name: 'bgp-config' },
      },
    },
  ],
  LoadBalancerPool: [
    {
      name: 'web',
      spec: {
        addresses: ['192.0.2.0/28', '198.51.100.10-198.51.100.20', 'fd00:6::/112'],
        serviceSelector: selector,
        autoAssign: true,
        avoidBuggyIPs: false,
        priority: 0,
        disabled: false,
        aggregationLength: { ipv4: 32, ipv6: 128 },
      },
      status: { observedGeneration: 1, capacity: 3, conditions: [condition] },
    },
  ],
  ServiceAddress: [
    {
      name: '192-0-2-10-32',
      spec: {
        address: '192.0.2.10',
        pool: 'web',
        service: { namespace: 'default', name: 'shop', uid: 'u' },
      },
    },
    {
      name: 'fd00---128',
      spec: { address: 'fd00::', pool: 'web', service: { namespace: 'd', name: 's', uid: 'u' } },
    },
  ],
};

/** We refuse these and the API server does not: CEL cannot say it, or it drops the field. */
const beyondTheServer =
  /is no field of|is not a label key|not a label (key|value)|would announce more than|ends before it begins|could not be named/;

const remove = Symbol('remove');

const anyValue = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom<unknown>(
      ...['::ffff:10.0.0.1', 'fe80::1%eth0', '10.0.0.0/8 ', '192.0.2.1 - 192.0.2.9', '10.0.0.01'],
      ...[
        '10.5.0.0/16',
        '10.5.113.0/24',
        '10.5.113.7/24',
        '10.5.112.0/20',
        '0.0.0.0/0',
        '10.0.0.0',
      ],
      ...[
        '10.0.0.0/33',
        '010.0.0.0/8',
        '10.0.0.0/08',
        'fd00:5::/48',
        'FD00:5::/48',
        'fd00:5:0::/48',
      ],
      ...[
        'fd00::/129',
        '::/64',
        '::/0',
        '::ffff:10.0.0.0/104',
        '::1',
        'fd00::1',
        'FD00::1',
        '0.0.0.0',
      ],
      ...[
        '192.0.2.1-192.0.2.9',
        '192.0.2.9-192.0.2.1',
        '192.0.2.1-fd00::1',
        '192.0.2.1-',
        '192.0.2.300',
      ],
      ...[
        '64513:100',
        '64513:1:2',
        'no-export',
        '1:2:3:4',
        'ipv4',
        'Active',
        'Guard',
        'Cooling',
        'In',
      ],
      ...[
        'DoesNotExist',
        'True',
        'Moved',
        'release',
        time,
        '2026-02-30T12:00:00Z',
        '2026-01-31',
        'now',
      ],
      ...['', 'a', 'node1', 'rack-83', '-x', 'x'.repeat(64), 'x'.repeat(254), 'x'.repeat(2000)],
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(
      ...[
        -1, 0, 1, 2, 3, 9, 24, 32, 33, 64, 128, 129, 254, 255, 4095, 4096, 21845, 21846, 65535,
        65536,
      ],
      ...[1.5, -1e9, 1e9, 1e9 + 1, 0xffffffff, 0x100000000],
    ),
  },
  fc.constantFrom<unknown>(true, false, null, remove, remove, [], {}, ['a', 'a'], ['a'], [null]),
  fc.constantFrom<unknown>(
    Array(65).fill('10.0.0.0/8'),
    Array(300).fill('a'),
    { ipv4: 24 },
    { a: 'b' },
  ),
);

/** Ways down to every value inside, but the fields of the metadata. */
function pathsIn(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  const inside =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, item]) =>
          pathsIn(item, [...path, Array.isArray(value) ? Number(key) : key]),
        )
      : [];
  return path.length === 0 ? inside : [path, ...inside];
}

function put(object: unknown, [step, ...rest]: (string | number)[], value: unknown): void {
  if (typeof object !== 'object' || object === null || step === undefined) return;
  const fields = object as Record<string | number, unknown>;
  if (rest.length > 0) put(fields[step], rest, value);
  else if (value !== remove) fields[step] = value;
  else if (Array.isArray(object)) object.splice(Number(step), 1);
  else delete fields[step];
}

/** For each CEL rule a change of the first sample that it takes, and one that it refuses. */
const examples: Array<[Kind, path: string, taken: unknown, refused: unknown]> = [
  ['IPPool', 'spec.cidrs.0', '10.5.120.0/21', '10.5.112.7/21'],
  ['IPPool', 'spec.cidrs.1', 'fd00:6::/48', 'FD00:5::/48'],
  ['IPPool', 'spec.cidrs.1', 'fd00:6::/48', '::/48'],
  ['IPPool', 'spec.cidrs.2', '10.6.0.0/24', '10.5.112.0/22'],
  ['IPPool', 'spec.cidrs.2', '240.0.0.0/8', '127.0.0.0/16'],
  ['IPPool', 'spec.cidrs.2', '126.0.0.0/8', '126.0.0.0/7'],
  ['IPPool', 'spec.cidrs.2', '100.64.0.0/16', '169.254.0.0/16'],
  ['IPPool', 'spec.cidrs.2', '1.0.0.0/8', '0.0.0.0/8'],
  ['IPPool', 'spec.cidrs.2', '223.0.0.0/8', '224.0.0.0/8'],
  ['IPPool', 'spec.cidrs.1', 'fec0::/48', 'fe80::/48'],
  ['IPPool', 'spec.cidrs.1', 'fd00:6::/48', 'ff02::/48'],
  ['IPPool', 'spec.maxBlocksPerNode', 1, 0],
  ['IPPool', 'spec.blockSize.ipv4', 21, 20],
  ['IPPool', 'spec.blockSize.ipv6', 48, remove],
  ['IPPool', 'spec.nodeSelector.matchExpressions.0.values', ['c'], []],
  ['IPPool', 'spec.nodeSelector.matchExpressions.1.values', [], ['c']],
  ['NodeBlock', 'spec.node', { name: 'n', uid: 'u' }, remove],
  ['NodeBlock', 'spec.coolingSince', '2026-01-01T00:00:00.5+01:00', remove],
  ['NodeBlock', 'spec.phase', 'Draining', 'Guard'],
  ['NodeBlock', 'spec.guards', null, ['10.5.113.0/28']],
  ['NodeBlock', 'spec.cidr', '10.5.113.0/24', '10.5.114.0/24'],
  ['BGPPeer', 'spec.address', '10.4.36.251', 'tor1.example.com'],
  ['BGPPeer', 'spec.address', '10.4.36.251', 'fd00::1'],
  ['BGPPeer', 'spec.routerID', '1.2.3.4', '0.0.0.0'],
  ['BGPPeer', 'spec.routerID', '1.2.3.4', '::1'],
  ['BGPPeer', 'spec.holdSeconds', 0, 2],
  ['BGPPeer', 'spec.keepaliveSeconds', 8, 9],
  ['BGPPeer', 'spec.multihopTTL', null, 2],
  ['NodeMigration', 'spec.node.name', 'node1', 'node2'],
  ['OperatorReport', 'metadata.name', 'cadastre', 'another'],
  ['OperatorReport', 'spec.mode', 'kubernetes', 'eni'],
  ['LoadBalancerPool', 'spec.addresses.0', '192.0.2.1-192.0.2.9', '192.0.2.1-fd00::1'],
  ['LoadBalancerPool', 'spec.addresses.0', '192.0.2.0/28', '169.254.0.0/28'],
  ['LoadBalancerPool', 'spec.addresses.0', '192.0.2.0/28', '127.0.0.1-127.0.0.9'],
  ['ServiceAddress', 'spec.address', '192.0.2.10', '192.0.2.11'],
];

describe.each(Object.keys(samples) as Kind[])('%s', (kind) => {
  const [type] = customTypes(JSON.parse(JSON.stringify(crd(definitions[kind]))));

  function refusalOf(object: object): string | undefined {
    const options = { dryRun: true, fieldManager: '', force: false, warnings: [] };
    try {
      const body = structuredClone(object);
      const read = decode(type!, body, { ...options, fieldValidation: 'Ignore' });
      fillDefaults(read, type!.schema, type!.resolve);
      mustBeValid(type!, read, undefined);
      return undefined;
    } catch (error) {
      if (error instanceof ApiRefusal) return error.message;
      throw error;
    }
  }

  const objects = samples[kind].map(({ name, ...fields }) => ({
    apiVersion,
    kind,
    metadata: { name },
    ...fields,
  }));

  test('the samples are sound', () => {
    for (const object of objects) {
      expect([shapeProblems(kind, object), refusalOf(object)]).toEqual([[], undefined]);
    }
  });

  test.each(examples.filter(([of]) => of === kind))(
    '%s %s: %j but not %j',
    (_, path, ...values) => {
      const verdicts = values.map((value) => {
        const object = structuredClone(objects[0]!);
        put(object, path.split('.'), value);
        return [shapeProblems(kind, object).length > 0, refusalOf(object) !== undefined];
      });
      expect(verdicts).toEqual([
        [false, false],
        [true, true],
      ]);
    },
  );

  const changed = fc
    .tuple(
      fc.constantFrom(...objects),
      fc.array(fc.tuple(fc.nat(), anyValue), { minLength: 1, maxLength: 3 }),
    )
    .map(([object, changes]) => {
      const { spec, status, ...rest } = structuredClone(object);
      const body = status === undefined ? { spec } : { spec, status };
      for (const [at, value] of changes) {
        const paths = pathsIn(body);
        put(body, paths[at % paths.length] ?? [], structuredCloneOf(value));
      }
      return { ...rest, ...body };
    });

  test('whatever is changed in them, both take it or both refuse it', () => {
    fc.assert(
      fc.property(changed, (object) => {
        const ours = shapeProblems(kind, object);
        const theirs = refusalOf(object);
        if (theirs === undefined && ours.length > 0) {
          expect(ours.filter((problem) => !beyondTheServer.test(problem))).toEqual([]);
        } else
          expect({ ours, isRefused: ours.length > 0 }).toEqual({
            ours,
            isRefused: theirs !== undefined,
          });
      }),
    );
  });
});

const structuredCloneOf = (value: unknown) => (value === remove ? remove : structuredClone(value));
