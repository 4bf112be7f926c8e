/** The objects of a simulated site, as they are created in its API server: pure. */
import { apiVersion } from '../../model/keys.ts';
import type { LabelSelector } from '../../model/label-selector.ts';
import type { KubeObject } from '../../model/object.ts';
import type { Addresses, LabPool, Topology } from '../topology.ts';

export interface SimulatedNode {
  readonly name: string;
  readonly addresses: Addresses | readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly podCidr?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** As its kubelet would register it. */
export function nodeObject(node: SimulatedNode): KubeObject {
  const { name, labels, addresses, podCidr, annotations } = node;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, ...labels },
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
    },
    // As kube-controller-manager with --allocate-node-cidrs would have filled it in.
    spec: podCidr === undefined ? {} : { podCIDR: podCidr, podCIDRs: [podCidr] },
    status: {
      addresses: [
        ...Object.values(addresses).map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: name },
      ],
      conditions: [
        { type: 'Ready', status: 'True', reason: 'Simulated', message: 'a node without a kubelet' },
      ],
    },
  };
}

/** Cilium's own resource, as far as its schema matters here: it keeps what it does not know. */
export function ciliumNodeCrd(): object {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'ciliumnodes.cilium.io' },
    spec: {
      group: 'cilium.io',
      scope: 'Cluster',
      names: {
        kind: 'CiliumNode',
        listKind: 'CiliumNodeList',
        plural: 'ciliumnodes',
        singular: 'ciliumnode',
        shortNames: ['cn', 'ciliumn'],
        categories: ['cilium'],
      },
      versions: [
        {
          name: 'v2',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              required: ['metadata', 'spec'],
              properties: { metadata: { type: 'object' }, spec: open, status: open },
            },
          },
        },
      ],
    },
  };
}

export function ciliumNodeObject(name: string, podCidr: string): object {
  return {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumNode',
    metadata: { name },
    spec: { ipam: { podCIDRs: [podCidr] } },
  };
}

export function poolObject({ name, spec }: LabPool): KubeObject {
  return { apiVersion, kind: 'IPPool', metadata: { name }, spec };
}

export interface PeeringRouter {
  readonly name: string;
  readonly address: string;
  readonly asn?: number | undefined;
}

export function peerObject(
  { name, address, asn }: PeeringRouter,
  nodeAsn: number,
  more: { nodeSelector?: LabelSelector | undefined; holdSeconds?: number } = {},
): KubeObject {
  const spec = { address, asn, localASN: nodeAsn, connectRetrySeconds: 1, ...more };
  return { apiVersion, kind: 'BGPPeer', metadata: { name }, spec };
}

/** Without the routers that speak no BGP. */
export function peerObjects({ routers, peers }: Topology): KubeObject[] {
  return peers.flatMap(({ router, asn, nodeSelector }) => {
    const known = routers.find((one) => one.name === router && one.asn !== undefined);
    return known === undefined ? [] : [peerObject(known, asn, { nodeSelector })];
  });
}

export function podObject(name: string, node: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'pod', image: 'lab/none' }],
    },
  };
}
