/**
 * What the agent states about its node, each time whole: its state (socket, condition on the
 * Node), why a block is not announced, its findings (log, report), hijacks (Event, metric), and
 * the NodeReport, which the operator acts upon (spec) and the doctor compares (status).
 */
import type { Kernel } from '../kernel/kernel.ts';
import { nodeRouteProtocol, routeText } from '../kernel/route.ts';
import { agentConditionType } from '../model/keys.ts';
import type { NodeReportStatus } from '../model/node-report-status.ts';
import type { Finding } from '../plan/blocks/finding.ts';
import { hijackFinding } from '../plan/node/hijacks.ts';
import type { NodePeer } from '../plan/node/node-peers.ts';
import type { Hijack } from '../plan/node/router-contact.ts';
import { unannouncedBlocks } from '../plan/node/unannounced.ts';
import { podsOutside } from '../plan/pod-address/pods-outside.ts';
import { AddressRoomReporter } from './address-room-reporter.ts';
import type { AddressService } from './address-service.ts';
import { registerAgentMetrics } from './agent-metrics.ts';
import type { AgentSettings } from './agent-settings.ts';
import type { AgentState, AgentStatus } from './agent-status.ts';
import type { AgentWorld } from './agent-world.ts';
import type { Announcer } from './announcer.ts';
import type { BlockUsage } from './block-usage.ts';
import { FullTaint } from './full-taint.ts';
import { HijackAlarm } from './hijack-alarm.ts';
import type { Knowledge } from './knowledge.ts';
import type { Situation } from './knowledge-source.ts';
import { NodeConditionWriter } from './node-condition.ts';
import type { NodeDrain } from './node-drain.ts';
import type { NodeIdentity } from './node-identity.ts';
import type { PodBlocks } from './pod-blocks.ts';
import { ReportOwners } from './report-owners.ts';
import type { ReportSpec, ReportWriter } from './report-writer.ts';
import type { RouteReport } from './route-reconciler.ts';

interface AgentReporterOptions {
  world: AgentWorld;
  settings: AgentSettings;
  status: AgentStatus;
  /** Undefined if it only announces. */
  cni: AddressService['cni'] | undefined;
  podBlocks: PodBlocks;
  usage: BlockUsage;
  drain: NodeDrain;
  identity: NodeIdentity;
  announcer: Announcer;
  writer: ReportWriter;
}

/** What a round has found out, apart from what its parts know themselves. */
export interface RoundFacts {
  /** With the blocks as the node uses them. */
  readonly knowledge: Knowledge;
  readonly situation: Situation;
  readonly peers: readonly NodePeer[];
  readonly spec: ReportSpec;
  /** Of what is to be announced. */
  readonly announcementFindings: readonly Finding[];
}

/** What became of what was declared to the kernel. */
export interface InKernel {
  readonly kernel: RouteReport;
  readonly routeFindings: readonly Finding[];
  /** Why the kernel masquerades nothing. */
  readonly masqueradeProblems: readonly string[];
}

export class AgentReporter {
  readonly #o: AgentReporterOptions;
  readonly #kernel: Kernel;
  readonly #condition: NodeConditionWriter;
  readonly #room: AddressRoomReporter;
  readonly #hijacks: HijackAlarm;
  readonly #owners = new ReportOwners();
  #findingsText = '';

  constructor(options: AgentReporterOptions) {
    this.#o = options;
    const { world, settings } = options;
    const { nodeName, taintWhenFull } = settings;
    this.#kernel = world.kernel;
    this.#condition = new NodeConditionWriter({ ...world, nodeName });
    const taint = taintWhenFull ? new FullTaint({ ...world, nodeName }) : undefined;
    this.#room = new AddressRoomReporter(this.#condition, taint);
    this.#hijacks = new HijackAlarm({ ...world, nodeName });
    registerAgentMetrics({ ...options, metrics: world.metrics });
  }

  stop(): Promise<void> {
    return this.#hijacks.stop();
  }

