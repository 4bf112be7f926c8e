import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ensureShim } from '../../scripts/shim.mjs';
import { addNamespace, deleteNamespace, inside, ip, type Namespace } from '../kernel/namespaces.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import type { Cluster } from '../world/cluster.ts';
import { ApiRelay } from './api-relay.ts';
import { ClusterAgent } from './cluster-agent.ts';

const run = promisify(execFile);

/** Two nodes on one link, the third behind the router. */
export const hosts = {
  a: { address: '10.4.94.32', gateway: '10.4.94.1', rack: '94' },
  b: { address: '10.4.94.21', gateway: '10.4.94.1', rack: '94' },
  c: { address: '10.4.83.7', gateway: '10.4.83.1', rack: '83' },
} as const;
/** The same place in IPv6. */
export const ipv6Hosts = {
  a: { address: 'fd04:94::32', gateway: 'fd04:94::1' },
  b: { address: 'fd04:94::21', gateway: 'fd04:94::1' },
  c: { address: 'fd04:83::7', gateway: 'fd04:83::1' },
} as const;
export type HostName = keyof typeof hosts;
export const hostNames = Object.keys(hosts) as HostName[];

export interface Pod {
  namespace: Namespace;
  ipv4: string;
  ipv6: string;
}

interface CniResult {
  ips: Array<{ address: string }>;
}

/** Three nodes and a router, each a network namespace, in a cluster. */
export class Site {
  readonly cluster: Cluster;
  readonly router: Namespace;
  readonly nodes: Record<HostName, Namespace>;
  readonly agents = {} as Record<HostName, ClusterAgent>;
  readonly pods = {} as Record<HostName, Pod>;
  readonly #parts: PartProcess[] = [];
  #relay: ApiRelay | undefined;

  private constructor(cluster: Cluster, router: Namespace, nodes: Record<HostName, Namespace>) {
    this.cluster = cluster;
    this.router = router;
    this.nodes = nodes;
  }

  static async make(cluster: Cluster): Promise<Site> {
    const router = await addNamespace();
    const nodes = {} as Record<HostName, Namespace>;
    await ip(`-n ${router.name} link add br94 type bridge`);
    await ip(`-n ${router.name} addr add 10.4.94.1/24 dev br94`);
    await ip(`-n ${router.name} link set br94 up`);
    await inside(router, 'sysctl -qw net.ipv4.ip_forward=1');
    for (const name of hostNames) {
      const { address, gateway, rack } = hosts[name];
      const node = await addNamespace();
      nodes[name] = node;
      const link = `to-${name}`;
      await ip(`-n ${router.name} link add ${link} type veth peer name eth0 netns ${node.name}`);
      if (name === 'c') await ip(`-n ${router.name} addr add ${gateway}/24 dev ${link}`);
      else await ip(`-n ${router.name} link set ${link} master br94`);
      await ip(`-n ${router.name} link set ${link} up`);
      await ip(`-n ${node.name} addr add ${address}/24 dev eth0`);
      await ip(`-n ${node.name} link set eth0 up`);
      await ip(`-n ${node.name} route add default via ${gateway}`);
      await cluster.createNode(name, { addresses: [address], labels: { rack } });
    }
    return new Site(cluster, router, nodes);
  }

  /** A BGPPeer for each rack: its nodes (AS 64513) speak with the router (AS 64524) at their gateway. */
  async addPeers(): Promise<void> {
    for (const { gateway, rack } of [hosts.a, hosts.c]) {
      await this.cluster.must('POST', '/apis/cadastre.dev/v1alpha1/bgppeers', {
        apiVersion: 'cadastre.dev/v1alpha1',
        kind: 'BGPPeer',
        metadata: { name: `rack-${rack}` },
        spec: {
          address: gateway,
          asn: 64524,
          localASN: 64513,
          connectRetrySeconds: 1,
          nodeSelector: { matchLabels: { rack } },
        },
      });
    }
  }

  /** Agents run inside their nodes from now on, and still find the API server at its address. */
  async moveIn(): Promise<void> {
    this.#relay = new ApiRelay(this.cluster.api.url, this.cluster.dir);
    for (const name of hostNames) this.#relay.openIn(this.nodes[name].path, name);
  }

  startInside(namespace: Namespace, name: string, command: string[]): PartProcess {
    const part = startPart({
      name,
      binary: 'nsenter',
      args: [`--net=${namespace.path}`, ...command],
      logFile: join(this.cluster.dir, `${name}.log`),
      dir: this.cluster.dir,
    });
    this.#parts.push(part);
    return part;
  }

