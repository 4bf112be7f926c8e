import type { KubeObject } from '../model/object.ts';
import type { SitedNode } from './site-plan.ts';

/** A Node as its kubelet would register it. */
export function simulatedNode({ name, addresses, labels }: Omit<SitedNode, 'rack'>): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: {},
    status: {
      addresses: [
        ...addresses.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: name },
      ],
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Simulated',
          message: 'a node of cadastre up',
        },
      ],
    },
  } as KubeObject;
}