  /** What the agent waits for, or that it serves. */
  state(state: AgentState): void {
    this.#o.status.set(state);
    if (this.#marksNode) this.#condition.declare(agentConditionType, state);
  }

  /** This machine may not serve the Node. Only if nobody else does is that stated on the Node. */
  standBy(state: AgentState, isOurs: boolean): void {
    this.#o.status.set(state);
    this.#o.writer.withhold();
    if (isOurs && this.#marksNode) this.#condition.declare(agentConditionType, state);
  }

  /** Conditions and the taint are about pods' addresses: who only announces writes nothing on the Node. */
  get #marksNode(): boolean {
    return this.#o.settings.scope !== 'announcements';
  }

  /** The kernel has not taken the routes: the last report again, with what that means. */
  kernelFailed(facts: RoundFacts, problem: string): void {
    this.unannounced(facts, problem);
    this.#declare(facts, this.#o.status.reportAgain());
  }

  unannounced(facts: RoundFacts, kernelProblem?: string): void {
    const { knowledge, peers, announcementFindings } = facts;
    const { status, drain, usage, announcer } = this.#o;
    const contested = announcementFindings.filter(({ reason }) => reason === 'NotOwner');
    status.setUnannounced(
      unannouncedBlocks({
        node: knowledge.node.name,
        owned: knowledge.truth.blocks.map(({ prefix }) => prefix),
        contested: new Map(contested.map(({ cidr, detail }) => [cidr, detail])),
        leaving: drain.whyWithdrawn,
        held: usage.onHold,
        kernelProblem,
        configuredPeers: knowledge.peers.length,
        peers,
        sessions: announcer.announcing(),
      }),
    );
  }

  /** Everything is declared to kernel and routers. */
  async report(facts: RoundFacts, seen: InKernel & { hijacks: readonly Hijack[] }): Promise<void> {
    const { status, podBlocks, usage, identity, cni, announcer, drain } = this.#o;
    const { node, truth } = facts.knowledge;
    this.unannounced(facts);
    const findings: Finding[] = [
      ...podsOutside(node.name, podBlocks.pods(), truth.blocks),
      ...identity.findings(),
      ...usage.findings(node.name),
      ...ownersUnknown(node.name, podBlocks.unknownOwners),
      ...seen.routeFindings,
      ...facts.announcementFindings,
      ...seen.hijacks.map((hijack) => hijackFinding(node.name, hijack)),
      ...seen.masqueradeProblems.map((detail) => masqueradeRefused(node.name, detail)),
    ];
    this.#logFindings(findings);
    const state = usage.stateOf(facts.situation.state);
    this.state(state);
    if (state.isReady && this.#marksNode) this.#room.declare(podBlocks.use);
    const hijacks = this.#hijacks.declare(node, seen.hijacks);
    const isWired = (this.#o.settings.scope ?? 'node') === 'node';
    const routes = isWired ? await this.#kernel.routes({ protocol: nodeRouteProtocol }) : [];
    const own = truth.blocks.map(({ prefix }) => `${prefix}`);
    const reported = status.report({
      owned: this.#marksNode ? truth.blocks : [],
      use: podBlocks.use,
      kernel: {
        ...seen.kernel,
        repaired: seen.kernel.repaired + (cni?.repairedPods ?? 0),
        refused: [...seen.kernel.refused],
        ownRoutes: own.filter((cidr) =>
          routes.some(({ prefix, type }) => type !== 'unicast' && `${prefix}` === cidr),
        ),
      },
      routes: routes.map((route) => routeText(route)).sort(),
      sessions: announcer.sessions(),
      hijacks,
      drain: drain.steps,
      findings,
    });
    this.#declare(facts, reported);
  }

  #declare({ situation, knowledge, spec }: RoundFacts, status: NodeReportStatus | undefined): void {
    if (status === undefined) return;
    const { name, uid } = knowledge.node;
    const owners = this.#owners.next({
      node: { name, uid },
      isNodeThere: situation.isNodeThere,
      blocks: situation.register?.own ?? this.#o.usage.held,
      isUsing: spec.uses.length > 0,
    });
    if (owners === undefined) return;
    this.#o.writer.declare({ node: { name, uid }, owners, spec, status });
  }

  #logFindings(findings: readonly Finding[]): void {
    const text = JSON.stringify(findings);
    if (text === this.#findingsText) return;
    this.#findingsText = text;
    for (const { reason, cidr, nodes, detail } of findings) {
      this.#o.world.log.warn({ reason, block: cidr, nodes }, detail);
    }
  }
}

function ownersUnknown(node: string, detail: string | undefined): Finding[] {
  if (detail === undefined) return [];
  return [{ reason: 'AddressOwnersUnknown', nodes: [node], cidr: '', detail }];
}

function masqueradeRefused(node: string, detail: string): Finding {
  return { reason: 'MasqueradeRefused', nodes: [node], cidr: '', detail };
}
