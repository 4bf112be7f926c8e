import { type Address, parseAddress } from '../net/address.ts';

/** Where a pod is attached, as CNI names it. */
export interface Attachment {
  /** The name of the network configuration. */
  network: string;
  containerId: string;
  ifname: string;
  /** The path of the pod's namespace when it was added. */
  netns: string;
  /** `namespace/name`, where the runtime is Kubernetes'. */
  pod?: string;
  /** Another plugin makes the interface. */
  addressesOnly?: true;
}

/** What an owner holds: one address of each family it asked for. */
export interface Allocation {
  /** Never used twice: it distinguishes a late release of an older one. */
  generation: number;
  owner: string;
  addresses: readonly Address[];
  attachment?: Attachment;
  /** Monotonic; undefined once claimed, or if it was never to expire. */
  expiresAtMs: number | undefined;
}

interface AllocationRecord {
  generation: number;
  owner: string;
  addresses: string[];
  attachment?: Attachment;
  /**
   * Time left, not a time of day: a clock that jumps while nobody runs must
   * not free an address that somebody is about to claim.
   */
  expiresInMs?: number;
}

/** What the journal holds; `all` begins every file. */
export type BookRecord =
  | { kind: 'give'; allocation: AllocationRecord }
  | { kind: 'claim'; generation: number }
  | { kind: 'free'; generation: number; restMs: number }
  /** So much time has passed for everything that expires or cools down. */
  | { kind: 'age'; ms: number }
  /** The moment that times are counted from. */
  | ({ kind: 'anchor' } & Anchor)
  | {
      kind: 'all';
      nextGeneration: number;
      cursors: string[];
      allocations: AllocationRecord[];
      resting: Array<{ address: string; forMs: number }>;
      anchor?: Anchor;
      unknown?: UnknownOwners;
    }
  /** Owners are unknown, or not any more. */
  | { kind: 'unknown'; unknown: UnknownOwners | null };

/**
 * Owners that damage of the journal has taken. Any address that the node could give at that time
 * may be theirs.
 */
export interface UnknownOwners {
  /** What was damaged, and where. */
  what: string;
  /** The copy of the damaged file. */
  file: string;
  /** What has a lower generation was read from the damaged file. */
  below: number;
  /** Generations of what they hold; absent where not even that is known. */
  generations?: number[];
  /** Blocks that they may have addresses of: those the node had first; absent before it had any. */
  blocks?: string[];
}

/** A moment of a boot of the machine. */
export interface Anchor {
  boot: string;
  ms: number;
}

export function writeAllocation(allocation: Allocation, nowMs: number): AllocationRecord {
  const { generation, owner, addresses, attachment, expiresAtMs } = allocation;
  return {
    generation,
    owner,
    addresses: addresses.map(String),
    ...(attachment === undefined ? {} : { attachment }),
    ...(expiresAtMs === undefined ? {} : { expiresInMs: Math.max(0, expiresAtMs - nowMs) }),
  };
}

export function readAllocation(record: AllocationRecord, nowMs: number): Allocation {
  const { generation, owner, addresses, attachment, expiresInMs } = record;
  return {
    generation,
    owner,
    addresses: addresses.map((text) => parseAddress(text)!),
    ...(attachment === undefined ? {} : { attachment }),
    expiresAtMs: expiresInMs === undefined ? undefined : nowMs + expiresInMs,
  };
}
