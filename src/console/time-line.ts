/**
 * What happened: the operator's history of blocks, where it keeps one; what the
 * console saw itself of nodes, sessions and records; and the operator's warnings.
 * Without a history, what happens to blocks and announcements is taken from what is seen, too.
 */
import type { Clock } from '../base/clock.ts';
import type { BlockLog, HistoryEntry } from '../model/block-history.ts';
import type { WitnessReport } from '../model/cluster-kinds.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import type { NodeReportStatus } from '../model/node-report-status.ts';
import { timestampMs } from '../model/object.ts';
import type { KeptEvent } from './console-caches.ts';
import type { ConsoleState } from './state.ts';

/** Entries that are kept; the oldest go first. */
const kept = 1_000;
/** Forgotten in batches: sorting all for each one would be a waste. */
const slack = 100;
const settleMs = 15_000;

export class TimeLine {
  readonly #state: ConsoleState;
  readonly #clock: Clock;
  readonly #hasHistory: () => boolean;
  readonly #times = new Map<string, number>();
  /** Entries of the history that were taken over. */
  readonly #known = new Set<string>();
  readonly #startedMs: number;
  #serial = 0;

  constructor(options: { state: ConsoleState; clock: Clock; hasHistory: () => boolean }) {
    this.#state = options.state;
    this.#clock = options.clock;
    this.#hasHistory = options.hasHistory;
    this.#startedMs = options.clock.monotonicMs();
  }

