/** How the agent is, for people: the socket's status, the NodeReport, the log. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { maxReported } from '../model/node-report-schema.ts';
import type {
  NodeReportStatus,
  ReportedDrain,
  ReportedHijack,
  ReportedKernel,
  ReportedSession,
} from '../model/node-report-status.ts';
import type { Condition } from '../model/object.ts';
import type { Reason } from '../model/reasons.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Finding } from '../plan/blocks/finding.ts';
import type { OwnedBlock } from '../plan/node/node-truth.ts';
import type { Unannounced, UnannouncedReason } from '../plan/node/unannounced.ts';
import type { PodBlockUse } from '../plan/pod-address/pod-address.ts';
import type { AgentScope, AgentSettings } from './agent-settings.ts';

export interface AgentState {
  isReady: boolean;
  reason: Reason;
  detail: string;
}

interface Observed {
  owned: readonly OwnedBlock[];
  use: readonly PodBlockUse[];
  kernel: ReportedKernel;
  /** All of ours in the kernel, as `ip route` would print them. */
  routes: readonly string[];
  sessions: readonly ReportedSession[];
  hijacks: readonly ReportedHijack[];
  drain: ReportedDrain['steps'];
  findings: readonly Finding[];
}

/** The part of GET /v1/status that is not about addresses. */
export interface AgentStatusJson {
  node: string;
  /** `scope`: absent from an agent of an earlier version, which is `node`. */
  mode: { routing: string; directRoutes: boolean; scope?: AgentScope };
  version: string;
  ready: boolean;
  reason: Reason;
  detail: string;
  since: string;
  kernel: ReportedKernel & { routes: readonly string[] };
  sessions: readonly ReportedSession[];
  unannounced: readonly Unannounced[];
  drain?: ReportedDrain;
  findings: readonly Finding[];
}

