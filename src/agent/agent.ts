/**
 * The room's essay. The agent of one node takes the node's blocks, and only those, and brings
 * everything on the node in line with them:
 *
 *   API server ─▶ caches ─▶ knowledge ─▶ plan ─▶ address book   what pods get
 *                   disk ◀─────┘                 kernel         routes, tunnel
 *                                                speaker        announcements
 *                                                NodeReport     what it saw
 *
 *   agent-settings, agent-world   what it is started with, and what it touches
 *   assemble-agent        the parts put together with the socket; the only place that does
 *   agent (here)          start, run, stop, and what wakes the loop
 *   reconcile-loop        one round at a time; one that fails is repeated; wakeup
 *   node-round            one round: the order of its steps
 *   agent-caches          the objects of the cluster; kept-objects, routed-nodes, service-facts
 *   knowledge-source      the caches, or what this or the last run knew; knowledge, memory-file
 *   node-identity         whether this machine may serve the Node; node-claim, machine-id
 *   block-usage           what is done with each block; block-confirmation, contact-file
 *   pod-blocks            the blocks of the address book, and which are given back
 *   node-drain            leaving the routers in order; drain, last-announcer
 *   desired-node-state    what kernel and routers should have; former-blocks
 *   route-, masquerade-reconciler   into the kernel
 *   announcer             to the routers, and back; router-loss, received-prefixes, hijack-watch,
 *                         session-times
 *   agent-reporter        what it states: agent-status, node-condition, address-room-reporter,
 *                         full-taint, hijack-alarm, report-owners
 *   report-writer         the NodeReport; accepted-report: what the API server has of it
 *   address-*, allocation*, cni/, private-socket   addresses of pods, asked for on the socket
 *
 * Whatever happens (an object changed, another program changed a route, a pod came) only wakes
 * the loop, and a round declares everything anew.
 *
 * What it promises, and what each promise depends on:
 *  - Without the API server the node goes on: what it works from is on disk, and a start uses
 *    that after a grace. Later the caches simply stop changing.
 *  - Cut off from the API server, its routers or both, or with blocks that the register has lost,
 *    it harms nobody (decision 30): plan/node/block-use judges every block in every round. How
 *    long it was without a router is known in one place (router-loss), over restarts of the agent
 *    too, and is asked before the first UPDATE of a session. What is withheld or fenced is on disk
 *    before anybody hears of it; only a read of Node and NodeBlock ends it.
 *  - Its Node is deleted: it gives out nothing new, and withdraws its blocks when the register
 *    shows that they cool.
 *  - A block comes: first the kernel, then the routers. A block goes: first the routers, then
 *    the kernel. In between nothing loops.
 *  - A block that is given back gives out nothing from that same step on; then it is on disk,
 *    then the operator reads of it.
 *  - Another machine with its node name: it serves only if its machine has an address of the
 *    Node, and no other machine's agent answers for it.
 *
 * Two ways out. `restart` says nothing and leaves routes, addresses and pods as they are;
 * `drain` withdraws the announcements first.
 */

import type { HealthChecks } from '../base/health-routes.ts';
import { timerMs } from '../base/timer-ms.ts';
import type { KernelEvent } from '../kernel/kernel.ts';
import { isOurLink } from '../kernel/link.ts';
import { nodeRouteProtocol } from '../kernel/route.ts';
import type { Prefix } from '../net/prefix.ts';
import type { AddressService } from './address-service.ts';
import { AgentCaches } from './agent-caches.ts';
import { AgentReporter } from './agent-reporter.ts';
import {
  type AgentSettings,
  type Pace,
  tickMs,
  usualAgentPace,
  usualAnswerWithinMs,
} from './agent-settings.ts';
import type { AgentStatus } from './agent-status.ts';
import type { AgentWorld } from './agent-world.ts';
import { Announcer } from './announcer.ts';
import { waitForResources } from './await-resources.ts';
import { BlockUsage } from './block-usage.ts';
import { KnowledgeSource } from './knowledge-source.ts';
import { NodeDrain } from './node-drain.ts';
import { NodeIdentity } from './node-identity.ts';
import { NodeRound } from './node-round.ts';
import { PodBlocks } from './pod-blocks.ts';
import { PolicyInForce } from './policy-in-force.ts';
import { ReconcileLoop } from './reconcile-loop.ts';
import { ReportWriter } from './report-writer.ts';
import { tunnelDevices } from './route-reconciler.ts';

/** The parts that the agent shares with the CNI server and the socket. */
interface AgentParts {
  status: AgentStatus;
  /** Undefined if it only announces. */
  addresses: Pick<AddressService, 'book' | 'cni'> | undefined;
}

export class Agent {
  readonly #world: AgentWorld;
  readonly #settings: AgentSettings;
  readonly #pace: Pace;
  readonly #caches: AgentCaches;
  readonly #source: KnowledgeSource;
  readonly #loop: ReconcileLoop;
  readonly #announcer: Announcer;
  readonly #writer: ReportWriter;
  readonly #reporter: AgentReporter;
  readonly #identity: NodeIdentity;
  readonly #drain: NodeDrain;
  readonly #usage: BlockUsage;
  readonly #podBlocks: PodBlocks;
  #countsText = '';
  #ticks = 0;

