/** A lab as a story uses it: everything it may do there, and everything it can see. */
import { CadastreError } from '../../base/errors.ts';
import type { KubeClient } from '../../kube/client.ts';
import { ifFound, ifNew } from '../../kube/get-if-there.ts';
import { leaseResource } from '../../kube/lease-object.ts';
import { drainAnnotation, releasableCondition } from '../../model/keys.ts';
import { selects } from '../../model/label-selector.ts';
import type { DrainStep } from '../../model/node-report-status.ts';
import type { Reason } from '../../model/reasons.ts';
import { nodeBlocks, nodes } from '../../model/resources.ts';
import { nodeObject } from '../cluster/objects.ts';
import { eventually } from '../eventually.ts';
import type { LabPod } from '../folder.ts';
import type { Lab } from '../lab.ts';
import { becomeGateway, legName, nodeRoutes, routerLines } from '../layout.ts';
import { endProcesses, ipBatch, runInside } from '../namespaces.ts';
import { type HeldRoute, tableOf } from '../routers/router.ts';
import { whenAgentReady } from '../up.ts';
import { AgentBooks } from './agent-books.ts';
import { Cuts } from './cuts.ts';
import { EtcdBackup } from './etcd-backup.ts';
import { NodeSigns } from './node-signs.ts';
import { NodeSpecSpeaker } from './node-spec-speaker.ts';
import type { Observation, ObservedBlock } from './observation.ts';
import { PingStream } from './ping-stream.ts';
import { PlaceWatch } from './place-watch.ts';
import { type RouteEvent, watchRoutes } from './route-watch.ts';
import { LabServices } from './services.ts';

interface BlockObject {
  metadata: { name: string; uid: string };
  spec: { cidr: string; phase: string; node?: { name: string }; released?: { by: string } };
  status?: { conditions?: Array<{ type: string; status: string; message: string }> };
}

export interface TimedRouteEvent extends RouteEvent {
  readonly atMs: number;
}

/** So many a pod in every step: half a second at least in which a loss would show. */
const leastPings = 10;

export class Stage {
  readonly lab: Lab;
  readonly client: KubeClient;
  readonly outageSeconds: number;
  readonly notes: Record<string, string> = {};
  readonly figures: Record<string, number> = {};
  readonly services: LabServices;
  readonly signs: NodeSigns;
  readonly cuts: Cuts;
  readonly places: PlaceWatch;
  readonly backup: EtcdBackup;
  readonly books: AgentBooks;
  readonly nodeSpecSpeaker: NodeSpecSpeaker;
  readonly #streams = new Map<string, { pod: LabPod; stream: PingStream }>();
  readonly #closed: Array<{ pod: LabPod; stream: PingStream; end: number }> = [];
  readonly #events: TimedRouteEvent[] = [];
  readonly #stopWatching: () => void;
  #register: { blocks: ObservedBlock[]; leader: string } = { blocks: [], leader: '' };
  #traces: Record<string, readonly string[]> = {};
  #marks = new Map<string, number>();
  #eventMark = 0;

