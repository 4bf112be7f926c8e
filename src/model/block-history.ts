import type { ResourceDefinition } from './crd.ts';
import { apiVersion } from './keys.ts';
import { type KubeObject, timestampMs } from './object.ts';
import { blockHistories } from './resources.ts';
import * as field from './schema/field.ts';

/**
 * BlockHistory: what became of blocks, kept as objects, because whoever asks
 * "who held this a month ago" has no log files of a month ago. Many blocks share
 * one object (a *volume*), so that a mass join costs a few hundred writes more
 * and not one more per node; which volume a block is in follows from its CIDR.
 */
export const historyEvents = [
  'Assigned',
  'Adopted',
  'Returned',
  'Registered',
  'Draining',
  'Cooling',
  'Released',
  'Announced',
  'Withdrawn',
] as const;

export type HistoryEvent = (typeof historyEvents)[number];

export interface HistoryEntry {
  at: string;
  event: HistoryEvent;
  node: string;
  nodeUID?: string;
  /** The NodeBlock's: the same CIDR given again is another block. */
  blockUID?: string;
  pool?: string;
  why?: string;
  /** The peers that the node advertised the block to, by name. */
  peers?: string[];
}

/** Everything remembered of one block, oldest first. */
export interface BlockLog {
  cidr: string;
  /** Entries that had to make room. */
  dropped: number;
  entries: HistoryEntry[];
}

export const volumeCount = 256;
/** So many entries a volume: some 200 KB, far below the API server's limit of 1.5 MB. */
export const maxEntriesOfVolume = 800;
export const maxHolderEntries = 16;
export const maxRouteEntries = 8;
export const maxWhyLength = 256;
export const maxPeers = 16;

export const blockHistoryDefinition: ResourceDefinition = {
  resource: blockHistories,
  shortName: 'bh',
  revision: 7,
  digest: '5010b3cf930f4a49',
  spec: field.object(
    'One volume of what became of blocks: who held them, why, and when they were announced. Written by the operator; cadastre explain reads it.',
    [],
    {
      blocks: field.records(maxEntriesOfVolume, ['cidr', 'entries'], {
        cidr: field.cidrText,
        dropped: field.count(),
        entries: field.records(maxEntriesOfVolume, ['at', 'event', 'node'], {
          at: field.time(),
          event: field.text('', { enum: historyEvents }),
          node: field.name(),
          nodeUID: field.uid(),
          blockUID: field.uid(),
          pool: field.name(),
          why: field.text('', { maxLength: maxWhyLength }),
          peers: field.list('', maxPeers, field.name()),
        }),
      }),
    },
  ),
  status: { type: 'object' },
  columns: [],
};

/** FNV-1a: spreads neighbours, and is the same in every version. */
export function volumeOf(cidr: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < cidr.length; at++) {
    hash = Math.imul(hash ^ cidr.charCodeAt(at), 0x01000193);
  }
  hash ^= hash >>> 16;
  return `blocks-${(hash & (volumeCount - 1)).toString(16).padStart(2, '0')}`;
}

export function allVolumes(): string[] {
  return Array.from(
    { length: volumeCount },
    (_, at) => `blocks-${at.toString(16).padStart(2, '0')}`,
  );
}

export function isAboutRoutes({ event }: HistoryEntry): boolean {
  return event === 'Announced' || event === 'Withdrawn';
}

/** Reads a volume; what is not an entry is left out, and lost with the next write. */
export function readHistory(object: KubeObject): BlockLog[] {
  const { blocks } = (object.spec ?? {}) as { blocks?: unknown };
  if (!Array.isArray(blocks)) return [];
  return blocks.flatMap((one: Partial<BlockLog> | null) => {
    if (typeof one?.cidr !== 'string') return [];
    const entries = (Array.isArray(one.entries) ? one.entries : []).filter(isEntry);
    return [{ cidr: one.cidr, dropped: Number(one.dropped ?? 0), entries }];
  });
}

function isEntry(value: unknown): value is HistoryEntry {
  const { at, event, node } = (value ?? {}) as Partial<HistoryEntry>;
  return (
    typeof at === 'string' &&
    timestampMs(at) > 0 &&
    typeof node === 'string' &&
    historyEvents.includes(event as HistoryEvent)
  );
}

export function writeHistory(name: string, blocks: readonly BlockLog[]): KubeObject {
  return { apiVersion, kind: 'BlockHistory', metadata: { name }, spec: { blocks } };
}
