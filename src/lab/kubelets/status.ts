/** What a cluster of kubelets is made of and how each part is, for `lab cluster status`. */
import { describeError } from '../../base/errors.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/kubeconfig.ts';
import type { KubeletCluster } from './cluster.ts';
import { controlPlaneParts } from './control-plane.ts';
import { nodeHost, router } from './layout.ts';
import { nodePrograms } from './node-programs.ts';
import type { RouterSession } from './router.ts';

export interface ClusterStatus {
  readonly kind: 'LabClusterStatus';
  readonly name: string;
  readonly createdAt: string;
  readonly isUp: boolean;
  readonly folder: string;
  readonly kubeconfig: string;
  /** `serves`, or why it does not. */
  readonly apiServer: string;
  /** Processes that should run and do not. */
  readonly stopped: readonly string[];
  readonly nodes: readonly ClusterNodeStatus[];
  readonly router: {
    readonly address: string;
    readonly asn: number;
    readonly sessions: readonly RouterSession[];
  };
}

interface ClusterNodeStatus {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly isReady: boolean;
  /** Why it is not ready. */
  readonly detail: string;
  /** The version that its kubelet reports. */
  readonly containerd: string;
  readonly pods: { readonly all: number; readonly running: number };
}

interface NodeObject {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly conditions?: ReadonlyArray<{ type: string; status: string; message?: string }>;
    readonly nodeInfo?: { readonly containerRuntimeVersion?: string };
  };
}

interface PodObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase?: string };
}

export async function readClusterStatus(cluster: KubeletCluster): Promise<ClusterStatus> {
  const { name, folder, kubeconfigPath, nodeNames, processes } = cluster;
  const { createdAt, isUp } = folder.read();
  const { nodes, pods, apiServer } = await askApiServer(kubeconfigPath);
  const stopped = [
    ...[...controlPlaneParts(cluster.apiServer), ...nodeNames].filter(
      (part) => !processes.isRunning(part),
    ),
    ...nodeNames
      .flatMap((node) => nodePrograms.map((one) => cluster.machine(node).service(one)))
      .flatMap((service) => (service.isRunning ? [] : [service.name])),
  ];
  const podsOf = (node: string) => pods.filter(({ spec }) => spec.nodeName === node);
  return {
    kind: 'LabClusterStatus',
    name,
    createdAt,
    isUp,
    folder: folder.path,
    kubeconfig: kubeconfigPath,
    apiServer,
    stopped,
    nodes: nodeNames.map((node, at) => {
      const { ipv4, ipv6 } = nodeHost(at + 1);
      const found = nodes.find(({ metadata }) => metadata.name === node);
      const ready = found?.status.conditions?.find(({ type }) => type === 'Ready');
      const runtime = found?.status.nodeInfo?.containerRuntimeVersion;
      return {
        name: node,
        addresses: [ipv4, ipv6],
        isReady: ready?.status === 'True',
        detail: ready?.message ?? 'its kubelet has not registered it',
        // A build from the module proxy says +unknown for its revision.
        containerd: runtime?.replace('containerd://', '').replace('+unknown', '') ?? '-',
        pods: {
          all: podsOf(node).length,
          running: podsOf(node).filter(({ status }) => status.phase === 'Running').length,
        },
      };
    }),
    router: {
      address: router.ipv4,
      asn: router.asn,
      sessions: await cluster.routerSessions().catch(() => []),
    },
  };
}

async function askApiServer(kubeconfig: string) {
  const access = await loadKubeConfig({ kubeconfig }).catch(() => undefined);
  if (access === undefined) return { nodes: [], pods: [], apiServer: 'has not served yet' };
  const client = new KubeClient(access, {});
  const items = async <T>(path: string) =>
    ((await client.rawGet(path, { retries: 0 })) as { items: readonly T[] }).items;
  try {
    const nodes = await items<NodeObject>('/api/v1/nodes');
    return { nodes, pods: await items<PodObject>('/api/v1/pods'), apiServer: 'serves' };
  } catch (error) {
    return { nodes: [], pods: [], apiServer: describeError(error) };
  } finally {
    await client.close();
  }
}