  private constructor(lab: Lab, client: KubeClient, outageSeconds: number) {
    this.lab = lab;
    this.outageSeconds = outageSeconds;
    this.client = client;
    this.services = new LabServices(lab, client);
    this.signs = new NodeSigns(client);
    this.cuts = new Cuts(lab);
    this.places = new PlaceWatch(lab);
    this.backup = new EtcdBackup(lab, this.cuts);
    this.books = new AgentBooks(lab);
    this.nodeSpecSpeaker = new NodeSpecSpeaker(lab, client);
    const routers = lab.topology.routers.map(({ name }) => name);
    this.#stopWatching = watchRoutes(lab, routers, (event) =>
      this.#events.push({ ...event, atMs: performance.now() }),
    );
  }

  static async open(lab: Lab, outageSeconds = 3600): Promise<Stage> {
    return new Stage(lab, await lab.client(), outageSeconds);
  }

  close(): void {
    for (const { stream } of this.#streams.values()) stream.close();
    this.#stopWatching();
    this.places.close();
  }

  // Watching.

  /** From the outside host to every pod that is not pinged yet, twenty a second. */
  async startPings(pods: readonly LabPod[] = this.lab.pods): Promise<void> {
    const outside = this.lab.namespace('outside');
    for (const pod of pods) {
      if (this.#streams.has(pod.name)) continue;
      const stream = new PingStream(outside, pod.addresses[0]!);
      this.#streams.set(pod.name, { pod, stream });
      this.#marks.set(pod.name, 0);
    }
    await eventually('the first pings are sent', () =>
      [...this.#streams.values()].every(({ stream }) => stream.mark > 0) ? true : undefined,
    );
  }

  /** Pinged from outside too, once each of them answers. */
  async whenAnswering(targets: readonly LabPod[]): Promise<void> {
    await eventually('they answer from outside', async () => {
      const pings = targets.map(({ addresses }) =>
        this.lab.run('outside', ['ping', '-n', '-c', '1', '-W', '1', addresses[0]!]),
      );
      return (await Promise.all(pings)).every(({ code }) => code === 0) ? true : undefined;
    });
    await this.startPings(targets);
  }

  stopPing(pod: string): void {
    const found = this.#streams.get(pod);
    if (found === undefined) return;
    this.#closed.push({ ...found, end: found.stream.mark });
    found.stream.close();
    this.#streams.delete(pod);
  }

  beginStep(): void {
    for (const [name, { stream }] of this.#streams) this.#marks.set(name, stream.mark);
    this.#eventMark = this.#events.length;
    this.#traces = {};
  }

  /** Answers that are still under way count for the step in which they were asked for. */
  async endStep(): Promise<void> {
    await Promise.all(
      [...this.#streams].map(async ([name, { stream }]) => {
        const from = this.#marks.get(name) ?? 0;
        await stream.whenSent(from, leastPings);
        await stream.settled(from, stream.mark);
      }),
    );
  }

  get routeEvents(): readonly TimedRouteEvent[] {
    return this.#events.slice(this.#eventMark);
  }

  async observe(): Promise<Observation> {
    const { topology } = this.lab;
    const running = topology.routers.filter(
      ({ name }) => this.lab.manifest.software[name] !== 'none' && this.lab.isRouterRunning(name),
    );
    const [tables, register] = await Promise.all([
      Promise.all(running.map(async ({ name }) => [name, await this.#table(name)] as const)),
      this.#lastRead(),
    ]);
    const twoPlaces = this.places.found;
    if (twoPlaces !== undefined) this.figures['addresses alive in two places'] = twoPlaces.length;
    return {
      routers: Object.fromEntries(tables),
      ...register,
      services: this.services.prefixes,
      ...(twoPlaces === undefined ? {} : { twoPlaces }),
      routeEvents: this.routeEvents,
      traces: this.#traces,
      notes: { ...this.notes },
      figures: { ...this.figures },
      nodeOf: Object.fromEntries(
        topology.nodes.flatMap(({ name, addresses }) =>
          Object.values(addresses).map((address) => [address, name]),
        ),
      ),
      pods: [...this.#streams.values()].map(({ pod, stream }) => ({
        name: pod.name,
        node: pod.node,
        address: stream.address,
        isAnswering: stream.isAnswering,
        isSilent: stream.isSilent,
        pings: stream.count(this.#marks.get(pod.name) ?? 0, stream.mark),
      })),
    };
  }

  async #table(router: string): Promise<HeldRoute[]> {
    const paths = await this.lab.pathsOf(router);
    this.places.take(router, paths, this.services.prefixes);
    return tableOf(paths);
  }

  async #lastRead(): Promise<{ blocks: ObservedBlock[]; leader: string }> {
    if (!this.cuts.isApiServerStopped) {
      const [blocks, leader] = await Promise.all([this.blocks(), this.leader()]);
      this.#register = { blocks, leader };
    }
    return this.#register;
  }

  /** Of the whole story, pods that are gone included. */
  totals() {
    const all = [
      ...this.#closed,
      ...[...this.#streams.values()].map((one) => ({ ...one, end: one.stream.mark })),
    ];
    const named = all.toSorted((a, b) => (a.pod.name < b.pod.name ? -1 : 1));
    return named.map(({ pod, stream, end }) => ({
      pod: pod.name,
      node: pod.node,
      address: stream.address,
      ...stream.count(0, end),
    }));
  }

  async blocks(): Promise<ObservedBlock[]> {
    const { items } = await this.client.list<BlockObject>(nodeBlocks);
    return items.map(({ metadata, spec, status }) => {
      const waiting = status?.conditions?.find(
        (one) => one.type === releasableCondition && one.status === 'False',
      );
      return {
        cidr: spec.cidr,
        uid: metadata.uid,
        node: spec.node?.name ?? '',
        phase: spec.phase,
        ...(spec.released === undefined ? {} : { releasedBy: spec.released.by }),
        ...(waiting === undefined ? {} : { awaits: waiting.message }),
      };
    });
  }

  async leader(): Promise<string> {
    const lease = await this.client.get<{
      metadata: { name: string };
      spec?: { holderIdentity?: string };
    }>(leaseResource, 'cadastre-operator', { namespace: 'kube-system' });
    return lease.spec?.holderIdentity ?? '';
  }

  /** Which machines answer on the way to a pod, by pings with an increasing TTL. */
  async trace(from: LabPod | 'outside', to: string): Promise<void> {
    const { addresses } = this.pod(to);
    const namespace = from === 'outside' ? this.lab.namespace(from) : from.namespace;
    const hops: string[] = [];
    for (let ttl = 1; ttl <= 10; ttl++) {
      const { stdout } = await runInside(namespace, [
        ...['ping', '-n', '-c', '1', '-W', '2', '-t', String(ttl), addresses[0]!],
      ]);
      const hop = /(?:bytes from|From) ([0-9a-f.:]*[0-9a-f])/.exec(stdout)?.[1] ?? '*';
      hops.push(hop === addresses[0] ? to : hop);
      if (hop === addresses[0]) break;
    }
    const label = `${from === 'outside' ? from : from.name} to ${to}`;
    this.#traces = { ...this.#traces, [label]: hops };
  }

  /** How many echo requests have reached a pod, whoever answered for its address. */
  async echoesAt({ namespace }: LabPod): Promise<number> {
    const { stdout } = await runInside(namespace, ['cat', '/proc/net/snmp']);
    const [names = [], values = []] = stdout
      .split('\n')
      .filter((line) => line.startsWith('Icmp:'))
      .map((line) => line.split(' '));
    return Number(values[names.indexOf('InEchos')]);
  }

  /** So many more pings to the pod have been sent. */
  async whenPinged(pod: string, times: number): Promise<void> {
    const { stream } = this.#streams.get(pod)!;
    await stream.whenSent(stream.mark, times);
  }

  pod(name: string): LabPod {
    return this.lab.pods.find((one) => one.name === name)!;
  }

  // Nodes.

  /** Ends the machine: everything that runs on it, and its links. */
  async powerOff(node: string): Promise<void> {
    await endProcesses([this.lab.namespace(node)]);
    await this.lab.unplug(node);
  }

  /** Its agent runs. */
  isOn(node: string): boolean {
    return this.lab.processes.isRunning(this.lab.agentName(node));
  }

  async powerOn(node: string): Promise<void> {
    const lines = ['link set eth0 up', 'link set mgmt0 up'];
    const routes = nodeRoutes(this.lab.topology, this.lab.node(node));
    await ipBatch(this.lab.namespace(node), [...lines, ...routes]);
    this.lab.startAgent(node);
  }

  async deleteNode(node: string): Promise<void> {
    await ifFound(this.client.delete(nodes, node));
  }

  async createNode(node: string): Promise<void> {
    await ifNew(this.client.create(nodes, nodeObject(this.lab.node(node))));
  }

  /** A Node without a machine: it only wants a block. */
  async createGhost(name: string): Promise<void> {
    await this.client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  }

  /** What `cadastre drain` asks for. */
  async setDrain(node: string, isWanted: boolean): Promise<void> {
    const annotations = { [drainAnnotation]: isWanted ? 'true' : null };
    await this.client.patch(nodes, node, { type: 'merge', body: { metadata: { annotations } } });
  }

  async label(node: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.client.patch(nodes, node, { type: 'merge', body: { metadata: { labels } } });
  }

  async removeLabel(node: string, label: string): Promise<void> {
    const body = { metadata: { labels: { [label]: null } } };
    await this.client.patch(nodes, node, { type: 'merge', body });
  }

  async drainBlocks(node: string): Promise<void> {
    const { items } = await this.client.list<BlockObject>(nodeBlocks);
    for (const { metadata, spec } of items) {
      if (spec.node?.name !== node || spec.phase !== 'Active') continue;
      const body = { spec: { phase: 'Draining' } };
      await this.client.patch(nodeBlocks, metadata.name, { type: 'merge', body });
    }
  }

  /** A command of ours, as an administrator types it; what it prints. */
  async cadastre(args: readonly string[]): Promise<string> {
    const command = [...this.lab.world.cadastre, ...args, '--kubeconfig', this.lab.kubeconfigPath];
    const { code, stdout, stderr } = await this.lab.run('control', command);
    if (code === 0) return stdout;
    throw new CadastreError('LAB_FAILED', `cadastre ${args.join(' ')}: ${stderr || stdout}`);
  }

  // Operators and agents.

  async restartOperator(index: number): Promise<void> {
    const name = this.lab.operatorName(index);
    const wasLeader = (await this.leader()) === name;
    await this.lab.processes.end(name, 'SIGTERM');
    this.lab.startOperator(index);
    await this.lab.whenOperatorReady(index);
    if (!wasLeader) return;
    await eventually('an operator leads again', async () =>
      (await this.leader()) === '' ? undefined : true,
    );
  }

  async restartAgent(node: string): Promise<void> {
    await this.lab.processes.end(this.lab.agentName(node), 'SIGTERM');
    this.lab.startAgent(node);
    await whenAgentReady(this.lab, node);
    await this.whenEstablished(node);
  }

  /** The agent says of itself why it does not serve. */
  async whenWaiting(node: string, reason: Reason): Promise<void> {
    let last = 'nothing';
    await eventually(
      `the agent of ${node} says ${reason}`,
      async () => {
        const { agent } = await this.lab.agentStatus(node);
        last = `${agent.reason}: ${agent.detail}`;
        return !agent.ready && agent.reason === reason ? true : undefined;
      },
      { why: () => `it says ${last}` },
    );
  }

  async whenEstablished(node: string): Promise<void> {
    const { labels } = this.lab.node(node);
    const wanted = this.lab.topology.peers.filter(({ nodeSelector }) =>
      selects(nodeSelector, labels),
    );
    await eventually(`${node} has its sessions`, async () => {
      const { sessions } = (await this.lab.agentStatus(node)).agent;
      const up = sessions.filter(({ state }) => state === 'Established');
      return up.length >= wanted.length ? true : undefined;
    });
  }

  /** To every router of the node. */
  async whenAnnounced(node: string, prefixes: readonly string[]): Promise<void> {
    await eventually(`${node} announces ${prefixes.join(', ')}`, async () => {
      const { sessions } = (await this.lab.agentStatus(node)).agent;
      const isThere = prefixes.every((prefix) =>
        sessions.every(({ announced }) => announced.some((one) => one.prefix === prefix)),
      );
      return isThere ? true : undefined;
    });
  }

  /** All that the register gives it: after a drain, only then does it give out addresses again. */
  async whenBlocksAnnounced(node: string): Promise<void> {
    const active = (await this.blocks()).filter(
      (block) => block.node === node && block.phase === 'Active',
    );
    await this.whenAnnounced(
      node,
      active.map(({ cidr }) => cidr),
    );
  }

  /** The agent has come to this step of its drain. */
  async whenDrain(node: string, step: DrainStep): Promise<void> {
    await eventually(`${node}: ${step}`, async () => {
      const { drain } = (await this.lab.agentStatus(node)).agent;
      return drain?.steps.at(-1)?.step === step ? true : undefined;
    });
  }

  /** Stops the clock of an operator, and starts it again. */
  freeze(operator: string): void {
    this.lab.processes.signal(operator, 'SIGSTOP');
  }

  thaw(operator: string): void {
    this.lab.processes.signal(operator, 'SIGCONT');
  }

  // Routers.

  /** The whole machine, not only its software. */
  async killRouter(name: string): Promise<void> {
    await this.lab.endRouter(name);
    await ipBatch(
      this.lab.namespace(name),
      this.#legs(name).map((link) => `link set ${link} down`),
    );
  }

  /** What VRRP does: the twin becomes the gateway of every subnet that the other one kept. */
  async takeOverGateways(from: string, by: string): Promise<void> {
    const { topology } = this.lab;
    const shared = topology.subnets.filter(
      ({ name }) => this.lab.router(from).legs.has(name) && this.lab.router(by).legs.has(name),
    );
    const lines = shared.flatMap((one) => becomeGateway(topology, this.lab.router(by), one));
    await ipBatch(this.lab.namespace(by), lines);
  }

  /** It comes back as nobody's gateway, until `takeOverGateways`. */
  async returnRouter(name: string): Promise<void> {
    const { topology } = this.lab;
    const router = this.lab.router(name);
    const lines = [...router.legs.keys()].flatMap((subnet) => {
      const link = legName(subnet);
      const gateway = topology.subnets.find((one) => one.name === subnet)?.gateways.ipv4;
      const own = router.legs.get(subnet)?.ipv4;
      const isShared = gateway !== own;
      // Its own address again, and its own hardware address: the gateway's is in use elsewhere.
      return isShared
        ? [`addr flush dev ${link}`, `link set ${link} address ${ownMac(name, subnet)}`]
        : [];
    });
    await ipBatch(this.lab.namespace(name), [
      ...lines,
      'addr flush dev core',
      ...routerLines(topology, router, () => false),
    ]);
    await this.lab.startRouter(name);
  }

  #legs(name: string): string[] {
    return [...[...this.lab.router(name).legs.keys()].map(legName), 'core'];
  }
}

/** Any address that is its own: locally administered, from its name. */
function ownMac(router: string, subnet: string): string {
  let hash = 0;
  for (const letter of `${router}/${subnet}`) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  const octets = [24, 16, 8, 0].map((shift) => ((hash >>> shift) & 0xff).toString(16));
  return ['02', '00', ...octets.map((octet) => octet.padStart(2, '0'))].join(':');
}
