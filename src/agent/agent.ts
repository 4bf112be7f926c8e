/**
 * The agent of one node: takes the node's blocks, and only those, and brings
 * everything on the node in line with them.
 *
 *   API server ─▶ copies ─▶ knowledge ─▶ plan ─▶ address book   what pods get
 *                   disk ◀─────┘                 kernel         routes, tunnel
 *                                                speaker        announcements
 *                                                NodeReport     what it saw
 *
 * One loop, one thing at a time: whatever happens (an object changed, a stranger
 * touched a route, a pod came) only wakes it, and it declares everything anew.
 * Declaring what is there already costs a comparison and changes nothing.
 *
 * The races it lives with:
 * - The API server is away at start: after a grace the agent goes on with what
 *   is on disk. Away later: the copies simply stop changing.
 * - Its Node is deleted under it: it gives out nothing new, and keeps blocks only
 *   as long as the register still has them under the old uid.
 * - A block goes: first the routers are told, then the kernel. A block comes:
 *   first the kernel, then the routers. In between nothing loops.
 * - A block is given back: in one breath it stops giving out addresses, then it
 *   is on disk, then the operator is told.
 *
 * Two ways out. `restart` says nothing and leaves routes, addresses and pods as
 * they are; `drain` takes the announcements back first.
 */
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Kernel, KernelEvent } from '../kernel/kernel.ts';
import { derivedMac, isOurLink } from '../kernel/link.ts';
import { nodeRouteProtocol, routeText } from '../kernel/route.ts';
import { Backoff, pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import type { BlockRelease } from '../model/node-report.ts';
import type { Address } from '../net/address.ts';
import type { Finding } from '../plan/blocks/finding.ts';
import { nextReleases } from '../plan/blocks/give-back.ts';
import { desiredAnnouncements } from '../plan/node/desired-announcements.ts';
import { desiredMasquerade } from '../plan/node/desired-masquerade.ts';
import {
  type DesiredRoutes,
  desiredRoutes,
  ownUplink,
  type RoutedNode,
  type Uplink,
} from '../plan/node/desired-routes.ts';
import { nodePeers } from '../plan/node/node-peers.ts';
import { podDemand } from '../plan/pod-address/pod-address-demand.ts';
import { podsOutside } from '../plan/pod-address/pods-outside.ts';
import { serviceAnnouncements } from '../plan/services/service-announcements.ts';
import type { AddressBook } from './address-book.ts';
import {
  type AgentSettings,
  awayMs,
  maxCoalesceMs,
  type Pace,
  tickMs,
  usualPace,
} from './agent-settings.ts';
import { type AgentState, AgentStatus } from './agent-status.ts';
import { Announcer, type AnnouncerOptions } from './announcer.ts';
import { waitForResources } from './await-resources.ts';
import { ClusterCopies } from './cluster-copies.ts';
import type { Follow } from './copy.ts';
import { Drain, nothingDelivered } from './drain.ts';
import type { DurableFiles } from './durable-files.ts';
import type { Knowledge } from './knowledge.ts';
import { LingeringBlocks } from './lingering-blocks.ts';
import { MasqueradeKeeper } from './masquerade-keeper.ts';
import { MemoryFile } from './memory-file.ts';
import { NodeConditionWriter } from './node-condition.ts';
import { ReportWriter } from './report-writer.ts';
import { type KeptRoutes, RouteKeeper, tunnelDeviceOf, tunnelDevices } from './route-keeper.ts';

export interface AgentOptions
  extends Pick<AnnouncerOptions, 'hasRestarted' | 'receivedFrom' | 'waysFrom'> {
  client: KubeClient;
  kernel: Kernel;
  book: AddressBook;
  files: DurableFiles;
  openSpeaker: (hooks: {
    evidence: Parameters<AnnouncerOptions['openSpeaker']>[0];
    onChange: () => void;
  }) => ReturnType<AnnouncerOptions['openSpeaker']>;
  settings: AgentSettings;
  /** How many pods got back what a stranger had taken from them. */
  mendedPods?: () => number;
  /** Copies shared with other agents of this process. */
  follow?: Follow;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
}

export class Agent {
  readonly status: AgentStatus;
  readonly #o: AgentOptions;
  readonly #copies: ClusterCopies;
  readonly #memoryFile: MemoryFile;
  readonly #routes: RouteKeeper;
  readonly #masquerade: MasqueradeKeeper;
  readonly #announcer: Announcer;
  readonly #reports: ReportWriter;
  readonly #condition: NodeConditionWriter;
  readonly #retry: Backoff;
  readonly #pace: Pace;
  /** What the last run knew; taken up only if the API server does not answer. */
  #remembered: Knowledge | undefined;
  #isGraceOver = false;
  /** Why nothing is known from the API server yet. */
  #away = 'it has not answered yet';
  #knowledge: Knowledge | undefined;
  /** What was worked out last, and from what: the same knowledge is the very same object. */
  #lastRoutes: { knowledge: Knowledge; uplinksText: string; desired: DesiredRoutes } | undefined;
  #releases: readonly BlockRelease[] = [];
  #podMtu: number | undefined;
  #savedOwn = '';
  #savedAtMs = Number.NEGATIVE_INFINITY;
  #blocksText = '';
  #useText = '';
  #ticks = 0;
  readonly #drain: Drain;
  readonly #lingering = new LingeringBlocks();
  #findings = '';
  #isDirty = false;
  #wake: (() => void) | undefined;

  constructor(options: AgentOptions) {
    this.#o = options;
    this.#pace = { ...usualPace, ...options.settings.pace };
    const { client, kernel, files, settings, clock, random, log, metrics } = options;
    const { nodeName, rules, configMap, filePeers, filePools } = settings;
    const { memoryPath, reportEveryMs } = settings;
    const onChange = () => this.#touch();
    this.#copies = new ClusterCopies({
      client,
      clock,
      log,
      metrics,
      nodeName,
      rules,
      configMap,
      filePeers,
      filePools,
      follow: options.follow,
      onChange,
    });
    this.#memoryFile = new MemoryFile(files, memoryPath, log);
    this.#routes = new RouteKeeper(kernel, log, metrics);
    this.#masquerade = new MasqueradeKeeper({ kernel, clock, log });
    this.#announcer = new Announcer({
      openSpeaker: (evidence) => options.openSpeaker({ evidence, onChange }),
      hasRestarted: options.hasRestarted,
      ...(options.receivedFrom === undefined ? {} : { receivedFrom: options.receivedFrom }),
      ...(options.waysFrom === undefined ? {} : { waysFrom: options.waysFrom }),
      clock,
      log,
    });
    this.#drain = new Drain(clock, settings.drainGraceMs);
    this.#reports = new ReportWriter({ client, log, random, everyMs: reportEveryMs });
    this.#condition = new NodeConditionWriter({ client, nodeName, clock, log });
    this.#retry = new Backoff({ baseMs: 200, capMs: 10_000, random });
    this.status = new AgentStatus(settings, clock, log);
    const ready = metrics.gauge('cadastre_agent_ready', 'Whether the agent serves pods.');
    const mended = metrics.counter(
      'cadastre_agent_pods_repaired_total',
      'Pods whose interface or route somebody else changed on the node, and that got it back.',
    );
    let counted = 0;
    metrics.onCollect(() => {
      ready.set(this.status.state.isReady ? 1 : 0);
      const now = options.mendedPods?.() ?? 0;
      mended.inc({}, now - counted);
      counted = now;
    });
  }

  /** Of new pods: what fits through the tunnel, or else what the link to the other nodes has. */
  get podMtu(): number | undefined {
    return this.#podMtu;
  }

  /** Until the signal aborts; `how` is asked then. */
  async run(signal: AbortSignal, how: () => 'restart' | 'drain' = () => 'restart'): Promise<void> {
    const { kernel, settings, log } = this.#o;
    const memory = await this.#memoryFile.load();
    if (memory?.knowledge.node.name === settings.nodeName) {
      this.#remembered = memory.knowledge;
      this.#releases = memory.releases;
      if (memory.drain !== undefined) this.#drain.resume(memory.drain);
    }
    const kept = await kernel.routes({ protocol: nodeRouteProtocol });
    await this.#announcer.listen(kept.map(({ prefix }) => prefix));
    const stopWatching = kernel.watch((event) => this.#kernelChanged(event));
    const grace = setTimeout(() => {
      this.#isGraceOver = true;
      this.#touch();
    }, settings.apiGraceMs);
    const tick = setInterval(() => this.#tick(), tickMs);
    const following = this.#follow(signal);
    const reporting = this.#reports.run(signal);
    this.#touch();
    try {
      await this.#loop(signal);
    } finally {
      clearTimeout(grace);
      clearInterval(tick);
      stopWatching();
      const exit = how();
      log.info({ exit }, exit === 'drain' ? 'taking the routes back' : 'leaving, to come back');
      await this.#announcer.close(exit);
      await Promise.all([following, reporting]);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    await waitForResources(this.#o, signal, (reason, detail) => {
      this.#away = detail;
      if (this.#knowledge !== undefined) return;
      this.#condition.declare(this.status.waiting(reason, detail));
    });
    if (!signal.aborted) this.#copies.start(signal);
  }

  #touch(): void {
    this.#isDirty = true;
    this.#wake?.();
  }

  #touchAfter(ms: number): void {
    setTimeout(() => this.#touch(), ms).unref();
  }

  #kernelChanged(event: KernelEvent): void {
    // Pods come and go all day, with interfaces of ours; they change no route of the node's.
    if (event.kind === 'address' && isOurLink(event.linkName)) return;
    if (
      event.kind === 'link' &&
      isOurLink(event.link.name) &&
      !tunnelDevices.has(event.link.name)
    ) {
      return;
    }
    if (event.kind === 'route' && event.route.protocol !== nodeRouteProtocol) return;
    this.#touch();
  }

  #tick(): void {
    // Which blocks there are is told by the copies; here only numbers can be others.
    let use = '';
    for (const { pods, resting } of this.#o.book.use()) use += `${pods}+${resting} `;
    this.#ticks += 1;
    // Now and then even if nothing was heard: an event may be lost, and silence is news too.
    if (use === this.#useText && this.#ticks % this.#pace.lookAgainTicks !== 0) return;
    this.#useText = use;
    this.#touch();
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock } = this.#o;
    let tookMs = 0;
    while (!signal.aborted) {
      if (!this.#isDirty) await this.#dirtied(signal);
      // In a large cluster where everything moves, at most a fifth of the time is spent here.
      await pause(Math.max(this.#pace.coalesceMs, Math.min(4 * tookMs, maxCoalesceMs)), signal);
      if (signal.aborted) return;
      this.#isDirty = false;
      const beganMs = clock.monotonicMs();
      try {
        await this.#reconcile();
        this.#retry.reset();
        tookMs = clock.monotonicMs() - beganMs;
      } catch (error) {
        // Not the pause, which is no work.
        tookMs = clock.monotonicMs() - beganMs;
        const waitMs = this.#retry.nextMs();
        this.#o.log.error(
          { error: describeError(error), waitMs },
          'could not finish; trying again',
        );
        await pause(waitMs, signal);
        this.#isDirty = true;
      }
    }
  }

  #dirtied(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#wake = undefined;
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }

  async #reconcile(): Promise<void> {
    const view = this.#copies.view();
    if (view.kind === 'known') {
      this.#knowledge = view.knowledge;
      await this.#apply(view.knowledge, this.#stateOf(view.knowledge));
      return;
    }
    if (view.kind === 'no-node') {
      const before = this.#knowledge ?? this.#remembered;
      const state = this.status.waiting('WaitingForNode', view.detail);
      this.#condition.declare(state);
      if (before !== undefined) await this.#apply(view.orphaned(before), state);
      return;
    }
    const memory = this.#knowledge ?? (this.#isGraceOver ? this.#remembered : undefined);
    if (memory === undefined) return;
    this.#knowledge = memory;
    const detail = `going on with what was last known; the API server is away: ${this.#away}`;
    const isReady = memory.truth.kind === 'blocks';
    await this.#apply(memory, { isReady, reason: 'WorkingFromMemory', detail });
  }

  #stateOf({ truth }: Knowledge): AgentState {
    if (truth.kind === 'incomplete') return this.status.waiting(truth.reason, truth.detail);
    if (this.#copies.silentMs() > awayMs) {
      const seconds = Math.round(this.#copies.silentMs() / 1000);
      const detail = `nothing was heard from the API server for ${seconds} s`;
      return { isReady: true, reason: 'WorkingFromMemory', detail };
    }
    const cidrs = truth.blocks.map(({ prefix }) => `${prefix}`).join(', ');
    return { isReady: true, reason: 'AgentReady', detail: `serving pods from ${cidrs}` };
  }

  async #apply(knowledge: Knowledge, state: AgentState): Promise<void> {
    const { settings, book } = this.#o;
    const { node, truth } = knowledge;
    const self = { ...node, blocks: truth.blocks };
    const uplinks = await this.#routes.uplinks();
    const routes = this.#desiredRoutes(knowledge, uplinks);
    this.#podMtu = routes.tunnel?.mtu ?? ownUplink(uplinks, node)?.mtu;
    const demand = settings.byDemand ? podDemand(book.use(), settings.preAllocate) : undefined;
    this.#releases = nextReleases({
      owned: truth.blocks,
      use: book.use(),
      before: this.#releases,
      demand,
    });
    // No pause between choosing what to give back and ceasing to give out of it.
    this.#setBlocks(knowledge);
    const { isGraceful, isLeaving } = this.#leaving(node.isLeaving === true);
    const isSaved = await this.#save(knowledge);
    const { others, advertisements } = knowledge;
    const blocks = desiredAnnouncements({ self, others, advertisements, isLeaving });
    const services = serviceAnnouncements({
      self,
      others,
      advertisements,
      isLeaving,
      facts: knowledge.services,
    });
    const lingering = this.#lingering.with(routes, truth.blocks, this.#o.clock.monotonicMs());
    if (lingering.againInMs !== undefined) {
      this.#touchAfter(lingering.againInMs + this.#pace.coalesceMs);
    }
    const kept = await this.#routes.declare(lingering.routes);
    const unmasked = await this.#keepMasquerade(self, others);
    const announcements = { blocks: blocks.announcements, services: services.announcements };
    this.#announcer.declare(nodePeers(knowledge.peers, node), announcements, isGraceful);

    const all = [
      ...podsOutside(node.name, this.#pods(), truth.blocks),
      ...routes.findings,
      ...blocks.findings,
      ...services.findings,
      ...unmasked,
    ];
    this.#tellFindings(all);
    this.status.set(state);
    this.#condition.declare(state);
    await this.#report(knowledge, kept, all, isSaved ? this.#releases : [], demand ?? {});
    if (!this.#announcer.isInSync || this.#drain.isUnderWay) this.#touchAfter(100);
  }

  /** Most rounds are about a pod that came or went: then no other node has to be looked at. */
  #desiredRoutes(knowledge: Knowledge, uplinks: readonly Uplink[]): DesiredRoutes {
    const { routing, directRoutes } = this.#o.settings;
    const { node, truth, others } = knowledge;
    const links = uplinks.map(({ name, mtu, addresses }) => [
      `${name} ${mtu}`,
      ...addresses.map(({ address, length }) => `${address}/${length}`),
    ]);
    const uplinksText = links.join();
    const last = this.#lastRoutes;
    if (last?.knowledge === knowledge && last.uplinksText === uplinksText) return last.desired;
    const desired = desiredRoutes({
      self: { ...node, blocks: truth.blocks },
      others,
      uplinks,
      routing,
      directRoutes,
      tunnelDevice: tunnelDeviceOf(routing),
      tunnelMacOf: (name) => derivedMac(`cadastre tunnel of ${name}`),
    });
    this.#lastRoutes = { knowledge, uplinksText, desired };
    return desired;
  }

  async #keepMasquerade(self: RoutedNode, others: Iterable<RoutedNode>): Promise<Finding[]> {
    const { masqueradeExceptions: exceptions } = this.#o.settings;
    const rules = exceptions && desiredMasquerade({ self, others, exceptions });
    const detail = await this.#masquerade.declare(rules);
    if (detail === undefined) return [];
    return [{ reason: 'MasqueradeRefused', nodes: [self.name], cidr: '', detail }];
  }

  *#pods(): Iterable<{ who: string; addresses: readonly Address[] }> {
    for (const { owner, addresses, attachment } of this.#o.book.remembered()) {
      yield { who: attachment?.pod ?? owner, addresses };
    }
  }

  #setBlocks({ truth }: Knowledge): void {
    const given = new Set(this.#releases.map(({ uid }) => uid));
    const blocks = truth.blocks.map(({ prefix, isDraining, uid }) => ({
      prefix,
      isDraining: isDraining || (uid !== '' && given.has(uid)),
    }));
    const text = blocks.map(({ prefix, isDraining }) => `${prefix} ${isDraining}`).join();
    if (text === this.#blocksText) return;
    this.#blocksText = text;
    this.#o.book.setBlocks(blocks, this.#o.settings.reserved);
    this.#o.log.info(
      { blocks: blocks.map(({ prefix }) => `${prefix}`) },
      'the blocks of this node',
    );
  }

  /** Whether everything that is told from here on is on disk. */
  async #save(knowledge: Knowledge): Promise<boolean> {
    const { node, truth, peers, advertisements, services } = knowledge;
    const { resourceVersion: _, ...stable } = node;
    const cidrs = truth.blocks.map(({ prefix }) => `${prefix}`);
    const own = JSON.stringify([
      stable,
      truth,
      cidrs,
      peers,
      advertisements,
      services,
      this.#releases,
      this.#drain.memory,
    ]);
    const nowMs = this.#o.clock.monotonicMs();
    if (own === this.#savedOwn && nowMs - this.#savedAtMs < this.#pace.memoryEveryMs) return true;
    try {
      const { memory: drain } = this.#drain;
      await this.#memoryFile.save({ knowledge, releases: this.#releases, drain });
    } catch (error) {
      this.#o.log.error({ error: describeError(error) }, 'what is known could not be written');
      this.#touchAfter(this.#pace.memoryEveryMs);
      return false;
    }
    this.#savedOwn = own;
    this.#savedAtMs = nowMs;
    return true;
  }

  /** Asked to leave, it first tells the routers to look elsewhere, then takes the routes back. */
  #leaving(isAsked: boolean): { isGraceful: boolean; isLeaving: boolean } {
    const before = this.#drain.steps.length;
    // Who is not asked to leave need not count what the routers have.
    const delivery = isAsked ? this.#announcer.delivery() : nothingDelivered;
    const decided = this.#drain.next(isAsked, delivery);
    for (const { step, detail } of this.#drain.steps.slice(before)) {
      this.#o.log.info({ reason: 'Draining', step }, detail);
    }
    return decided;
  }

  #tellFindings(findings: readonly Finding[]): void {
    const text = JSON.stringify(findings);
    if (text === this.#findings) return;
    this.#findings = text;
    for (const { reason, cidr, nodes, detail } of findings) {
      this.#o.log.warn({ reason, cidr, nodes }, detail);
    }
  }

  async #report(
    { node, truth }: Knowledge,
    kept: KeptRoutes,
    findings: readonly Finding[],
    releases: readonly BlockRelease[],
    neededAddresses: ReturnType<typeof podDemand>,
  ): Promise<void> {
    const routes = await this.#o.kernel.routes({ protocol: nodeRouteProtocol });
    const own = truth.blocks.map(({ prefix }) => `${prefix}`);
    const status = this.status.report({
      owned: truth.blocks,
      use: this.#o.book.use(),
      kernel: {
        ...kept,
        repaired: kept.repaired + (this.#o.mendedPods?.() ?? 0),
        refused: [...kept.refused],
        ownRoutes: own.filter((cidr) =>
          routes.some(({ prefix, type }) => type !== 'unicast' && `${prefix}` === cidr),
        ),
      },
      routes: routes.map((route) => routeText(route)).sort(),
      sessions: this.#announcer.sessions(),
      drain: this.#drain.steps,
      findings,
    });
    // Without its Node a report has no owner, and would outlive everybody.
    if (this.status.state.reason === 'WaitingForNode') return;
    this.#reports.declare({ node, spec: { neededAddresses, releases }, status });
  }
}
