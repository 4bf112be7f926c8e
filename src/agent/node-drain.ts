/**
 * The node's two drains, of the addresses of Services and of its blocks, and the signs on
 * the Node that ask for them (plan/node/leaving). A cordoned node goes on with its blocks
 * for as long as pods live in them; every other sign ends both.
 */
import type { Clock } from '../base/clock.ts';
import type { ClusterNode } from '../model/node.ts';
import type { ReportedDrain } from '../model/node-report-status.ts';
import type { DesiredAnnouncement } from '../plan/node/desired-announcements.ts';
import { type Leaving, type LeavingSign, leavingOf, type OnCordon } from '../plan/node/leaving.ts';
import { type Delivery, Drain, type DrainPhase, type DrainProgress } from './drain.ts';
import { LastAnnouncer } from './last-announcer.ts';

export interface DrainMemory extends DrainProgress {
  /** Absent from the file of an older agent, whose drains were of everything. */
  services?: DrainProgress;
  sign?: LeavingSign;
}

interface NodeDrainOptions {
  clock: Clock;
  graceMs: number;
  onCordon: OnCordon;
}

interface Situation {
  node: ClusterNode;
  hasPods: boolean;
  /** Prefixes of Services that no other node could announce, each with its reason. */
  onlyHere: ReadonlyMap<string, string>;
  delivery(what: 'services' | 'everything'): Delivery;
}

export interface DrainDecision {
  blocks: DrainPhase;
  services: DrainPhase;
  /** Prefixes of Services that are announced even though the others are withdrawn. */
  kept: ReadonlySet<string>;
}

const soonMs = 100;

export class NodeDrain {
  readonly #clock: Clock;
  readonly #onCordon: OnCordon;
  readonly #last: LastAnnouncer;
  readonly #services: Drain;
  readonly #blocks: Drain;
  #leaving: Leaving | undefined;
  #before: LeavingSign | undefined;
  #kept: ReadonlySet<string> = new Set();
  /** Until what is kept has to be looked at again. */
  #keptForMs = Number.POSITIVE_INFINITY;

  constructor({ clock, graceMs, onCordon }: NodeDrainOptions) {
    this.#clock = clock;
    this.#onCordon = onCordon;
    this.#last = new LastAnnouncer(graceMs);
    this.#services = new Drain(clock, graceMs);
    this.#blocks = new Drain(clock, graceMs);
  }

  /** How far an earlier run had come. */
  resume(memory: DrainMemory): void {
    this.#blocks.resume(memory);
    this.#services.resume(memory.services ?? memory);
    this.#before = memory.sign;
  }

  /** For the disk, before anybody hears of it. */
  get memory(): DrainMemory {
    const { isLeaving } = this.#blocks.progress;
    const sign = this.#before;
    return {
      steps: this.steps,
      isLeaving,
      services: this.#services.progress,
      ...(sign === undefined ? {} : { sign }),
    };
  }

  /** What is to be declared now. */
  next({ node, hasPods, onlyHere, delivery }: Situation): DrainDecision {
    this.#leaving = leavingOf(node, { onCordon: this.#onCordon, hasPods, before: this.#before });
    this.#before = this.#leaving?.sign;
    const asked = this.#leaving && askedWords(this.#leaving);
    const nowMs = this.#clock.monotonicMs();
    if (this.#leaving === undefined) this.#last.forget();
    const last = this.#last.next(this.#leaving === undefined ? new Map() : onlyHere, nowMs);
    const services = this.#services.next({
      asked,
      delivery: () => delivery('services'),
      kept: this.#mayKeepMs > 0 ? [...last.values()] : [],
    });
    const isKeeping = services === 'withdraw' && this.#mayKeepMs > 0;
    this.#kept = new Set(isKeeping ? last.keys() : []);
    this.#keptForMs = Math.min(this.#mayKeepMs, this.#last.endsInMs(nowMs));
    const blocks = this.#blocks.next({
      asked: this.#leaving?.withBlocks ? asked : undefined,
      delivery: () => delivery('everything'),
      // Pods that still serve need the way back to them, too.
      isToWait: this.#kept.size > 0 && Number.isFinite(this.#leaving?.keepMs),
    });
    return { blocks, services, kept: this.#kept };
  }

  /** Why the blocks are withdrawn, if they are. */
  get whyWithdrawn(): string | undefined {
    return this.#blocks.phase === 'withdraw' ? this.#leaving?.why : undefined;
  }

  /** Every router with a session has acknowledged that no block of this node is announced any more. */
  get hasWithdrawnBlocks(): boolean {
    return this.#blocks.isWithdrawn;
  }

  /** When it has to be looked at again, even if nothing happens. */
  get againInMs(): number | undefined {
    if (this.#services.isUnderWay || this.#blocks.isUnderWay) return soonMs;
    if (this.#kept.size === 0 || !Number.isFinite(this.#keptForMs)) return undefined;
    return Math.max(this.#keptForMs, soonMs);
  }

  get steps(): ReportedDrain['steps'] {
    if (this.#blocks.steps.length === 0) return this.#services.steps;
    const kept = this.#services.steps.filter(({ step }) => step === 'Kept');
    return [...this.#blocks.steps, ...kept].sort((a, b) =>
      a.at < b.at ? -1 : a.at > b.at ? 1 : 0,
    );
  }

  /** For how long yet the last announcer of a Service stays. */
  get #mayKeepMs(): number {
    const { keepMs = 0 } = this.#leaving ?? {};
    return Number.isFinite(keepMs) ? keepMs - this.#services.leavingForMs : keepMs;
  }
}

/** What of all that the node would announce it does announce now. */
export function announcedDuring<T extends Record<'blocks' | 'services', DesiredAnnouncement[]>>(
  { blocks, services, kept }: DrainDecision,
  all: T,
): T {
  return {
    ...all,
    blocks: inPhase(blocks, all.blocks),
    services: inPhase(services, all.services, kept),
  };
}

function inPhase(
  phase: DrainPhase,
  all: DesiredAnnouncement[],
  kept: ReadonlySet<string> = new Set(),
): DesiredAnnouncement[] {
  if (phase === 'announce') return all;
  if (phase === 'graceful') return all.map(asLastResort);
  return all.filter(({ prefix }) => kept.has(prefix)).map(asLastResort);
}

/** RFC 8326 §4.1: inside the AS the lowest preference says the same as the community. */
function asLastResort(announcement: DesiredAnnouncement): DesiredAnnouncement {
  const communities = [...(announcement.communities ?? []), 'graceful-shutdown'];
  return { ...announcement, communities, localPref: 0 };
}

function askedWords({ why, withBlocks }: Leaving): string {
  return withBlocks
    ? `${why}: all its routes are to be withdrawn`
    : `${why}: its addresses of Services are to be withdrawn; its blocks stay while it has pods`;
}
