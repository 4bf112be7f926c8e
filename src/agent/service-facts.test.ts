import { expect, test } from 'vitest';
import { nodeObject } from '../../test/register/objects.ts';
import { type ReadyEndpoints, readReadyEndpoints } from '../model/endpoint-slice.ts';
import { type ClusterNode, readNode } from '../model/node.ts';
import { readService } from '../model/service.ts';
import { type ServiceCachesOfNode, serviceFacts } from './service-facts.ts';

const yes = true as const;
const ending = { ready: false, serving: true, terminating: true };

const cacheOf = <T>(...all: T[]) => ({ values: () => all.values() });

function facts(
  node: Partial<ClusterNode>,
  endpoints: Array<[nodeName: string, conditions: object]>,
  staying: readonly string[],
) {
  const service = (name: string, policy: string) =>
    readService({
      metadata: { name, namespace: 'shop', uid: name },
      spec: { type: 'LoadBalancer', externalTrafficPolicy: policy },
      status: { loadBalancer: { ingress: [{ ip: '10.6.0.1' }] } },
    });
  const slice: ReadyEndpoints = readReadyEndpoints({
    metadata: { namespace: 'shop', labels: { 'kubernetes.io/service-name': 'local' } },
    endpoints: endpoints.map(([nodeName, conditions]) => ({ nodeName, conditions })),
  });
  const caches = {
    services: cacheOf(service('local', 'Local'), service('cluster', 'Cluster')),
    endpoints: cacheOf(slice),
    addresses: cacheOf(),
    pools: cacheOf(),
  } as unknown as ServiceCachesOfNode;
  const others = { has: (name: string) => staying.includes(name), isAnyThere: staying.length > 0 };
  const own = { ...readNode(nodeObject('n1')), ...node };
  const { services } = serviceFacts(own, caches, [], others);
  return Object.fromEntries(
    services.map(({ key, hasReady, hasEnding, isOnlyHere }) => [
      key,
      [hasReady && 'ready', hasEnding && 'ending', isOnlyHere && 'only here']
        .filter(Boolean)
        .join(', '),
    ]),
  );
}

test.each<[string, Partial<ClusterNode>, Array<[string, object]>, string[], string, string]>([
  ['it stays', {}, [['n1', {}]], [], 'ready', ''],
  ['it leaves alone', { isCordoned: yes }, [['n1', {}]], [], 'ready, only here', 'only here'],
  [
    'it leaves, another node has no endpoint',
    { isCordoned: yes },
    [['n1', {}]],
    ['n2'],
    'ready, only here',
    '',
  ],
  [
    'it leaves, another has one',
    { isCordoned: yes },
    [
      ['n1', {}],
      ['n2', {}],
    ],
    ['n2'],
    'ready',
    '',
  ],
  [
    'it leaves, another has one that ends',
    { isCordoned: yes },
    [
      ['n1', {}],
      ['n2', ending],
    ],
    ['n2'],
    'ready, only here',
    '',
  ],
  [
    'it leaves, another has one and leaves too',
    { isCordoned: yes },
    [
      ['n1', {}],
      ['n2', {}],
    ],
    ['n3'],
    'ready, only here',
    '',
  ],
  ['it stays, its only endpoint ends', {}, [['n1', ending]], ['n2'], 'ending, only here', ''],
])('who else could announce it: %s', (_, node, endpoints, staying, local, cluster) => {
  expect(facts(node, endpoints, staying)).toEqual({ 'shop/local': local, 'shop/cluster': cluster });
});