  /** All agents with these flags, those that run already by an update. */
  async startAgents(...flags: string[]): Promise<void> {
    await Promise.all(
      hostNames.map(async (name) => {
        await this.agents[name]?.stop();
        this.agents[name] = this.agentOf(name, ...flags);
        await this.agents[name].start();
      }),
    );
    for (const name of hostNames) await this.agents[name].whenReason('AgentReady');
  }

  /** Every node is renumbered; from now on there is no IPv4 between them. */
  async moveToIpv6(): Promise<void> {
    await inside(this.router, 'sysctl -qw net.ipv6.conf.all.forwarding=1');
    await ip(`-n ${this.router.name} addr add fd04:94::1/64 dev br94 nodad`);
    await ip(`-n ${this.router.name} addr add fd04:83::1/64 dev to-c nodad`);
    for (const name of hostNames) {
      const { address, gateway } = ipv6Hosts[name];
      const node = this.nodes[name].name;
      await ip(`-n ${node} -4 addr flush dev eth0`);
      await ip(`-n ${node} addr add ${address}/64 dev eth0 nodad`);
      await ip(`-n ${node} -6 route add default via ${gateway}`);
      const status = { addresses: [{ type: 'InternalIP', address }] };
      await this.cluster.must('PATCH', `/api/v1/nodes/${name}/status`, { status });
    }
  }

  agentOf(name: HostName, ...flags: string[]): ClusterAgent {
    const netns = this.nodes[name].path;
    // Without a capability it cannot enter a namespace; it is started inside.
    const isPowerless = flags.includes('--announce-only');
    return new ClusterAgent({
      node: name,
      dir: this.cluster.dir,
      kubeconfigPath: this.cluster.api.kubeconfigPath,
      flags: ['--ipam=cluster-pool', ...(isPowerless ? [] : [`--netns=${netns}`]), ...flags],
      ...(this.#relay === undefined ? {} : { inside: netns }),
      isPowerless,
    });
  }

  async addPods(): Promise<void> {
    for (const name of hostNames) this.pods[name] = await this.#addPod(name);
  }

  ping(from: Namespace, address: string): Promise<string> {
    return inside(from, `ping -c 1 -W 5 ${address}`);
  }

  /** Which way a packet of the node itself would go. */
  wayOf(namespace: Namespace, address: string): Promise<string> {
    return ip(`-n ${namespace.name} route get ${address}`);
  }

  async end(): Promise<void> {
    await Promise.all(hostNames.map((name) => this.agents[name]?.stop()));
    await Promise.all(this.#parts.map((part) => part.kill9()));
    await this.#relay?.close();
    const pods = Object.values(this.pods).map(({ namespace }) => namespace);
    for (const one of [...pods, ...Object.values(this.nodes), this.router]) {
      await deleteNamespace(one);
    }
  }

  /** As a runtime does it: one call of a plugin on that node; ours is named `cadastre`. */
  async plugin(
    name: HostName,
    plugin: string,
    command: 'ADD' | 'DEL',
    pod: Namespace,
    config: object,
  ): Promise<CniResult> {
    const shim = ensureShim()!;
    const path = plugin === 'cadastre' ? shim : `/usr/lib/cni/${plugin}`;
    const called = run('nsenter', [`--net=${this.nodes[name].path}`, path], {
      env: {
        PATH: process.env.PATH,
        CADASTRE_SOCKET: this.agents[name].socket,
        CNI_COMMAND: command,
        CNI_CONTAINERID: pod.name,
        CNI_NETNS: pod.path,
        CNI_IFNAME: 'eth0',
        CNI_PATH: `${dirname(shim)}:/usr/lib/cni`,
      },
    });
    called.child.stdin?.end(JSON.stringify({ cniVersion: '1.0.0', name: 'pods', ...config }));
    const { stdout } = await called;
    return stdout === '' ? { ips: [] } : JSON.parse(stdout);
  }

  async #addPod(name: HostName): Promise<Pod> {
    const namespace = await addNamespace();
    const { ips } = await this.plugin(name, 'cadastre', 'ADD', namespace, { type: 'cadastre' });
    const of = (mark: string) =>
      ips.find(({ address }) => address.includes(mark))?.address.split('/')[0] ?? '';
    return { namespace, ipv4: of('.'), ipv6: of(':') };
  }
}
