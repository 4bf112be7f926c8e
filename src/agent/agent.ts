/**
 * The agent of one node: takes the node's blocks, and only those, and brings
 * everything on the node in line with them.
 *
 *   API server ─▶ caches ─▶ knowledge ─▶ plan ─▶ address book   what pods get
 *                   disk ◀─────┘                 kernel         routes, tunnel
 *                                                speaker        announcements
 *                                                NodeReport     what it saw
 *
 * One loop, one thing at a time: whatever happens (an object changed, another program
 * changed a route, a pod came) only wakes it, and it declares everything anew.
 * Declaring what is there already costs a comparison and changes nothing.
 *
 * The races it lives with:
 * - The API server is away at start: after a grace the agent goes on with what
 *   is on disk. Away later: the caches simply stop changing.
 * - Its Node is deleted under it: it gives out nothing new, and withdraws its blocks when
 *   the register shows that they cool.
 * - It is cut off from the API server, its routers or both, or the register has lost its
 *   blocks: what it does with each block then is decision 30 (plan/node/block-use).
 * - A block goes: first it is withdrawn, then the kernel. A block comes:
 *   first the kernel, then the routers. In between nothing loops.
 * - Another machine has its node name: it serves only if its machine has an address of the
 *   Node, and no other machine's agent answers for it (node-identity.ts).
 * - A block is given back: in the same step it stops giving out addresses, then it
 *   is on disk, then the operator reads of it.
 *
 * Two ways out. `restart` says nothing and leaves routes, addresses and pods as
 * they are; `drain` takes the announcements back first.
 */

import { describeError } from '../base/errors.ts';
import type { HealthChecks } from '../base/health-routes.ts';
import type { KernelEvent } from '../kernel/kernel.ts';
import { isOurLink } from '../kernel/link.ts';
import { nodeRouteProtocol, routeText } from '../kernel/route.ts';
import { agentConditionType } from '../model/keys.ts';
import type { BlockRelease } from '../model/node-report.ts';
import type { ReportedHijack } from '../model/node-report-status.ts';
import type { Address } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Finding } from '../plan/blocks/finding.ts';
import { nextReleases } from '../plan/blocks/give-back.ts';
import type { WithdrawalDelivery } from '../plan/node/block-use.ts';
import { ownUplink } from '../plan/node/desired-routes.ts';
import { hijackFinding } from '../plan/node/hijacks.ts';
import { nodePeers } from '../plan/node/node-peers.ts';
import type { OwnedBlock } from '../plan/node/node-truth.ts';
import type { RouterContact } from '../plan/node/router-contact.ts';
import { type Unannounced, unannouncedBlocks } from '../plan/node/unannounced.ts';
import type { PodBlockUse } from '../plan/pod-address/pod-address.ts';
import { podDemand } from '../plan/pod-address/pod-address-demand.ts';
import { podsOutside } from '../plan/pod-address/pods-outside.ts';
import { AddressRoomReporter } from './address-room-reporter.ts';
import type { AddressService } from './address-service.ts';
import { AgentCaches } from './agent-caches.ts';
import {
  type AgentSettings,
  type Pace,
  tickMs,
  usualAgentPace,
  usualAnswerWithinMs,
} from './agent-settings.ts';
import type { AgentState, AgentStatus } from './agent-status.ts';
import type { AgentWorld } from './agent-world.ts';
import { Announcer } from './announcer.ts';
import { waitForResources } from './await-resources.ts';
import { BlockUsage } from './block-usage.ts';
import { DesiredNodeState } from './desired-node-state.ts';
import { FormerBlocks } from './former-blocks.ts';
import { FullTaint } from './full-taint.ts';
import { HijackAlarm } from './hijack-alarm.ts';
import type { Knowledge } from './knowledge.ts';
import { KnowledgeSource, type Situation } from './knowledge-source.ts';
import { MasqueradeReconciler } from './masquerade-reconciler.ts';
import { NodeConditionWriter } from './node-condition.ts';
import { announcedDuring, type DrainDecision, NodeDrain } from './node-drain.ts';
import { NodeIdentity, type Permission } from './node-identity.ts';
import { ReconcileLoop } from './reconcile-loop.ts';
import { ReportOwners } from './report-owners.ts';
import { type ReportContent, type ReportSpec, ReportWriter } from './report-writer.ts';
import { RouteReconciler, type RouteReport, tunnelDevices } from './route-reconciler.ts';

