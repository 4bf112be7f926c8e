import { type Identity, identityOf, type KubeObject } from './object.ts';

/** Of an EndpointSlice one node needs to know only whether it can itself serve the Service. */
export interface LocalEndpoints extends Identity {
  namespace: string;
  /** `namespace/name` of the Service. */
  service: string;
  hasReady: boolean;
}

export function readLocalEndpoints(object: KubeObject, nodeName: string): LocalEndpoints {
  const namespace = object.metadata?.namespace ?? '';
  const name = object.metadata?.labels?.['kubernetes.io/service-name'] ?? '';
  const endpoints = (object.endpoints ?? []) as Array<{
    nodeName?: string;
    conditions?: { ready?: boolean };
  }>;
  return {
    ...identityOf(object),
    namespace,
    service: `${namespace}/${name}`,
    // An absent `ready` means ready. One that terminates is not, although it may still serve:
    // kube-proxy uses those so that the routers have time to look elsewhere.
    hasReady: endpoints.some((one) => one.nodeName === nodeName && one.conditions?.ready !== false),
  };
}
