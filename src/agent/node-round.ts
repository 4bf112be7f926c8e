/**
 * One round of the agent: everything that follows from what is known now is declared anew, in
 * this order. What is as it was costs a comparison.
 *
 *   identity   whether this machine may serve the Node at all; if not, it stands by
 *   judge      what is done with each block (block-usage), which are given back (pod-blocks), and
 *              what a drain withdraws (node-drain). One step: a pod must not come in between
 *   disk       what was decided, before anybody hears of it
 *   kernel     routes and masquerade: a new block is unreachable here before routers send packets,
 *              and one that is gone stays so for a moment after its withdrawal
 *   routers    what is announced
 *   report     states, findings, and what the operator may rely on: that which is on disk
 *
 * A round that fails is repeated by the loop; each step is safe to repeat.
 */
import { describeError } from '../base/errors.ts';
import { announcementsOnly } from '../model/node-report.ts';
import { type DesiredRoutes, ownUplink, type Uplink } from '../plan/node/desired-routes.ts';
import { nodePeers } from '../plan/node/node-peers.ts';
import type { AgentCaches } from './agent-caches.ts';
import type { AgentReporter, InKernel, RoundFacts } from './agent-reporter.ts';
import type { AgentSettings, Pace } from './agent-settings.ts';
import type { AgentStatus } from './agent-status.ts';
import type { AgentWorld } from './agent-world.ts';
import type { Announcer } from './announcer.ts';
import type { BlockUsage } from './block-usage.ts';
import { DesiredNodeState } from './desired-node-state.ts';
import { FormerBlocks } from './former-blocks.ts';
import type { Knowledge } from './knowledge.ts';
import type { KnowledgeSource, Situation } from './knowledge-source.ts';
import { MasqueradeReconciler } from './masquerade-reconciler.ts';
import { announcedDuring, type DrainDecision, type NodeDrain } from './node-drain.ts';
import type { NodeIdentity, Permission } from './node-identity.ts';
import type { PodBlocks } from './pod-blocks.ts';
import type { ReportWriter } from './report-writer.ts';
import { RouteReconciler } from './route-reconciler.ts';

interface NodeRoundOptions {
  world: AgentWorld;
  settings: AgentSettings;
  pace: Pace;
  status: AgentStatus;
  caches: AgentCaches;
  source: KnowledgeSource;
  identity: NodeIdentity;
  usage: BlockUsage;
  podBlocks: PodBlocks;
  drain: NodeDrain;
  announcer: Announcer;
  reporter: AgentReporter;
  writer: ReportWriter;
  /** Another round is needed then, even if nothing happens. */
  againAfter: (ms: number) => void;
}

/** What there is to act upon. */
type Known = Situation & { knowledge: Knowledge };

/** The data path is another program's. */
const untouchedKernel: InKernel = {
  kernel: { wanted: 0, held: 0, repaired: 0, refused: [] },
  routeFindings: [],
  masqueradeProblems: [],
};

/** While routers have not yet been sent, or not acknowledged, what was declared. */
const unsentAgainMs = 100;
const unacknowledgedAgainMs = 250;

export class NodeRound {
  readonly #o: NodeRoundOptions;
  readonly #desired: DesiredNodeState;
  readonly #routes: RouteReconciler;
  readonly #masquerade: MasqueradeReconciler;
  readonly #former = new FormerBlocks();

  constructor(options: NodeRoundOptions) {
    this.#o = options;
    const { kernel, clock, log, metrics } = options.world;
    this.#desired = new DesiredNodeState(options.settings);
    this.#routes = new RouteReconciler(kernel, log, metrics);
    this.#masquerade = new MasqueradeReconciler({ kernel, clock, log });
  }

  async run(): Promise<void> {
    const { source, identity, reporter } = this.#o;
    const situation = source.situation();
    if (situation === undefined) return;
    const { knowledge, state } = situation;
    const permission = await identity.judge(knowledge?.node, state);
    if (permission.kind === 'undecided') return;
    if (permission.kind === 'stand-by') return this.#standBy(knowledge, permission);
    if (!state.isReady) reporter.state(state);
    if (knowledge !== undefined) await this.#serve({ ...situation, knowledge });
  }

