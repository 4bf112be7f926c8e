/** The objects of the stories, as far as the tests read them: plain JSON of the API. */
export interface Meta {
  name: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: Array<{ kind: string; name: string; uid: string }>;
}

export interface ConditionObject {
  type: string;
  status: string;
  reason: string;
  message: string;
  observedGeneration?: number;
}

export interface NodeObject {
  metadata: Meta;
  spec: {
    podCIDR?: string;
    podCIDRs?: string[];
    taints?: Array<{ key: string; effect: string }>;
  };
  status?: { conditions?: ConditionObject[] };
}

export interface BlockObject {
  metadata: Meta;
  spec: {
    cidr: string;
    pool: string;
    phase: 'Active' | 'Draining' | 'Cooling' | 'Guard';
    node?: { name: string; uid: string; addresses?: string[] };
    coolingSince?: string;
    restedSeconds?: number;
    released?: { by: string; at?: string; detail?: string };
    releaseByTimeSeconds?: number;
    guards?: string[];
  };
  status?: { conditions?: ConditionObject[] };
}

export interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: Array<{ key: string; operator: string; values?: string[] }>;
}

export interface PoolSpec {
  cidrs: string[];
  blockSize: { ipv4?: number; ipv6?: number };
  nodeSelector?: Selector;
  priority?: number;
  reserved?: string[];
  disabled?: boolean;
  cooldownSeconds?: number;
  releaseByTimeSeconds?: number;
}

interface Usage {
  capacity?: number;
  assigned?: number;
  free?: number;
  cooling?: number;
  awaitingRelease?: number;
}

export interface PoolObject {
  metadata: Meta;
  spec: PoolSpec;
  status?: Usage & {
    observedGeneration?: number;
    cidrs?: Array<Usage & { cidr: string }>;
    conditions?: ConditionObject[];
  };
}

export interface CiliumNodeObject {
  metadata: Meta;
  spec?: { ipam?: { podCIDRs?: string[] } };
}

export interface EventObject {
  metadata: Meta;
  involvedObject: { kind: string; name: string; uid: string };
  type: string;
  reason: string;
  message: string;
  count?: number;
}

export interface LeaseObject {
  metadata: Meta;
  spec: { holderIdentity?: string; leaseTransitions?: number; leaseDurationSeconds?: number };
}

/** Where each kind lives. */
export const paths = {
  nodes: '/api/v1/nodes',
  pools: '/apis/cadastre.dev/v1alpha1/ippools',
  blocks: '/apis/cadastre.dev/v1alpha1/nodeblocks',
  reports: '/apis/cadastre.dev/v1alpha1/nodereports',
  ciliumNodes: '/apis/cilium.io/v2/ciliumnodes',
  events: '/api/v1/namespaces/default/events',
  leases: '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases',
  crds: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
} as const;

/** The annotations that Cilium reads, new name first. */
export const annotationKeys = {
  ipv4: ['network.cilium.io/ipv4-pod-cidr', 'io.cilium.network.ipv4-pod-cidr'],
  ipv6: ['network.cilium.io/ipv6-pod-cidr', 'io.cilium.network.ipv6-pod-cidr'],
} as const;
