/** What a cluster with Cilium has besides: its DaemonSet and Deployment, and its BGP objects. */
import { ciliumVersion } from '../../scripts/cilium.mjs';
import { nodeAsn, router } from './layout.ts';

const workload = (name: string, args: readonly string[]) => ({
  selector: { matchLabels: { 'k8s-app': name } },
  template: {
    metadata: { labels: { 'k8s-app': name } },
    spec: {
      containers: [{ name, image: `quay.io/cilium/${name}:v${ciliumVersion}`, args }],
    },
  },
});

export const agentDaemonSet = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'cilium', namespace: 'kube-system', labels: { 'k8s-app': 'cilium' } },
  spec: workload('cilium', ['--config-dir=/tmp/cilium/config-map']),
};

export const operatorDeployment = (args: readonly string[]) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'cilium-operator',
    namespace: 'kube-system',
    labels: { 'io.cilium/app': 'operator' },
  },
  spec: {
    replicas: 1,
    ...workload('cilium-operator', ['--config-dir=/tmp/cilium/config-map', ...args]),
  },
});

const api = 'cilium.io/v2alpha1';

/** All of them: Cilium takes no selector as none. */
const everything = {
  matchExpressions: [{ key: 'never', operator: 'NotIn', values: ['such-a-label'] }],
};

/** What every node announces to the router: PodCIDRs, in multi-pool those of its pools, or Services. */
export type Announces = 'PodCIDR' | 'CiliumPodIPPool' | 'Service';

const advertisements: Readonly<Record<Announces, object>> = {
  PodCIDR: { advertisementType: 'PodCIDR' },
  CiliumPodIPPool: { advertisementType: 'CiliumPodIPPool', selector: everything },
  Service: {
    advertisementType: 'Service',
    service: { addresses: ['LoadBalancerIP'] },
    selector: everything,
  },
};

/** A session for each family: one of IPv4 would announce IPv6 blocks with a mapped next hop. */
const sessions = [
  { name: 'router', afi: 'ipv4', peerAddress: router.address },
  { name: 'router6', afi: 'ipv6', peerAddress: router.address6 },
];

export const bgpObjects = (announces: Announces, isDual = false) => {
  const used = isDual ? sessions : sessions.slice(0, 1);
  const matchLabels = { advertise: 'pods' };
  return [
    {
      apiVersion: api,
      kind: 'CiliumBGPAdvertisement',
      metadata: { name: 'pods', labels: matchLabels },
      spec: { advertisements: [advertisements[announces]] },
    },
    ...used.map(({ name, afi }) => ({
      apiVersion: api,
      kind: 'CiliumBGPPeerConfig',
      metadata: { name },
      spec: {
        timers: { connectRetryTimeSeconds: 1, holdTimeSeconds: 9, keepAliveTimeSeconds: 3 },
        gracefulRestart: { enabled: true, restartTimeSeconds: 120 },
        families: [{ afi, safi: 'unicast', advertisements: { matchLabels } }],
      },
    })),
    {
      apiVersion: api,
      kind: 'CiliumBGPClusterConfig',
      metadata: { name: 'site' },
      spec: {
        bgpInstances: [
          {
            name: 'main',
            localASN: nodeAsn,
            peers: used.map(({ name, peerAddress }) => ({
              name,
              peerASN: router.asn,
              peerAddress,
              peerConfigRef: { name },
            })),
          },
        ],
      },
    },
  ];
};

/** A pool of Service addresses, and a Service that gets one: cilium-operator allocates them. */
export const serviceObjects = [
  {
    path: `/apis/${api}/ciliumloadbalancerippools`,
    body: {
      apiVersion: api,
      kind: 'CiliumLoadBalancerIPPool',
      metadata: { name: 'services' },
      spec: { blocks: [{ cidr: '192.0.2.0/28' }] },
    },
  },
  {
    path: '/api/v1/namespaces/default/services',
    body: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: { type: 'LoadBalancer', selector: { app: 'steady' }, ports: [{ port: 80 }] },
    },
  },
];

export const bgpPaths: Record<string, string> = {
  CiliumBGPAdvertisement: `/apis/${api}/ciliumbgpadvertisements`,
  CiliumBGPPeerConfig: `/apis/${api}/ciliumbgppeerconfigs`,
  CiliumBGPClusterConfig: `/apis/${api}/ciliumbgpclusterconfigs`,
  CiliumBGPNodeConfig: `/apis/${api}/ciliumbgpnodeconfigs`,
};

export const ciliumPaths = {
  nodes: '/apis/cilium.io/v2/ciliumnodes',
  endpoints: '/apis/cilium.io/v2/ciliumendpoints',
  podIpPools: `/apis/${api}/ciliumpodippools`,
} as const;
