import {
  type BlockLog,
  type HistoryEntry,
  type HistoryEvent,
  isAboutRoutes,
  maxEntriesOfVolume,
  maxHolderEntries,
  maxPeers,
  maxRouteEntries,
  maxWhyLength,
} from '../../model/block-history.ts';
import type { Block, BlockWitness } from '../../model/node-block.ts';
import { timestampMs } from '../../model/object.ts';
import { witnessWords } from './witness.ts';

/**
 * History by comparison. What is written down is compared with what is, and the
 * difference is added. So nothing depends on having seen an event: after a crash,
 * or under another leader, the same comparison writes the same entries, and a
 * second writer finds nothing left to add. Lost is only what began and ended
 * while nobody looked.
 */
export interface BlockFacts {
  cidr: string;
  /** The NodeBlock, as long as there is one. */
  block: Block | undefined;
  /** Who announces it to whom, by the nodes' own reports. */
  announcers: ReadonlyMap<string, readonly string[]>;
  /** How it came to its node, if this process was there. */
  givenBy?: Extract<HistoryEvent, 'Assigned' | 'Adopted' | 'Returned'> | undefined;
  /** The witness of a block that is gone, if this process was there. */
  released?: { uid: string; witness: BlockWitness } | undefined;
  /** Why this pool; asked only for a new holder. */
  why(): string;
}

/** Two are a fault already; what is beyond finds no room. */
const maxAnnouncers = maxRouteEntries / 2;

/** The log with everything that is true now and was not written yet; the same object if nothing is new. */
export function bringUpToDate(
  log: BlockLog | undefined,
  facts: BlockFacts,
  nowMs: number,
): BlockLog | undefined {
  const before = log?.entries ?? [];
  const news = [...holderNews(before, facts, nowMs), ...routeNews(before, facts, nowMs)];
  if (news.length === 0) return log;
  return shortenLog({
    cidr: facts.cidr,
    dropped: log?.dropped ?? 0,
    entries: [...before, ...news],
  });
}

function holderNews(
  before: readonly HistoryEntry[],
  { block, givenBy, why, released }: BlockFacts,
  nowMs: number,
): HistoryEntry[] {
  const last = before.findLast((entry) => !isAboutRoutes(entry));
  const isOpen = last !== undefined && last.event !== 'Released';
  if (block === undefined || block.phase === 'Guard') {
    return isOpen ? [ending(last, nowMs, released)] : [];
  }
  const news: HistoryEntry[] = [];
  let phase = phaseAfter(last);
  if (!isOpen || last.blockUID !== block.uid) {
    // It was freed and given again while nobody looked.
    const givenMs = Math.min(block.createdMs || nowMs, nowMs);
    if (isOpen) news.push(ending(last, Math.max(givenMs, timestampMs(last.at)), released));
    const reason = clip(why());
    news.push({
      ...holding(block, givenBy ?? 'Registered', givenMs),
      ...(reason === '' ? {} : { why: reason }),
    });
    phase = 'Active';
  } else if (last.nodeUID !== block.nodeUid || last.node !== block.nodeName) {
    news.push(holding(block, 'Returned', nowMs));
    phase = 'Active';
  }
  if (phase === block.phase) return news;
  if (block.phase === 'Cooling') {
    const sinceMs = block.coolingSinceMs || nowMs;
    news.push(holding(block, 'Cooling', Math.min(sinceMs, nowMs)));
  } else if (block.phase === 'Draining') news.push(holding(block, 'Draining', nowMs));
  else news.push(holding(block, 'Returned', nowMs));
  return news;
}

function routeNews(
  before: readonly HistoryEntry[],
  { announcers }: BlockFacts,
  nowMs: number,
): HistoryEntry[] {
  const announced = new Map<string, readonly string[]>();
  for (const entry of before) {
    if (entry.event === 'Announced') announced.set(entry.node, entry.peers ?? []);
    if (entry.event === 'Withdrawn') announced.delete(entry.node);
  }
  const at = timeText(nowMs);
  const news: HistoryEntry[] = [];
  for (const node of announced.keys()) {
    if ((announcers.get(node) ?? []).length === 0) news.push({ at, event: 'Withdrawn', node });
  }
  const announcing = [...announcers].filter(([, peers]) => peers.length > 0);
  announcing.sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [node, all] of announcing.slice(0, maxAnnouncers)) {
    const peers = [...new Set(all)].sort().slice(0, maxPeers);
    if (announced.get(node)?.join('\n') === peers.join('\n')) continue;
    news.push({ at, event: 'Announced', node, peers });
  }
  return news;
}

