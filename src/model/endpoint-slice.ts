import { type Identity, identityOf, type KubeObject } from './object.ts';

/** Of an EndpointSlice only which nodes can serve the Service themselves. */
export interface ReadyEndpoints extends Identity {
  namespace: string;
  /** `namespace/name` of the Service. */
  service: string;
  /** Each once. */
  nodes: readonly string[];
}

export function readReadyEndpoints(object: KubeObject): ReadyEndpoints {
  const namespace = object.metadata?.namespace ?? '';
  const name = object.metadata?.labels?.['kubernetes.io/service-name'] ?? '';
  const endpoints = (object.endpoints ?? []) as Array<{
    nodeName?: string;
    conditions?: { ready?: boolean };
  }>;
  // An absent `ready` means ready. One that terminates is not, although it may still serve:
  // kube-proxy uses those so that the routers have time to look elsewhere.
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false);
  return {
    ...identityOf(object),
    namespace,
    service: `${namespace}/${name}`,
    nodes: [...new Set(ready.flatMap(({ nodeName }) => nodeName ?? []))],
  };
}
