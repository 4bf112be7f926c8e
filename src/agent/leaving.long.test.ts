/** What an agent does when its Node is cordoned, emptied, shut down or taken out of service. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AgentBench } from '../../test/parts/agent-bench.ts';
import { until } from '../../test/parts/test-api.ts';
import type { KubeObject } from '../model/object.ts';

const block = '10.5.113.0/24';
const address = '10.6.0.1/32';
const peer = {
  name: 'tor',
  address: '10.4.94.1',
  port: 179,
  asn: 64524,
  localAsn: 64513,
  families: ['ipv4'] as const,
  holdSeconds: 90,
  gracefulRestartSeconds: 120,
  nodeSelectors: [],
};
const cordon: KubeObject = { spec: { unschedulable: true } };

let bench: AgentBench;
let uid: string;

beforeEach(async () => {
  bench = await AgentBench.make();
  uid = bench.putNode('n1', '10.4.94.32');
  bench.putBlock(block, 'n1', uid);
  bench.putNode('n2', '10.4.94.21');
  bench.api.put('/api/v1/namespaces/shop');
});
afterEach(() => bench.end());

function serve(policy: 'Cluster' | 'Local'): void {
  const { uid: ofService } = bench.api.put('/api/v1/namespaces/shop/services/web', {
    spec: { type: 'LoadBalancer', ports: [{ port: 80 }], externalTrafficPolicy: policy },
    status: { loadBalancer: { ingress: [{ ip: '10.6.0.1' }] } },
  }).metadata;
  const service = { namespace: 'shop', name: 'web', uid: ofService };
  const spec = { address: '10.6.0.1', pool: 'lb', service };
  bench.api.put('/apis/cadastre.dev/v1alpha1/serviceaddresses/10-6-0-1-32', { spec });
}

function endpoints(...all: Array<[node: string, conditions: object]>): void {
  bench.api.put('/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-1', {
    metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: all.map(([nodeName, conditions], index) => ({
      nodeName,
      addresses: [`10.5.113.${index + 9}`],
      conditions,
    })),
  });
}

async function start(): Promise<void> {
  bench.sessions = [{ peer: 'tor', families: ['ipv4'] }];
  await bench.start({ filePeers: [peer] });
  await until('both are announced', () => bench.prefixes().join() === `${block},${address}`);
  const given = await bench.book.allocate({ owner: 'pod', families: ['ipv4'] });
  expect(given.kind).toBe('allocated');
}

const isAnnounced = (...wanted: string[]) =>
  until(`announced: ${wanted}`, () => bench.prefixes().join() === wanted.join());
const steps = () => {
  const { drain } = (bench.reports.at(-1) ?? {}) as {
    drain?: { steps: { step: string; detail: string }[] } | null;
  };
  return drain?.steps ?? [];
};

test('a cordoned node withdraws its Services, and its blocks when the last pod has left; uncordoned it is as before', async () => {
  serve('Cluster');
  await start();
  bench.putNode('n1', '10.4.94.32', cordon);
  await until('asked to prefer others', () => bench.lastResorts().join() === address);
  await isAnnounced(block);
  await bench.book.release('pod');
  await until('asked for the block too', () => bench.lastResorts().join() === block);
  await isAnnounced();
  await until('it says why', () => steps()[0]?.detail.includes('no pod is left') === true);
  bench.putNode('n1', '10.4.94.32');
  await isAnnounced(block, address);
  expect(bench.lastResorts()).toEqual([]);
});

test('the last endpoint of a Service with policy Local is not cut off', async () => {
  serve('Local');
  endpoints(['n1', { ready: true }]);
  await start();
  bench.putNode('n1', '10.4.94.32', cordon);
  await until('it is kept', () =>
    steps().some(({ step, detail }) => step === 'Kept' && detail.includes(address)),
  );
  expect(bench.lastResorts()).toEqual([address]);
  // Evicted: it ends, and still serves.
  endpoints(['n1', { ready: false, serving: true, terminating: true }]);
  bench.putBlock('10.5.114.0/24', 'n1', uid);
  await isAnnounced(block, '10.5.114.0/24', address);
  endpoints(['n1', { ready: false, serving: true, terminating: true }], ['n2', { ready: true }]);
  await isAnnounced(block, '10.5.114.0/24');
  await until('all is withdrawn', () => steps().at(-1)?.step === 'Withdrawn');
});

test.each<[string, KubeObject]>([
  [
    'shuts down',
    {
      status: {
        addresses: [{ type: 'InternalIP', address: '10.4.94.32' }],
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'KubeletNotReady',
            message: 'node is shutting down',
          },
        ],
      },
    },
  ],
  [
    'is out of service',
    { spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] } },
  ],
])('a node that %s withdraws everything in order, pods or not', async (_, sign) => {
  serve('Cluster');
  await start();
  bench.putNode('n1', '10.4.94.32', sign);
  await until('asked to prefer others', () => bench.lastResorts().join() === `${block},${address}`);
  await isAnnounced();
  await until('every step is reported', () => steps().at(-1)?.step === 'Withdrawn');
  const unannounced = JSON.stringify(bench.reports.at(-1)?.unannounced);
  expect(unannounced).toContain('NodeDraining');
  bench.putNode('n1', '10.4.94.32');
  await isAnnounced(block, address);
});