/** The parts that the agent shares with the CNI server and the socket. */
interface AgentParts {
  status: AgentStatus;
  addresses: Pick<AddressService, 'book' | 'cni'>;
}

export class Agent {
  readonly #world: AgentWorld;
  readonly #settings: AgentSettings;
  readonly #parts: AgentParts;
  readonly #pace: Pace;
  readonly #caches: AgentCaches;
  readonly #source: KnowledgeSource;
  readonly #desired: DesiredNodeState;
  readonly #loop: ReconcileLoop;
  readonly #routes: RouteReconciler;
  readonly #masquerade: MasqueradeReconciler;
  readonly #announcer: Announcer;
  readonly #hijackAlarm: HijackAlarm;
  readonly #reports: ReportWriter;
  readonly #condition: NodeConditionWriter;
  readonly #room: AddressRoomReporter;
  readonly #identity: NodeIdentity;
  readonly #drain: NodeDrain;
  readonly #usage: BlockUsage;
  readonly #former = new FormerBlocks();
  readonly #owners = new ReportOwners();
  #releases: readonly BlockRelease[] = [];
  /** When the routers were last told what there is. */
  #declaredMs: number | undefined;
  #blocksText = '';
  #useText = '';
  #findingsText = '';
  #ticks = 0;

  constructor(world: AgentWorld, settings: AgentSettings, parts: AgentParts) {
    this.#world = world;
    this.#settings = settings;
    this.#parts = parts;
    this.#pace = { ...usualAgentPace, ...settings.pace };
    const { client, kernel, clock, log, metrics } = world;
    const onChange = () => this.#loop.touch();
    this.#loop = new ReconcileLoop({
      ...world,
      reconcile: () => this.#reconcile(),
      coalesceMs: this.#pace.coalesceMs,
    });
    // The report that is there now may be an older one, or none.
    const onStartedOver = () => this.#reports.writeAgain();
    const { memoryEveryMs, definitionGraceMs } = this.#pace;
    const caching = { settings, definitionGraceMs, onChange, onStartedOver };
    this.#caches = new AgentCaches({ ...world, ...caching });
    this.#source = new KnowledgeSource({ ...world, caches: this.#caches, settings, memoryEveryMs });
    this.#desired = new DesiredNodeState(settings);
    this.#routes = new RouteReconciler(kernel, log, metrics);
    this.#masquerade = new MasqueradeReconciler({ kernel, clock, log });
    this.#announcer = new Announcer({ ...world, listen: settings.bgpListen, onChange });
    this.#hijackAlarm = new HijackAlarm({ ...world, nodeName: settings.nodeName });
    const { drainGraceMs: graceMs, onCordon = 'services', reportEveryMs: everyMs } = settings;
    this.#drain = new NodeDrain({ clock, graceMs, onCordon });
    const onAccepted = () => {
      if (this.#usage.awaitsReport) this.#loop.touch();
    };
    this.#reports = new ReportWriter({ ...world, everyMs, onAccepted });
    const { word } = this.#reports;
    this.#usage = new BlockUsage({ ...world, settings, word, onConfirmed: onChange });
    this.#condition = new NodeConditionWriter({ client, nodeName: settings.nodeName, clock, log });
    const { nodeName, answerWithinMs = usualAnswerWithinMs } = settings;
    const taint = settings.taintWhenFull ? new FullTaint({ client, log, nodeName }) : undefined;
    this.#room = new AddressRoomReporter(this.#condition, taint);
    this.#identity = new NodeIdentity({ ...world, nodeName, answerWithinMs, onChange });
    this.#countPods();
  }

  /** What /readyz says of its caches. */
  get readiness(): HealthChecks {
    return this.#caches.readiness;
  }

  /** Until the signal aborts; `how` is asked then. */
  async run(signal: AbortSignal, how: () => 'restart' | 'drain' = () => 'restart'): Promise<void> {
    const { kernel, log } = this.#world;
    const memory = await this.#source.load();
    this.#releases = memory?.releases ?? [];
    if (memory !== undefined) await this.#usage.load(memory);
    if (memory?.drain !== undefined) this.#drain.resume(memory.drain);
    const kept = await kernel.routes({ protocol: nodeRouteProtocol });
    await this.#announcer.listen(kept.map(({ prefix }) => prefix));
    const stopWatching = kernel.watch((event) => this.#kernelChanged(event));
    const grace = setTimeout(() => {
      this.#source.endGrace();
      this.#loop.touch();
    }, this.#settings.apiGraceMs);
    const tick = setInterval(() => this.#tick(), tickMs);
    const following = this.#follow(signal);
    const reporting = this.#reports.run(signal);
    this.#loop.touch();
    try {
      await this.#loop.run(signal);
    } finally {
      clearTimeout(grace);
      clearInterval(tick);
      stopWatching();
      this.#usage.stop();
      const exit = how();
      const words = {
        drain: 'stopping for good: withdrawing all routes from the routers',
        restart: 'stopping for a restart: kernel routes, pods and announced routes stay',
      };
      log.info({ exit }, words[exit]);
      await this.#announcer.close(exit);
      await Promise.all([following, reporting, this.#hijackAlarm.stop()]);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    await waitForResources(this.#world, signal, (reason, detail) => {
      if (this.#source.setAway(detail)) this.#wait({ isReady: false, reason, detail });
    });
    if (signal.aborted) return;
    this.#caches.start(signal);
    await this.#identity.run(signal);
  }

  #wait(state: AgentState): void {
    this.#parts.status.set(state);
    this.#condition.declare(agentConditionType, state);
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
    this.#loop.touch();
  }

  #tick(): void {
    this.#usage.look(this.#announcer.lastUpMs);
    // Which blocks there are is known from the caches; here only numbers can be others.
    let use = '';
    for (const { pods, resting } of this.#parts.addresses.book.use()) use += `${pods}+${resting} `;
    this.#ticks += 1;
    // Now and then even if nothing was heard: an event may be lost, and silence is news too.
    if (use === this.#useText && this.#ticks % this.#pace.lookAgainTicks !== 0) return;
    this.#useText = use;
    this.#loop.touch();
  }

  async #reconcile(): Promise<void> {
    const situation = this.#source.situation();
    if (situation === undefined) return;
    const { knowledge, state } = situation;
    const permission = await this.#identity.judge(knowledge?.node, state);
    if (permission.kind === 'undecided') return;
    if (permission.kind === 'stand-by') return this.#standBy(knowledge, permission);
    if (!state.isReady) this.#wait(state);
    if (knowledge !== undefined) await this.#apply({ ...situation, knowledge });
  }

  /** Pods that run keep their addresses and routes; none is added, and nothing is announced. */
  #standBy(
    knowledge: Knowledge | undefined,
    { state, isOurs }: Extract<Permission, { kind: 'stand-by' }>,
  ): void {
    this.#parts.status.set(state);
    this.#reports.withhold();
    if (isOurs) this.#condition.declare(agentConditionType, state);
    // One that has not served yet has nothing to take back.
    if (knowledge === undefined || this.#blocksText === '') return;
    const blocks = knowledge.truth.blocks.map((block) => ({ ...block, isDraining: true }));
    this.#setBlocks({ ...knowledge, truth: { ...knowledge.truth, blocks } });
    const peers = nodePeers(knowledge.peers, knowledge.node);
    this.#announcer.declare(peers, { blocks: [], services: [] });
  }

  async #apply(situation: Situation & { knowledge: Knowledge }): Promise<void> {
    const { knowledge: known } = situation;
    const { status } = this.#parts;
    const { byDemand, preAllocate } = this.#settings;
    const { node } = known;
    const peers = nodePeers(known.peers, node);
    const uplinks = await this.#routes.uplinks();
    const contact = this.#contact(known);
    const wasLost = this.#announcer.isWithholding;
    // No pause between looking what is empty, choosing what to give back and ceasing to give
    // out of it: a pod could come in between.
    const knowledge = this.#usage.judge({
      ...situation,
      listedMs: this.#caches.listedMs,
      releases: this.#releases,
      podsIn: (prefix) => this.#podsIn(prefix),
      peers,
      contact,
      wasLost,
      delivery: this.#withdrawal(peers.length),
      hasWithdrawnBlocks: this.#drain.hasWithdrawnBlocks,
    });
    this.#announcer.withholdBlocksAfterMs = this.#usage.reconfirmAfterMs;
    const { truth } = knowledge;
    const routes = this.#desired.routes(knowledge, uplinks);
    status.podMtu = routes.tunnel?.mtu ?? ownUplink(uplinks, node)?.mtu;
    const owned = known.truth.blocks;
    const use = this.#useOf(owned);
    const demand = byDemand ? podDemand(use, preAllocate) : undefined;
    // Nothing is given back because the Node is gone: if it stays so the register says it, by
    // letting the block cool; after a restore of etcd the Node comes back.
    const given = situation.isNodeThere ? use : [];
    this.#releases = nextReleases({ owned, use: given, before: this.#releases, demand });
    this.#setBlocks(knowledge);
    const wanted = this.#desired.announcements(knowledge);
    const hasPods = use.some(({ pods }) => pods > 0);
    const leaving = this.#leaving(node, hasPods, wanted.onlyHere);
    const isSaved = await this.#source.save({
      knowledge: known,
      releases: this.#releases,
      held: this.#usage.held,
      hasReported: this.#reports.word.hasReported,
      drain: this.#drain.memory,
    });
    await this.#usage.settle(isSaved);
    if (!isSaved) this.#loop.touchAfter(this.#pace.memoryEveryMs);
    const announcements = announcedDuring(leaving, {
      ...wanted,
      blocks: wanted.blocks.filter(({ prefix }) => this.#usage.isAnnounced(prefix)),
    });
    const former = this.#former.with(routes, truth.blocks, this.#world.clock.monotonicMs());
    if (former.againInMs !== undefined) {
      this.#loop.touchAfter(former.againInMs + this.#pace.coalesceMs);
    }
    const spec = { ...this.#promises(isSaved), neededAddresses: demand ?? {} };
    const stateUnannounced = (kernelProblem?: string) =>
      status.setUnannounced(this.#unannounced(knowledge, announcements.findings, kernelProblem));
    const kept = await this.#routes.declare(former.routes).catch((error) => {
      stateUnannounced(describeError(error));
      this.#declareReport(situation, spec, status.reportAgain());
      throw error;
    });
    const unmasked = await this.#masquerade.declare(this.#desired.masquerade(knowledge));
    this.#announcer.declare(peers, announcements);
    this.#declaredMs = this.#world.clock.monotonicMs();
    // The judgement knew of the loss: what it withholds is not declared.
    if (wasLost) this.#announcer.confirm();
    stateUnannounced();
    const { hijacks } = contact;

    const findings: Finding[] = [
      ...podsOutside(node.name, this.#pods(), truth.blocks),
      ...this.#identity.findings(),
      ...this.#missing(node.name),
      ...routes.findings,
      ...announcements.findings,
      ...hijacks.map((hijack) => hijackFinding(node.name, hijack)),
      ...unmasked.map((detail) => masqueradeRefused(node.name, detail)),
    ];
    this.#logFindings(findings);
    const state = this.#usage.stateOf(situation.state);
    status.set(state);
    this.#condition.declare(agentConditionType, state);
    if (state.isReady) this.#room.declare(this.#parts.addresses.book.use());
    const reportedHijacks = this.#hijackAlarm.declare(node, hijacks);
    await this.#report({ ...situation, knowledge }, kept, findings, reportedHijacks, spec);
    const usualMs = this.#usage.isUnderWay ? 250 : this.#drain.againInMs;
    const againInMs = this.#announcer.isInSync ? usualMs : 100;
    if (againInMs !== undefined) this.#loop.touchAfter(againInMs);
  }

  #unannounced(
    { node, truth, peers }: Knowledge,
    findings: readonly Finding[],
    kernelProblem: string | undefined,
  ): Unannounced[] {
    const silent = findings.filter(({ reason }) => reason === 'NotOwner');
    return unannouncedBlocks({
      node: node.name,
      owned: truth.blocks.map(({ prefix }) => prefix),
      contested: new Map(silent.map(({ cidr, detail }) => [cidr, detail])),
      leaving: this.#drain.whyWithdrawn,
      held: this.#usage.onHold,
      kernelProblem,
      configuredPeers: peers.length,
      peers: nodePeers(peers, node),
      sessions: this.#announcer.announcing(),
    });
  }

  *#pods(): Iterable<{ who: string; addresses: readonly Address[] }> {
    for (const { owner, addresses, attachment } of this.#parts.addresses.book.remembered()) {
      yield { who: attachment?.pod ?? owner, addresses };
    }
  }

  /** A block on hold gives out nothing, as one that drains; but only the register drains a block. */
  #useOf(owned: readonly OwnedBlock[]): PodBlockUse[] {
    const given = new Set(this.#releases.map(({ uid }) => uid));
    return this.#parts.addresses.book.use().map((use) => {
      const block = owned.find(({ prefix }) => prefix.equals(use.prefix));
      return {
        ...use,
        isDraining: block === undefined || block.isDraining || given.has(block.uid),
      };
    });
  }

  #podsIn(prefix: Prefix): number {
    let pods = 0;
    for (const { addresses } of this.#pods()) {
      if (addresses.some((address) => prefix.contains(address))) pods += 1;
    }
    return pods;
  }

  *#missing(node: string): Iterable<Finding> {
    for (const { block, why } of this.#usage.uses) {
      if (why?.reason !== 'BlockMissing') continue;
      yield { ...why, reason: 'BlockMissing', nodes: [node], cidr: block.prefix.toString() };
    }
  }

  /** What others act on is on disk first. */
  #promises(isSaved: boolean): Omit<ReportSpec, 'neededAddresses'> {
    return {
      releases: isSaved ? this.#releases : [],
      ...this.#usage.promises(isSaved),
    };
  }

  #contact({ others }: Knowledge): RouterContact {
    return this.#announcer.contact(
      this.#usage.held.map(({ prefix }) => prefix),
      others.flatMap(({ blocks }) => blocks.map(({ prefix }) => prefix)),
      (address) => others.some(({ addresses }) => addresses.includes(address)),
    );
  }

  #withdrawal(peers: number): WithdrawalDelivery {
    // Most rounds wait for no acknowledgement, and need not count what the routers have.
    if (!this.#usage.isUnderWay) return { ...unknownDelivery, declaredMs: this.#declaredMs };
    const { routers, acknowledged } = this.#announcer.delivery('everything');
    return {
      declaredMs: this.#declaredMs,
      isAcknowledged: acknowledged >= routers,
      isEveryPeerUp: routers >= peers,
    };
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
    this.#parts.addresses.book.setBlocks(blocks, this.#settings.reserved);
    const cidrs = blocks.map(({ prefix }) => `${prefix}`);
    this.#world.log.info({ blocks: cidrs }, 'the blocks of this node');
  }

  /** Asked to leave, it first asks the routers to prefer other paths, then withdraws the routes. */
  #leaving(
    node: Knowledge['node'],
    hasPods: boolean,
    onlyHere: ReadonlyMap<string, string>,
  ): DrainDecision {
    const before = new Set(this.#drain.steps);
    const delivery = (what: 'services' | 'everything') => this.#announcer.delivery(what);
    const decided = this.#drain.next({ node, hasPods, onlyHere, delivery });
    for (const one of this.#drain.steps) {
      if (before.has(one)) continue;
      this.#world.log.info({ reason: 'Draining', step: one.step }, one.detail);
    }
    return decided;
  }

  #logFindings(findings: readonly Finding[]): void {
    const text = JSON.stringify(findings);
    if (text === this.#findingsText) return;
    this.#findingsText = text;
    for (const { reason, cidr, nodes, detail } of findings) {
      this.#world.log.warn({ reason, cidr, nodes }, detail);
    }
  }

  async #report(
    situation: Situation & { knowledge: Knowledge },
    kept: RouteReport,
    findings: readonly Finding[],
    hijacks: readonly ReportedHijack[],
    spec: ReportSpec,
  ): Promise<void> {
    const { truth } = situation.knowledge;
    const { status, addresses } = this.#parts;
    const routes = await this.#world.kernel.routes({ protocol: nodeRouteProtocol });
    const own = truth.blocks.map(({ prefix }) => `${prefix}`);
    const reported = status.report({
      owned: truth.blocks,
      use: addresses.book.use(),
      kernel: {
        ...kept,
        repaired: kept.repaired + addresses.cni.repairedPods,
        refused: [...kept.refused],
        ownRoutes: own.filter((cidr) =>
          routes.some(({ prefix, type }) => type !== 'unicast' && `${prefix}` === cidr),
        ),
      },
      routes: routes.map((route) => routeText(route)).sort(),
      sessions: this.#announcer.sessions(),
      hijacks,
      drain: this.#drain.steps,
      findings,
    });
    this.#declareReport(situation, spec, reported);
  }

  #declareReport(
    { knowledge, register, isNodeThere }: Situation & { knowledge: Knowledge },
    spec: ReportSpec,
    status: ReportContent['status'] | undefined,
  ): void {
    if (status === undefined) return;
    const { name, uid } = knowledge.node;
    const owners = this.#owners.next({
      node: { name, uid },
      isNodeThere,
      blocks: register?.own ?? this.#usage.held,
      isUsing: spec.uses.length > 0,
    });
    if (owners !== undefined) this.#reports.declare({ node: { name, uid }, owners, spec, status });
  }

  #countPods(): void {
    const { metrics } = this.#world;
    const { status, addresses } = this.#parts;
    const ready = metrics.gauge('cadastre_agent_ready', 'Whether the agent serves pods.');
    const repaired = metrics.counter(
      'cadastre_agent_pods_repaired_total',
      'Pods whose interface or route somebody else changed on the node, and that got it back.',
    );
    let counted = 0;
    metrics.onCollect(() => {
      ready.set(status.state.isReady ? 1 : 0);
      const now = addresses.cni.repairedPods;
      repaired.inc({}, now - counted);
      counted = now;
    });
  }
}

function masqueradeRefused(node: string, detail: string): Finding {
  return { reason: 'MasqueradeRefused', nodes: [node], cidr: '', detail };
}

/** Nobody has been asked. */
const unknownDelivery: WithdrawalDelivery = {
  declaredMs: undefined,
  isAcknowledged: false,
  isEveryPeerUp: false,
};
