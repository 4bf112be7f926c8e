/** The objects of a topology, as the API server is told of them: pure. */
import { apiVersion } from '../../model/keys.ts';
import type { LabNode, LabPeer, LabPool, Topology } from '../topology.ts';

export function nodeObject({ name, labels, addresses, podCidr }: LabNode): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    // As kube-controller-manager with --allocate-node-cidrs would have filled it in.
    spec: podCidr === undefined ? {} : { podCIDR: podCidr, podCIDRs: [podCidr] },
    status: {
      addresses: Object.values(addresses).map((address) => ({ type: 'InternalIP', address })),
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

export function poolObject({ name, spec }: LabPool): object {
  return { apiVersion, kind: 'IPPool', metadata: { name }, spec };
}

export function peerObject(topology: Topology, { router, asn, nodeSelector }: LabPeer): object {
  const known = topology.routers.find(({ name }) => name === router)!;
  return {
    apiVersion,
    kind: 'BGPPeer',
    metadata: { name: router },
    spec: {
      address: known.address,
      asn: known.asn,
      localASN: asn,
      connectRetrySeconds: 1,
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
    },
  };
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