export class AgentStatus {
  readonly #settings: AgentSettings;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #startedAt: string;
  #state: AgentState = {
    isReady: false,
    reason: 'WaitingForCluster',
    detail: 'the API server has not answered yet',
  };
  #since: string;
  #observed: Observed | undefined;
  #unannounced: readonly Unannounced[] = [];
  #unannouncedText = '';
  /** Of new pods: what fits through the tunnel, or else what the link to the other nodes has. */
  podMtu: number | undefined;

  constructor(settings: AgentSettings, clock: Clock, log: Log) {
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#startedAt = this.#since = this.#now();
  }

  /** Why pods that run now may not be reached, if so. */
  get limitation(): string | undefined {
    const isLimit = ({ reason }: Finding) => reason === 'PodsOutsideBlocks';
    return this.#observed?.findings.find(isLimit)?.detail;
  }

  /** The pool that a block was cut from; empty where there is none, or it is not known. */
  poolOf(block: Prefix): string {
    return this.#observed?.owned.find(({ prefix }) => prefix.equals(block))?.pool ?? '';
  }

  get state(): AgentState {
    return this.#state;
  }

  /** What the node waits for, if it does. */
  get whyNotReady(): string | undefined {
    const { isReady, reason, detail } = this.#state;
    return isReady ? undefined : `${reason}: ${detail}`;
  }

  set(state: AgentState): void {
    const before = this.#state;
    this.#state = state;
    if (state.isReady !== before.isReady || state.reason !== before.reason) {
      this.#since = this.#now();
    } else if (state.detail === before.detail) {
      return;
    }
    const { reason, detail, isReady } = state;
    if (isReady) this.#log.info({ reason }, detail);
    else this.#log.warn({ reason }, `not ready: ${detail}`);
  }

  /** Owned blocks that are not advertised; logged when they, or the reasons, become others. */
  setUnannounced(all: readonly Unannounced[]): void {
    this.#unannounced = all;
    const lasting = all.filter(({ reason }) => reason !== 'AnnouncementPending');
    const text = lasting.map(({ cidr, peer, reason }) => `${cidr} ${peer} ${reason}`).join();
    if (text === this.#unannouncedText) return;
    this.#unannouncedText = text;
    for (const { cidr, peer, reason, detail } of lasting) {
      const fields = { reason, block: cidr, ...(peer === undefined ? {} : { peer }) };
      const words = `${cidr} is not announced${peer === undefined ? '' : ` to ${peer}`}: ${detail}`;
      if (ordinary.has(reason)) this.#log.info(fields, words);
      else this.#log.warn(fields, words);
    }
    if (lasting.length === 0)
      this.#log.info({}, 'every block of the node is announced to every peer');
  }

  /** The last report with what has been set since; undefined before the first one. */
  reportAgain(): NodeReportStatus | undefined {
    return this.#observed && this.report(this.#observed);
  }

  /** Takes in what was seen, and gives it back as the NodeReport has it. */
  report(observed: Observed): NodeReportStatus {
    this.#observed = observed;
    const { owned, use, kernel, sessions, hijacks, drain, findings } = observed;
    const { isReady, reason, detail } = this.#state;
    const condition: Condition = {
      type: 'Ready',
      status: isReady ? 'True' : 'False',
      reason,
      message: detail,
      lastTransitionTime: this.#since,
    };
    return {
      agentVersion: this.#settings.version,
      startedAt: this.#startedAt,
      blocks: owned.slice(0, maxReported).map(({ prefix, pool, isDraining }) => {
        const used = use.find((one) => one.prefix.equals(prefix));
        return {
          cidr: prefix.toString(),
          pool,
          draining: isDraining,
          pods: used?.pods ?? 0,
          resting: used?.resting ?? 0,
          total: String(used === undefined ? 0 : used.forPods - used.reserved),
        };
      }),
      kernel: {
        ...kernel,
        refused: kernel.refused
          .slice(0, maxReported)
          .map(({ route, reason: why }) => ({ route: clip(route, 253), reason: clip(why) })),
        ownRoutes: kernel.ownRoutes.slice(0, maxReported),
      },
      sessions: sessions.slice(0, 256).map(({ announced, lastError, ...session }) => ({
        ...session,
        ...(lastError === undefined ? {} : { lastError: clip(lastError) }),
        announced: announced.slice(0, maxReported),
      })),
      unannounced: this.#unannounced
        .slice(0, maxReported)
        .map((one) => ({ ...one, detail: clip(one.detail) })),
      hijacks: hijacks.slice(0, maxReported),
      // A merge patch leaves alone what it does not name: the end of a drain has to be said.
      drain: drain.length === 0 ? null : { steps: drain },
      findings: findings.slice(0, maxReported).map(({ reason: word, cidr, detail: text }) => ({
        reason: word,
        cidr,
        detail: clip(text),
      })),
      conditions: [condition],
    };
  }

  json(): AgentStatusJson {
    const { nodeName, routing, directRoutes, version, scope = 'node' } = this.#settings;
    const { isReady, reason, detail } = this.#state;
    const kernel = this.#observed?.kernel ?? noKernel;
    return {
      node: nodeName,
      mode: { routing, directRoutes, scope },
      version,
      ready: isReady,
      reason,
      detail,
      since: this.#since,
      kernel: { ...kernel, routes: this.#observed?.routes ?? [] },
      sessions: this.#observed?.sessions ?? [],
      unannounced: this.#unannounced,
      ...(this.#observed?.drain.length ? { drain: { steps: this.#observed.drain } } : {}),
      findings: this.#observed?.findings ?? [],
    };
  }

  #now(): string {
    return new Date(this.#clock.wallMs()).toISOString();
  }
}

/** States that a healthy node passes through, or that somebody asked for. */
const ordinary: ReadonlySet<UnannouncedReason> = new Set([
  'NoPeerSelectsNode',
  'NodeDraining',
  'SessionNotEstablished',
]);

/** The longest that a report's schema takes: too long a word must not keep back all the others. */
function clip(text: string, most = 1024): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

const noKernel: ReportedKernel = { wanted: 0, held: 0, repaired: 0, ownRoutes: [], refused: [] };