  /** Pods that run keep their addresses and routes; none is added, and nothing is announced. */
  async #standBy(
    knowledge: Knowledge | undefined,
    { state, isOurs }: Extract<Permission, { kind: 'stand-by' }>,
  ): Promise<void> {
    const { reporter, podBlocks, announcer, usage } = this.#o;
    reporter.standBy(state, isOurs);
    if (knowledge === undefined) return;
    // One that has not served yet has nothing to withdraw.
    if (podBlocks.hasBlocks) {
      podBlocks.set(knowledge.truth.blocks.map((block) => ({ ...block, isDraining: true })));
      const peers = nodePeers(knowledge.peers, knowledge.node);
      announcer.declare(peers, { blocks: [], services: [] });
    }
    if (usage.withholdAll()) await this.#save(knowledge);
  }

  async #serve(situation: Known): Promise<void> {
    const { announcer, reporter, usage, podBlocks, settings, pace, againAfter } = this.#o;
    const uplinks = this.#wires ? await this.#routes.uplinks() : [];
    const { knowledge, peers, contact, routes, wanted, leaving, demand } = this.#judge(
      situation,
      uplinks,
    );

    const isSaved = await this.#save(situation.knowledge);
    await usage.settle(isSaved);
    if (!isSaved) againAfter(pace.memoryEveryMs);

    const announcements = announcedDuring(leaving, {
      ...wanted,
      blocks: wanted.blocks.filter(({ prefix }) => usage.isAnnounced(prefix)),
    });
    const facts: RoundFacts = {
      knowledge,
      situation,
      peers,
      spec: {
        releases: isSaved ? podBlocks.releases : [],
        ...usage.promises(isSaved),
        neededAddresses: demand ?? {},
        ...(settings.scope === 'announcements' ? { scope: announcementsOnly } : {}),
      },
      announcementFindings: announcements.findings,
    };
    const inKernel =
      routes === undefined ? untouchedKernel : await this.#declareToKernel(facts, routes);

    announcer.declare(peers, announcements);
    // The judgement knew of the loss: what it withholds is not declared.
    if (contact.wasLost) announcer.confirm();

    const { hijacks } = contact;
    await reporter.report(facts, { ...inKernel, hijacks });
    this.#lookAgain();
  }

  /** Whether interfaces, routes and masquerade of the node are ours. */
  get #wires(): boolean {
    return (this.#o.settings.scope ?? 'node') === 'node';
  }

  async #declareToKernel(facts: RoundFacts, routes: DesiredRoutes): Promise<InKernel> {
    const { reporter, world, pace, againAfter } = this.#o;
    const { knowledge } = facts;
    const { blocks } = knowledge.truth;
    const former = this.#former.with(routes, blocks, world.clock.monotonicMs());
    if (former.againInMs !== undefined) againAfter(former.againInMs + pace.coalesceMs);
    const kernel = await this.#routes.declare(former.routes).catch((error) => {
      reporter.kernelFailed(facts, describeError(error));
      throw error;
    });
    const masqueradeProblems = await this.#masquerade.declare(this.#desired.masquerade(knowledge));
    return { kernel, routeFindings: routes.findings, masqueradeProblems };
  }

  /** Without a pause. */
  #judge(situation: Known, uplinks: readonly Uplink[]) {
    const { usage, podBlocks, announcer, caches, drain, status } = this.#o;
    const { node, others, truth, peers: configured } = situation.knowledge;
    const peers = nodePeers(configured, node);
    const contact = announcer.contact(
      usage.held.map(({ prefix }) => prefix),
      (address) => others.some(({ addresses }) => addresses.includes(address)),
    );
    const knowledge = usage.judge({
      ...situation,
      listedMs: caches.listedMs,
      releases: podBlocks.releases,
      podsIn: (prefix) => podBlocks.podsIn(prefix),
      peers,
      contact,
      delivery: announcer.withdrawal(peers),
      hasWithdrawnBlocks: drain.hasWithdrawnBlocks,
    });
    announcer.withholdBlocksAfterMs = usage.reconfirmAfterMs;
    const { hasPods, demand } = podBlocks.chooseReleases(truth.blocks, situation.isNodeThere);
    podBlocks.set(knowledge.truth.blocks);
    const routes = this.#wires ? this.#desired.routes(knowledge, uplinks) : undefined;
    status.podMtu = routes?.tunnel?.mtu ?? ownUplink(uplinks, node)?.mtu;
    const wanted = this.#desired.announcements(knowledge);
    const leaving = this.#leave(node, hasPods, wanted.onlyHere);
    return { knowledge, peers, contact, routes, wanted, leaving, demand };
  }

  /** Asked to leave, it first asks the routers to prefer other paths, then withdraws the routes. */
  #leave(
    node: Knowledge['node'],
    hasPods: boolean,
    onlyHere: ReadonlyMap<string, string>,
  ): DrainDecision {
    const { drain, announcer, world } = this.#o;
    const before = new Set(drain.steps);
    const delivery = (what: 'services' | 'everything') => announcer.delivery(what);
    const decision = drain.next({ node, hasPods, onlyHere, delivery });
    for (const one of drain.steps) {
      if (before.has(one)) continue;
      world.log.info({ reason: 'Draining', state: one.step }, one.detail);
    }
    return decision;
  }

  #save(knowledge: Knowledge): Promise<boolean> {
    const { source, podBlocks, usage, writer, drain } = this.#o;
    return source.save({
      knowledge,
      releases: podBlocks.releases,
      held: usage.held,
      hasReported: writer.accepted.hasReported,
      drain: drain.memory,
    });
  }

  #lookAgain(): void {
    const { announcer, usage, drain, againAfter } = this.#o;
    const usualMs = usage.isUnderWay ? unacknowledgedAgainMs : drain.againInMs;
    const againInMs = announcer.isInSync ? usualMs : unsentAgainMs;
    if (againInMs !== undefined) againAfter(againInMs);
  }
}
