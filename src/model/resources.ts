import { group, version } from './keys.ts';

/** Where each kind lives in the API. Shaped as kube/resource.ts wants it. */
const cadastre = (kind: string, plural: string) =>
  ({ group, version, plural, kind, namespaced: false }) as const;

export const ipPools = cadastre('IPPool', 'ippools');
export const nodeBlocks = cadastre('NodeBlock', 'nodeblocks');
export const nodeReports = cadastre('NodeReport', 'nodereports');
export const bgpPeers = cadastre('BGPPeer', 'bgppeers');
export const bgpAdvertisements = cadastre('BGPAdvertisement', 'bgpadvertisements');
export const loadBalancerPools = cadastre('LoadBalancerPool', 'loadbalancerpools');
export const serviceAddresses = cadastre('ServiceAddress', 'serviceaddresses');

export const blockHistories = cadastre('BlockHistory', 'blockhistories');
export const nodeMigrations = cadastre('NodeMigration', 'nodemigrations');

export const nodes = {
  group: '',
  version: 'v1',
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
} as const;

export const ciliumNodes = {
  group: 'cilium.io',
  version: 'v2',
  plural: 'ciliumnodes',
  kind: 'CiliumNode',
  namespaced: false,
} as const;

export const serviceCidrs = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'servicecidrs',
  kind: 'ServiceCIDR',
  namespaced: false,
} as const;

export const pods = {
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
} as const;

export const configMaps = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
} as const;

export const services = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
} as const;

export const endpointSlices = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
} as const;

export const daemonSets = {
  group: 'apps',
  version: 'v1',
  plural: 'daemonsets',
  kind: 'DaemonSet',
  namespaced: true,
} as const;

export const ciliumLoadBalancerPools = {
  group: 'cilium.io',
  version: 'v2alpha1',
  plural: 'ciliumloadbalancerippools',
  kind: 'CiliumLoadBalancerIPPool',
  namespaced: false,
} as const;

export const metallbAddressPools = {
  group: 'metallb.io',
  version: 'v1beta1',
  plural: 'ipaddresspools',
  kind: 'IPAddressPool',
  namespaced: true,
} as const;
