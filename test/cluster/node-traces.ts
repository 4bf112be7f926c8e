/** What a pod network leaves on a node: its interfaces, namespaces, routes, rules and files. */
import type { Cluster } from './cluster.ts';

const questions = {
  interfaces: 'ip -o link | cut -d" " -f2 | cut -d@ -f1',
  namespaces: 'ls /run/netns',
  // Without what the kernel makes for an interface.
  routes: '(ip route; ip -6 route) | grep -v "proto kernel"',
  tables: 'nft list tables | grep -v -e kube-proxy',
  // Rules that portmap makes for a hostPort.
  hostPorts: '(iptables-save; ip6tables-save) 2>/dev/null | grep -c -e "-j CNI-DN"',
  plugins: 'ls /opt/cni/bin /etc/cni/net.d',
  files: 'cd / && find var/lib/cadastre run/cadastre run/cni var/lib/cni -type f 2>/dev/null',
  sandboxes: 'ls /run/containerd/io.containerd.runtime.v2.task/k8s.io',
} as const;

export type NodeTraces = Record<keyof typeof questions, string[]>;

async function tracesOn(cluster: Cluster, node: string): Promise<NodeTraces> {
  const answers = Object.entries(questions).map(async ([name, question]) => {
    const { stdout } = await cluster.exec(node, ['sh', '-c', question]);
    return [name, stdout.trim().split('\n').sort()] as const;
  });
  return Object.fromEntries(await Promise.all(answers)) as NodeTraces;
}

export async function tracesOnEach(
  cluster: Cluster,
  nodes: readonly string[] = cluster.nodes,
): Promise<Record<string, NodeTraces>> {
  const all = nodes.map(async (node) => [node, await tracesOn(cluster, node)] as const);
  return Object.fromEntries(await Promise.all(all));
}
