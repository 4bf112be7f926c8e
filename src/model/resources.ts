/** Where each kind lives in the API. Shaped as kube/resource.ts wants it. */
import { apiVersion } from './keys.ts';

const resource = (where: string, plural: string, kind: string, namespaced: boolean) => {
  const [version = '', group = ''] = where.split('/').reverse();
  return { group, version, plural, kind, namespaced } as const;
};
const clusterWide = (where: string, plural: string, kind: string) =>
  resource(where, plural, kind, false);
const namespaced = (where: string, plural: string, kind: string) =>
  resource(where, plural, kind, true);

export const ipPools = clusterWide(apiVersion, 'ippools', 'IPPool');
export const nodeBlocks = clusterWide(apiVersion, 'nodeblocks', 'NodeBlock');
export const nodeReports = clusterWide(apiVersion, 'nodereports', 'NodeReport');
export const bgpPeers = clusterWide(apiVersion, 'bgppeers', 'BGPPeer');
export const bgpAdvertisements = clusterWide(apiVersion, 'bgpadvertisements', 'BGPAdvertisement');
export const loadBalancerPools = clusterWide(apiVersion, 'loadbalancerpools', 'LoadBalancerPool');
export const serviceAddresses = clusterWide(apiVersion, 'serviceaddresses', 'ServiceAddress');
export const blockHistories = clusterWide(apiVersion, 'blockhistories', 'BlockHistory');
export const operatorReports = clusterWide(apiVersion, 'operatorreports', 'OperatorReport');
export const nodeMigrations = clusterWide(apiVersion, 'nodemigrations', 'NodeMigration');

export const nodes = clusterWide('v1', 'nodes', 'Node');
export const ciliumNodes = clusterWide('cilium.io/v2', 'ciliumnodes', 'CiliumNode');
export const ciliumEndpoints = namespaced('cilium.io/v2', 'ciliumendpoints', 'CiliumEndpoint');
/** In v2 from Cilium 1.18 on, before that in v2alpha1 alone, with the same fields. */
const sinceV2 = (plural: string, kind: string) => ({
  ...clusterWide('cilium.io/v2', plural, kind),
  olderVersions: ['v2alpha1'],
});
export const ciliumLoadBalancerPools = sinceV2(
  'ciliumloadbalancerippools',
  'CiliumLoadBalancerIPPool',
);
export const ciliumPodPools = clusterWide(
  'cilium.io/v2alpha1',
  'ciliumpodippools',
  'CiliumPodIPPool',
);
export const ciliumBgpClusterConfigs = sinceV2('ciliumbgpclusterconfigs', 'CiliumBGPClusterConfig');
export const ciliumBgpPeerConfigs = sinceV2('ciliumbgppeerconfigs', 'CiliumBGPPeerConfig');
export const ciliumBgpAdvertisements = sinceV2('ciliumbgpadvertisements', 'CiliumBGPAdvertisement');
export const ciliumBgpNodeConfigs = sinceV2('ciliumbgpnodeconfigs', 'CiliumBGPNodeConfig');
export const ciliumBgpPeeringPolicies = clusterWide(
  'cilium.io/v2alpha1',
  'ciliumbgppeeringpolicies',
  'CiliumBGPPeeringPolicy',
);
export const serviceCidrs = clusterWide('networking.k8s.io/v1', 'servicecidrs', 'ServiceCIDR');

const admission = 'admissionregistration.k8s.io/v1';
export const admissionPolicies = clusterWide(
  admission,
  'validatingadmissionpolicies',
  'ValidatingAdmissionPolicy',
);
export const admissionBindings = clusterWide(
  admission,
  'validatingadmissionpolicybindings',
  'ValidatingAdmissionPolicyBinding',
);

export const leases = namespaced('coordination.k8s.io/v1', 'leases', 'Lease');
export const pods = namespaced('v1', 'pods', 'Pod');
export const configMaps = namespaced('v1', 'configmaps', 'ConfigMap');
export const services = namespaced('v1', 'services', 'Service');
export const endpointSlices = namespaced('discovery.k8s.io/v1', 'endpointslices', 'EndpointSlice');
export const daemonSets = namespaced('apps/v1', 'daemonsets', 'DaemonSet');
export const deployments = namespaced('apps/v1', 'deployments', 'Deployment');
export const metallbAddressPools = namespaced(
  'metallb.io/v1beta1',
  'ipaddresspools',
  'IPAddressPool',
);
/** MetalLB 0.13 and 0.14 beside IPAddressPool; gone in 0.15. */
export const metallbOldPools = namespaced('metallb.io/v1beta1', 'addresspools', 'AddressPool');
