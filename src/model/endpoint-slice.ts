import { type Identity, identityOf, type KubeObject } from './object.ts';

/** Of an EndpointSlice only which nodes can serve the Service themselves. */
export interface ReadyEndpoints extends Identity {
  namespace: string;
  /** `namespace/name` of the Service. */
  service: string;
  /** Each once. */
  nodes: readonly string[];
  /** Nodes with an endpoint that is being deleted and still serves; absent if there is none. */
  ending?: readonly string[];
}

export function readReadyEndpoints(object: KubeObject): ReadyEndpoints {
  const namespace = object.metadata?.namespace ?? '';
  const name = object.metadata?.labels?.['kubernetes.io/service-name'] ?? '';
  const endpoints = (object.endpoints ?? []) as Array<{
    nodeName?: string;
    conditions?: { ready?: boolean; serving?: boolean };
  }>;
  // An absent `ready` means ready. One that terminates is not, although it may still serve:
  // kube-proxy uses those if there is no other, so that the routers have time to look elsewhere.
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false);
  const ending = endpoints.filter(
    ({ conditions }) => conditions?.ready === false && conditions.serving === true,
  );
  return {
    ...identityOf(object),
    namespace,
    service: `${namespace}/${name}`,
    nodes: nodesOf(ready),
    ...(ending.length === 0 ? {} : { ending: nodesOf(ending) }),
  };
}

function nodesOf(endpoints: ReadonlyArray<{ nodeName?: string }>): string[] {
  return [...new Set(endpoints.flatMap(({ nodeName }) => nodeName ?? []))];
}

/** Enough to see, nearly always, that another node can serve it; more would cost every node memory. */
const keptOthers = 2;

/** What one node keeps of a slice: its own endpoints, and some of the others. */
export function trimEndpoints(slice: ReadyEndpoints, nodeName: string): ReadyEndpoints {
  const { ending, ...rest } = slice;
  const others = slice.nodes.filter((name) => name !== nodeName).sort();
  return {
    ...rest,
    nodes: [...slice.nodes.filter((name) => name === nodeName), ...others.slice(0, keptOthers)],
    ...(ending?.includes(nodeName) ? { ending: [nodeName] } : {}),
  };
}