  constructor(world: AgentWorld, settings: AgentSettings, { status, addresses }: AgentParts) {
    this.#world = world;
    this.#settings = settings;
    const pace = { ...usualAgentPace, ...settings.pace };
    this.#pace = pace;
    const { clock, log } = world;
    const { nodeName, answerWithinMs = usualAnswerWithinMs, onCordon = 'services' } = settings;
    const { memoryEveryMs, definitionGraceMs, coalesceMs } = pace;
    const onChange = () => this.#loop.touch();
    const caches = new AgentCaches({
      ...world,
      settings,
      definitionGraceMs,
      onChange,
      // The report that is there now may be an older one, or none.
      onStartedOver: () => this.#writer.writeAgain(),
    });
    const source = new KnowledgeSource({ ...world, caches, settings, memoryEveryMs });
    const identity = new NodeIdentity({ ...world, nodeName, answerWithinMs, onChange });
    const announcer = new Announcer({ ...world, listen: settings.bgpListen, onChange });
    const drain = new NodeDrain({ clock, graceMs: settings.drainGraceMs, onCordon });
    const writer = new ReportWriter({
      ...world,
      everyMs: settings.reportEveryMs,
      policy: new PolicyInForce(world),
      onAccepted: () => {
        if (this.#usage.awaitsReport) onChange();
      },
    });
    const { accepted } = writer;
    const usage = new BlockUsage({ ...world, settings, accepted, onConfirmed: onChange });
    const podBlocks = new PodBlocks({ book: addresses?.book, log, settings });
    const parts = { status, caches, source, identity, announcer, drain, writer, usage, podBlocks };
    const options = { ...parts, world, settings, pace };
    const reporter = new AgentReporter({ ...options, cni: addresses?.cni });
    const againAfter = (ms: number) => this.#loop.touchAfter(ms);
    const round = new NodeRound({ ...options, reporter, againAfter });
    this.#loop = new ReconcileLoop({ ...world, reconcile: () => round.run(), coalesceMs });
    this.#caches = caches;
    this.#source = source;
    this.#identity = identity;
    this.#announcer = announcer;
    this.#drain = drain;
    this.#writer = writer;
    this.#reporter = reporter;
    this.#usage = usage;
    this.#podBlocks = podBlocks;
  }

  /** What /readyz says of its caches. */
  get readiness(): HealthChecks {
    return this.#caches.readiness;
  }

  /** Until the signal aborts; `how` is asked then. */
  async run(signal: AbortSignal, how: () => 'restart' | 'drain' = () => 'restart'): Promise<void> {
    const { kernel, log } = this.#world;
    const isSameBoot = await this.#resume();
    await this.#announcer.listen(await this.#forwarded(isSameBoot));
    const stopWatching = kernel.watch((event) => this.#kernelChanged(event));
    const grace = setTimeout(() => {
      this.#source.endGrace();
      this.#loop.touch();
    }, timerMs(this.#settings.apiGraceMs));
    const tick = setInterval(() => this.#tick(), tickMs);
    const following = this.#follow(signal);
    const reporting = this.#writer.run(signal);
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
      log.info({ reason: exit }, words[exit]);
      await this.#announcer.close(exit);
      await Promise.all([following, reporting, this.#reporter.stop()]);
    }
  }

  /** What the node forwarded all the time while no agent ran. */
  async #forwarded(isSameBoot: boolean): Promise<readonly Prefix[] | 'everything'> {
    // Another program's data path does not end with us, only with the machine.
    if ((this.#settings.scope ?? 'node') !== 'node') return isSameBoot ? 'everything' : [];
    const kept = await this.#world.kernel.routes({ protocol: nodeRouteProtocol });
    return kept.map(({ prefix }) => prefix);
  }

  /** What an earlier run has left on disk. Whether that run was of the same boot. */
  async #resume(): Promise<boolean> {
    const memory = await this.#source.load();
    if (memory === undefined) return false;
    this.#podBlocks.resume(memory.releases);
    if (memory.drain !== undefined) this.#drain.resume(memory.drain);
    const contact = await this.#usage.load(memory);
    if (contact !== undefined) this.#announcer.resume(contact);
    return contact !== undefined;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    await waitForResources(this.#world, signal, (reason, detail) => {
      if (this.#source.setAway(detail)) this.#reporter.state({ isReady: false, reason, detail });
    });
    if (signal.aborted) return;
    this.#caches.start(signal);
    await this.#identity.run(signal);
  }

  #kernelChanged(event: KernelEvent): void {
    // Pods come and go all day, with interfaces of ours; they change no route of the node's.
    if (event.kind === 'address' && isOurLink(event.linkName)) return;
    if (event.kind === 'link') {
      const { name } = event.link;
      if (isOurLink(name) && !tunnelDevices.has(name)) return;
    }
    if (event.kind === 'route' && event.route.protocol !== nodeRouteProtocol) return;
    this.#loop.touch();
  }

  #tick(): void {
    // Which blocks there are is known from the caches; here only numbers can be others.
    const { countsText } = this.#podBlocks;
    this.#ticks += 1;
    // Now and then even if nothing was heard: an event may be lost, and silence is news too.
    if (countsText === this.#countsText && this.#ticks % this.#pace.lookAgainTicks !== 0) return;
    this.#countsText = countsText;
    this.#loop.touch();
  }
}