function holding(block: Block, event: HistoryEvent, atMs: number): HistoryEntry {
  return {
    at: timeText(atMs),
    event,
    node: block.nodeName,
    nodeUID: block.nodeUid,
    blockUID: block.uid,
    pool: block.pool,
  };
}

function ending(
  { node, nodeUID, blockUID, pool }: HistoryEntry,
  atMs: number,
  released: BlockFacts['released'],
): HistoryEntry {
  const witness = released?.uid === blockUID ? released?.witness : undefined;
  return {
    at: timeText(atMs),
    event: 'Released',
    node,
    ...(nodeUID === undefined ? {} : { nodeUID }),
    ...(blockUID === undefined ? {} : { blockUID }),
    ...(pool === undefined ? {} : { pool }),
    ...(witness === undefined ? {} : { why: clip(witnessWords(witness)) }),
  };
}

function phaseAfter(last: HistoryEntry | undefined): 'Active' | 'Draining' | 'Cooling' | undefined {
  if (last === undefined || last.event === 'Released') return undefined;
  return last.event === 'Draining' || last.event === 'Cooling' ? last.event : 'Active';
}

/** A flapping session must not push out who held the block: each kind has room of its own. */
function shortenLog(log: BlockLog): BlockLog {
  const holders = log.entries.filter((entry) => !isAboutRoutes(entry)).length - maxHolderEntries;
  const routes = log.entries.filter(isAboutRoutes).length - maxRouteEntries;
  const past = pastEntries(log.entries);
  const excess = [
    ...past.filter((entry) => !isAboutRoutes(entry)).slice(0, Math.max(holders, 0)),
    ...past.filter(isAboutRoutes).slice(0, Math.max(routes, 0)),
  ];
  return without(log, excess);
}

/**
 * What may be forgotten, oldest first. What describes the present may not: the last
 * word on the holder, and announcements that were not withdrawn; without them the
 * next comparison would find them new.
 */
function pastEntries(entries: readonly HistoryEntry[]): HistoryEntry[] {
  const present = new Set<HistoryEntry | undefined>([
    entries.findLast((entry) => !isAboutRoutes(entry)),
  ]);
  const announced = new Map<string, HistoryEntry>();
  for (const entry of entries) {
    if (entry.event === 'Announced') announced.set(entry.node, entry);
    if (entry.event === 'Withdrawn') announced.delete(entry.node);
  }
  for (const entry of announced.values()) present.add(entry);
  return entries.filter((entry) => !present.has(entry));
}

function without(log: BlockLog, excess: readonly HistoryEntry[]): BlockLog {
  if (excess.length === 0) return log;
  const entries = log.entries.filter((entry) => !excess.includes(entry));
  return { ...log, entries, dropped: log.dropped + excess.length };
}

/**
 * Keeps a volume within its size: first the blocks that were free longest are
 * forgotten, then of the longest logs the oldest entries.
 */
export function shortenVolume(logs: readonly BlockLog[], most = maxEntriesOfVolume): BlockLog[] {
  const kept = new Map(
    logs.filter((log) => log.entries.length > 0).map((log) => [log.cidr, log] as const),
  );
  let count = [...kept.values()].reduce((sum, log) => sum + log.entries.length, 0);
  if (count <= most) return sorted(kept.values());
  const lastMs = (log: BlockLog) => timestampMs(log.entries.at(-1)?.at);
  const free = [...kept.values()].filter(isFree).sort((a, b) => lastMs(a) - lastMs(b));
  for (const log of free) {
    if (count <= most) break;
    kept.delete(log.cidr);
    count -= log.entries.length;
  }
  for (let length = maxHolderEntries + maxRouteEntries; count > most && length > 1; length--) {
    for (const log of kept.values()) {
      if (count <= most) break;
      if (log.entries.length < length) continue;
      const shorter = without(log, pastEntries(log.entries).slice(0, 1));
      count -= log.entries.length - shorter.entries.length;
      kept.set(log.cidr, shorter);
    }
  }
  // More blocks than a volume has room for: a register of that size is beyond what is promised.
  let room = most;
  return sorted(kept.values()).filter((log) => {
    room -= log.entries.length;
    return room >= 0;
  });
}

function isFree(log: BlockLog): boolean {
  return phaseAfter(log.entries.findLast((entry) => !isAboutRoutes(entry))) === undefined;
}

function sorted(logs: Iterable<BlockLog>): BlockLog[] {
  return [...logs].sort((a, b) => (a.cidr < b.cidr ? -1 : 1));
}

function clip(text: string): string {
  return text.length > maxWhyLength ? `${text.slice(0, maxWhyLength - 1)}…` : text;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
