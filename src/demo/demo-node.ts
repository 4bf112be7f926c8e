/**
 * A node of the site: the real agent, its address book on disk, and a kernel in
 * memory. Nothing in the agent knows that it is watched by no kubelet: pods are
 * added and removed through the same CNI server that a runtime would call.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentSettings, Pace } from '../agent/agent-settings.ts';
import type { SpeakerDriver } from '../agent/agent-world.ts';
import { type AssembledAgent, assembleAgent } from '../agent/assemble-agent.ts';
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import { unsyncedFiles } from '../base/journal/durable-files.ts';
import type { Log } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import { Speaker } from '../bgp/speaker/speaker.ts';
import type { FollowCache } from '../cluster/followed-cache.ts';
import { FakeNamespace } from '../kernel/fake/fake-namespace.ts';
import { FakeKernel } from '../kernel/fake-kernel.ts';
import { derivedMac } from '../kernel/link.ts';
import type { KernelRoute } from '../kernel/route.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ClusterPod } from '../model/pod.ts';
import { parseAddress } from '../net/address.ts';
import type { Cabling } from './cabling.ts';
import { type DemoPod, PodFile } from './pod-file.ts';
import { demoMode } from './site-plan.ts';

interface DemoNodeOptions {
  name: string;
  /** At the site. */
  addresses: readonly string[];
  stateDir: string;
  client: KubeClient;
  follow: FollowCache;
  cabling: Cabling;
  clock: Clock;
  log: Log;
  version: string;
  drainGraceMs: number;
  pace: Partial<Pace>;
  /** How often the agent looks for pods whose namespace is gone. */
  sweepEveryMs: number;
}

const cniConfig = JSON.stringify({ cniVersion: '1.1.0', name: 'cadastre', type: 'cadastre' });

export class DemoNode {
  readonly name: string;
  readonly #kernel: FakeKernel;
  readonly #pods: PodFile;
  readonly #agent: AssembledAgent;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #exit: 'restart' | 'drain' = 'restart';

  private constructor(
    { name, log }: DemoNodeOptions,
    parts: { kernel: FakeKernel; pods: PodFile; agent: AssembledAgent },
  ) {
    this.name = name;
    this.#kernel = parts.kernel;
    this.#pods = parts.pods;
    this.#agent = parts.agent;
    this.#running = this.#agent
      .run(this.#stopping.signal, () => this.#exit)
      .catch((error) => {
        log.error({ error: describeError(error) }, 'the agent of the simulated node failed');
      });
  }

  static async start(options: DemoNodeOptions): Promise<DemoNode> {
    const { name, addresses, stateDir, client, follow, clock, log } = options;
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    const namespace = new FakeNamespace();
    const uplink = namespace.addLink({ name: 'eth0', kind: '', mac: derivedMac(name), mtu: 1500 });
    for (const text of addresses) {
      const address = parseAddress(text);
      if (address === undefined) continue;
      uplink.addresses.push({ address, length: address.family === 'ipv6' ? 64 : 24 });
    }
    namespace.setUp(uplink, true);
    const kernel = new FakeKernel(new Map(), namespace);
    // Before the agent looks: a pod whose namespace is gone would be swept away.
    const pods = await PodFile.load(join(stateDir, 'pods.json'));
    for (const { netns } of pods.all()) kernel.addNamespace(netns);
    const agent = await assembleAgent(
      {
        client,
        follow,
        kernel,
        openSpeaker: (speaker) => cabledSpeaker(new Speaker(speaker), options),
        hasRestarted: () => false,
        files: unsyncedFiles,
        clock,
        random: Math.random,
        log,
        metrics: new Metrics(),
      },
      settingsOf(options),
    );
    return new DemoNode(options, { kernel, pods, agent });
  }

  get podCount(): number {
    return this.#pods.size;
  }

  get isReady(): boolean {
    return this.#agent.status.state.isReady;
  }

  /** A pod comes; false if the node could not give it an address. */
  async addPod(name: string, id: string): Promise<boolean> {
    const pod: DemoPod = { name, id, netns: `/run/netns/${id}` };
    // First on disk, then in the book: what only the file has holds no address and is harmless.
    await this.#pods.add(pod);
    this.#kernel.addNamespace(pod.netns);
    const answer = await this.#cni('ADD', pod);
    if (answer) return true;
    await this.#drop(pod);
    return false;
  }

  async removePod(id: string): Promise<void> {
    const pod = this.#pods.all().find((one) => one.id === id);
    if (pod === undefined) return;
    await this.#cni('DEL', pod);
    await this.#drop(pod);
  }

  pods(): readonly DemoPod[] {
    return this.#pods.all();
  }

  /** What its kernel holds now. */
  routes(): Promise<KernelRoute[]> {
    return this.#kernel.routes();
  }

  /** As an API server would list them, with the addresses that the agent gave. */
  async listPods(): Promise<ClusterPod[]> {
    const given = (await this.#agent.addresses?.book.list()) ?? [];
    const names = new Map(this.#pods.all().map(({ id, name }) => [id, name]));
    return given.flatMap(({ attachment, addresses }) => {
      const name = names.get(attachment?.containerId ?? '');
      if (name === undefined) return [];
      const identity = { name, uid: attachment?.containerId ?? '', resourceVersion: '' };
      return [
        { ...identity, namespace: 'default', node: this.name, addresses: addresses.map(String) },
      ];
    });
  }

  /** `drain`: for good, routes are withdrawn first. */
  async stop(exit: 'restart' | 'drain'): Promise<void> {
    this.#exit = exit;
    this.#stopping.abort();
    await this.#running;
    await this.#agent.close();
    this.#kernel.close();
  }

  async #drop(pod: DemoPod): Promise<void> {
    this.#kernel.removeNamespace(pod.netns);
    await this.#pods.remove(pod.id);
  }

  async #cni(command: 'ADD' | 'DEL', pod: DemoPod): Promise<boolean> {
    const answer = await this.#agent.addresses?.cni.handle({
      command,
      containerId: pod.id,
      netns: pod.netns,
      ifname: 'eth0',
      args: `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${pod.name}`,
      plugin: 'cadastre',
      stdin: cniConfig,
    });
    return answer?.isError === false;
  }
}

function settingsOf(options: DemoNodeOptions): AgentSettings {
  const { name, version, stateDir, drainGraceMs, pace, sweepEveryMs } = options;
  return {
    nodeName: name,
    version,
    rules: { source: 'register', families: 'auto' },
    byDemand: demoMode.byDemand,
    preAllocate: 8,
    routing: 'native',
    directRoutes: true,
    reserved: [],
    configMap: undefined,
    filePeers: [],
    filePools: [],
    stateFolder: stateDir,
    socketPath: join(stateDir, 'agent.sock'),
    bgpListen: false,
    apiGraceMs: 5_000,
    reportEveryMs: 2_000,
    drainGraceMs,
    sweepEveryMs,
    pace,
  };
}

/** The speaker, with the site's addresses mapped to loopback sockets. */
function cabledSpeaker(
  speaker: Speaker,
  { name, addresses, cabling }: DemoNodeOptions,
): SpeakerDriver {
  return {
    listen: () => speaker.listen(),
    setPeers: (all) => speaker.setPeers(all.map((p) => cabling.dialled(p, { name, addresses }))),
    set: (all) => speaker.set(all),
    peers: () =>
      speaker.peers().map((view) => ({ ...view, address: cabling.siteAddress(view.address) })),
    announcedTo: (peer) => speaker.announcedTo(peer),
    close: (how, words) => speaker.close(how, words),
  };
}