  history({ cidr, entries }: BlockLog): void {
    for (const entry of entries) {
      const { at, event: reason, node } = entry;
      const key = `${cidr} ${at} ${reason} ${node}`;
      if (this.#known.has(key)) continue;
      this.#known.add(key);
      // The entry made from the block itself is replaced by the history's, which knows more.
      const isBegin = reason === 'Assigned' || reason === 'Adopted' || reason === 'Registered';
      const id = isBegin && entry.blockUID ? `block ${entry.blockUID}` : `history ${key}`;
      this.#add({ id, atMs: timestampMs(at), reason, node, cidr, text: historyText(cidr, entry) });
    }
  }

  node(next: ClusterNode, prev: ClusterNode | undefined): void {
    const node = next.name;
    if (prev === undefined || prev.uid !== next.uid) {
      const text = `${node} joined with ${next.addresses.join(', ') || 'no address yet'}`;
      this.#add({ id: `node ${next.uid}`, atMs: next.createdMs, reason: 'NodeJoined', node, text });
      return;
    }
    if (next.isLeaving !== prev.isLeaving) {
      const text = next.isLeaving
        ? `${node} is being drained: its routes are withdrawn`
        : `${node} is back in service`;
      this.#add({ reason: next.isLeaving ? 'Draining' : 'Returned', node, text });
    }
    if (next.podCidrs.join() !== prev.podCidrs.join()) {
      const cidr = next.podCidrs.join(', ');
      const text = `${cidr} was written into spec.podCIDRs of Node ${node}`;
      this.#add({ reason: 'RecordWritten', node, cidr, text, isWarning: true });
    }
  }

  nodeGone({ name: node }: ClusterNode): void {
    this.#add({ reason: 'NodeGone', node, text: `${node} is gone` });
  }

  block(next: Block, prev: Block | undefined): void {
    const cidr = next.prefix.toString();
    const node = next.nodeName;
    if (next.phase === 'Guard' || this.#hasHistory()) return;
    if (prev === undefined) {
      const text = `${cidr} assigned to ${node} from ${next.pool || 'no pool'}`;
      const at = { id: `block ${next.uid}`, atMs: next.createdMs };
      this.#add({ ...at, reason: 'Assigned', node, cidr, text });
      if (next.phase === 'Active') return;
    } else if (prev.phase === next.phase) return;
    const words = {
      Active: ['Returned', `${cidr} is assigned to ${node} again`],
      Draining: ['Draining', `${cidr} is released when ${node} has no pod left in it`],
      Cooling: ['Cooling', `${cidr} is in cool-down: ${node} is gone`],
    } as const;
    const [reason, text] = words[next.phase];
    this.#add({ reason, node, cidr, text });
  }

  blockGone(last: Block): void {
    if (this.#hasHistory()) return;
    const cidr = last.prefix.toString();
    this.#add({ reason: 'Released', node: last.nodeName, cidr, text: `${cidr} is free again` });
  }

  report(next: WitnessReport, prev: WitnessReport | undefined): void {
    if (prev === undefined || next.status === undefined) return;
    const before = new Map(prev.status?.sessions?.map((session) => [session.peer, session]));
    for (const session of next.status.sessions ?? []) {
      this.#session(next.name, session, before.get(session.peer));
    }
  }

  event({ uid, atMs, isWarning, reason, message, about }: KeptEvent): void {
    // What goes well shows in the objects themselves.
    if (!isWarning) return;
    const node = about.kind === 'Node' ? about.name : '';
    const text = node === '' ? `${about.kind} ${about.name}: ${message}` : message;
    this.#add({ id: `event ${uid}`, atMs, reason, node, text, isWarning });
  }

  #session(
    node: string,
    session: NodeReportStatus['sessions'][number],
    before: NodeReportStatus['sessions'][number] | undefined,
  ): void {
    const { peer, state, lastError } = session;
    const isUp = state === 'Established';
    const wasUp = before?.state === 'Established';
    if (isUp !== wasUp && (isUp || before !== undefined)) {
      const text = isUp
        ? `BGP session of ${node} with ${peer} is up`
        : `BGP session of ${node} with ${peer} is down${lastError ? `: ${lastError}` : ''}`;
      this.#add({ reason: isUp ? 'SessionUp' : 'SessionDown', node, text, isWarning: !isUp });
    }
    // At first it is not known whether there is a history that has this.
    const isYoung = this.#clock.monotonicMs() - this.#startedMs < settleMs;
    if (isYoung || this.#hasHistory()) return;
    const advertised = new Set(session.announced.map(({ prefix }) => prefix));
    const known = new Set(before?.announced.map(({ prefix }) => prefix));
    for (const cidr of advertised) {
      if (known.has(cidr)) continue;
      this.#add({ reason: 'Announced', node, cidr, text: `${node} announced ${cidr} to ${peer}` });
    }
    if (!isUp) return;
    for (const cidr of known) {
      if (advertised.has(cidr)) continue;
      this.#add({ reason: 'Withdrawn', node, cidr, text: `${node} withdrew ${cidr} from ${peer}` });
    }
  }

  #add(entry: {
    id?: string;
    atMs?: number;
    reason: string;
    node?: string;
    cidr?: string;
    text: string;
    isWarning?: boolean;
  }): void {
    const id = entry.id ?? `seen ${++this.#serial}`;
    const atMs = entry.atMs ?? this.#clock.wallMs();
    this.#times.set(id, atMs);
    this.#state.put('entry', id, {
      id,
      atMs,
      reason: entry.reason,
      node: entry.node ?? '',
      cidr: entry.cidr ?? '',
      text: entry.text,
      isWarning: entry.isWarning ?? false,
    });
    if (this.#times.size > kept + slack) this.#forget();
  }

  #forget(): void {
    const oldest = [...this.#times].sort(([, a], [, b]) => a - b).slice(0, this.#times.size - kept);
    for (const [id] of oldest) {
      this.#times.delete(id);
      this.#state.remove('entry', id);
    }
  }
}

function historyText(cidr: string, { event, node, pool, peers, why }: HistoryEntry): string {
  const routers = (peers ?? []).join(', ') || 'its routers';
  switch (event) {
    case 'Assigned':
    case 'Adopted':
    case 'Registered':
      return `${cidr} ${event === 'Adopted' ? 'adopted from' : 'assigned to'} ${node}${pool ? `, pool ${pool}` : ''}${why ? `: ${why}` : ''}`;
    case 'Returned':
      return `${cidr} is assigned to ${node} again`;
    case 'Draining':
      return `${cidr} is released when ${node} has no pod left in it`;
    case 'Cooling':
      return `${cidr} is in cool-down: ${node} is gone`;
    case 'Released':
      return `${cidr} is free again; ${node} had it`;
    case 'Announced':
      return `${node} announced ${cidr} to ${routers}`;
    case 'Withdrawn':
      return `${node} withdrew ${cidr} from ${routers}`;
  }
}
