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
const everyPool = {
  matchExpressions: [{ key: 'never', operator: 'NotIn', values: ['such-a-pool'] }],
};

/** Every node announces its blocks to the router: PodCIDRs, or in multi-pool those of its pools. */
export const bgpObjects = (type: 'PodCIDR' | 'CiliumPodIPPool') => [
  {
    apiVersion: api,
    kind: 'CiliumBGPAdvertisement',
    metadata: { name: 'pods', labels: { advertise: 'pods' } },
    spec: {
      advertisements: [
        { advertisementType: type, ...(type === 'PodCIDR' ? {} : { selector: everyPool }) },
      ],
    },
  },
  {
    apiVersion: api,
    kind: 'CiliumBGPPeerConfig',
    metadata: { name: 'router' },
    spec: {
      timers: { connectRetryTimeSeconds: 1, holdTimeSeconds: 9, keepAliveTimeSeconds: 3 },
      gracefulRestart: { enabled: true, restartTimeSeconds: 120 },
      families: [
        { afi: 'ipv4', safi: 'unicast', advertisements: { matchLabels: { advertise: 'pods' } } },
      ],
    },
  },
  {
    apiVersion: api,
    kind: 'CiliumBGPClusterConfig',
    metadata: { name: 'site' },
    spec: {
      bgpInstances: [
        {
          name: 'main',
          localASN: nodeAsn,
          peers: [
            {
              name: 'router',
              peerASN: router.asn,
              peerAddress: router.address,
              peerConfigRef: { name: 'router' },
            },
          ],
        },
      ],
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
