/** Names that users meet in objects: group, annotations, finalizers, conditions. */
export const group = 'cadastre.dev';
export const version = 'v1alpha1';
export const apiVersion = `${group}/${version}`;

/** Where Cilium in its `kubernetes` mode reads a node's block when Node.spec has none. */
export const podCidrAnnotations = {
  ipv4: ['network.cilium.io/ipv4-pod-cidr', 'io.cilium.network.ipv4-pod-cidr'],
  ipv6: ['network.cilium.io/ipv6-pod-cidr', 'io.cilium.network.ipv6-pod-cidr'],
} as const;

export const allPodCidrAnnotations: readonly string[] = [
  ...podCidrAnnotations.ipv4,
  ...podCidrAnnotations.ipv6,
];

/** Keeps an IPPool from being deleted while blocks cut from it exist. */
export const poolFinalizer = 'cadastre.dev/blocks-in-use';

/** The condition on Node.status that says whether the node has its blocks. */
export const nodeConditionType = 'CadastreBlocksAssigned';

/** The condition on Node.status that says whether the node's agent serves pods, or why not yet. */
export const agentConditionType = 'CadastreAgentReady';

/** The condition on Node.status that says whether the node has an address for another pod. */
export const podAddressesConditionType = 'CadastrePodAddressesFree';

/** On a Node without an address for another pod, with the agent's --taint-when-full. */
export const fullTaint = { key: 'cadastre.dev/no-pod-addresses', effect: 'NoSchedule' } as const;

/** The condition on Node.status that says whether what is allocated, used and announced differs. */
export const driftConditionType = 'CadastreDrift';

/** On a Node: `true`: its routes are withdrawn from the routers; `false`: not even by a cordon. */
export const drainAnnotation = 'cadastre.dev/drain';

/** The condition on NodeBlock.status that says whether a cooling block can be released. */
export const releasableCondition = 'Releasable';

/** On a Node that is cordoned, by the node controller. */
export const unschedulableTaint = 'node.kubernetes.io/unschedulable';

/** On a Node: a person, or a program that can know, says that the machine is off (KEP-2268). */
export const outOfServiceTaint = 'node.kubernetes.io/out-of-service';

/** A Service of this class, or of none, gets its address from us. */
export const loadBalancerClass = 'cadastre.dev/bgp';

/** On a Service: the addresses it asks for, separated by commas; MetalLB's and Cilium's names too. */
export const requestAnnotations = [
  'cadastre.dev/load-balancer-ips',
  'metallb.universe.tf/loadBalancerIPs',
  'metallb.io/loadBalancerIPs',
  'lbipam.cilium.io/ips',
  'io.cilium/lb-ipam-ips',
] as const;

/** On a Service: the pool it asks for. */
export const poolAnnotations = [
  'cadastre.dev/load-balancer-pool',
  'metallb.universe.tf/address-pool',
  'metallb.io/address-pool',
] as const;

/** The condition on Service.status that says whether it has its addresses, or why not. */
export const serviceConditionType = 'CadastreAddressAssigned';

/** A node with this label is not to be sent traffic for Services (KEP-1143). */
export const excludeNodeLabel = 'node.kubernetes.io/exclude-from-external-load-balancers';

/** The pool that the cluster-pool modes cut from; it lives in flags, not in an object. */
export const clusterPoolName = 'cluster-pool';

/** Where the CNI plugin and `cadastre status` find the agent of their machine. */
export const agentSocketPath = '/run/cadastre/agent.sock';

export const fieldManager = 'cadastre';
