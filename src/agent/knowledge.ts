/**
 * Everything the agent derives its work from, in one value: its node, the blocks
 * that the one source of truth gives it, the other nodes with theirs, and the
 * routers. It comes from the API server, is kept on disk, and is read back when
 * the API server is away.
 */
import type { BgpAdvertisement } from '../model/bgp-advertisement.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { ClusterNode } from '../model/node.ts';
import type { BlockRelease } from '../model/node-report.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { HeldBlock } from '../plan/node/block-use.ts';
import type { RoutedNode } from '../plan/node/desired-routes.ts';
import type { NodeTruth, OwnedBlock } from '../plan/node/node-truth.ts';
import { noServices, type ServiceFacts } from '../plan/services/service-announcements.ts';
import type { DrainMemory } from './node-drain.ts';

export interface Knowledge {
  readonly node: ClusterNode;
  readonly truth: NodeTruth;
  readonly others: readonly RoutedNode[];
  readonly peers: readonly BgpPeer[];
  readonly advertisements: readonly BgpAdvertisement[];
  readonly services: ServiceFacts;
}

/** What is on disk: also the blocks we have given back or withdrawn, before anybody reads of it. */
export interface Memory {
  readonly knowledge: Knowledge;
  readonly releases: readonly BlockRelease[];
  /** Undefined in the file of an older agent. */
  readonly held: readonly HeldBlock[] | undefined;
  /** The API server has accepted a report of this node. */
  readonly hasReported: boolean;
  /** How far the node has come in leaving its routers. */
  readonly drain?: DrainMemory | undefined;
}

/** Of a newer agent's file we know nothing, and say so. */
const formatVersion = 1;

interface BlockText extends Omit<OwnedBlock, 'prefix'> {
  cidr: string;
}

/** Times of one run mean nothing to the next. */
interface HeldText extends Omit<HeldBlock, 'prefix' | 'holdSinceMs' | 'missingSinceMs'> {
  cidr: string;
}

interface MemoryText {
  version: number;
  node: ClusterNode;
  truth: Omit<NodeTruth, 'blocks'> & { blocks: BlockText[] };
  others: Array<Omit<RoutedNode, 'blocks'> & { blocks: string[] }>;
  peers: BgpPeer[];
  advertisements: BgpAdvertisement[];
  /** Absent in the file of an older agent. */
  services?: ServiceFacts;
  releases: BlockRelease[];
  held?: HeldText[];
  hasReported?: boolean;
  drain?: DrainMemory;
}

export function writeMemory({ knowledge, releases, held, hasReported, drain }: Memory): string {
  const { node, truth, others, peers, advertisements, services } = knowledge;
  const text: MemoryText = {
    version: formatVersion,
    node,
    truth: {
      ...truth,
      blocks: truth.blocks.map(({ prefix, ...rest }) => ({ ...rest, cidr: prefix.toString() })),
    },
    others: others.map((other) => ({
      ...other,
      blocks: other.blocks.map(({ prefix }) => prefix.toString()),
    })),
    peers: [...peers],
    advertisements: [...advertisements],
    services,
    releases: [...releases],
    ...(held === undefined ? {} : { held: held.map(heldText) }),
    hasReported,
    ...(drain === undefined || drain.steps.length === 0 ? {} : { drain }),
  };
  return `${JSON.stringify(text)}\n`;
}

/** What the disk has to have before a block is used, or somebody reads that it is not. */
export function heldText(block: HeldBlock): HeldText {
  const { prefix, holdSinceMs: _, missingSinceMs: __, ...rest } = block;
  return { ...rest, cidr: prefix.toString() };
}

/** Undefined if it is not what `writeMemory` wrote: then there is nothing to go on with. */
export function readMemory(text: string): Memory | undefined {
  let read: MemoryText;
  try {
    read = JSON.parse(text) as MemoryText;
  } catch {
    return undefined;
  }
  if (read?.version !== formatVersion) return undefined;
  const { node, truth, others, peers, advertisements, services, releases, held, drain } = read;
  return {
    knowledge: {
      node,
      truth: {
        ...truth,
        blocks: truth.blocks.flatMap(({ cidr, ...rest }) => {
          const prefix = parsePrefix(cidr);
          return prefix === undefined ? [] : [{ ...rest, prefix }];
        }),
      } as NodeTruth,
      others: others.map((other) => ({
        ...other,
        blocks: other.blocks.flatMap((cidr) => {
          const prefix = parsePrefix(cidr);
          return prefix === undefined ? [] : [{ prefix }];
        }),
      })),
      peers,
      advertisements,
      services: services ?? noServices,
    },
    releases,
    held: held?.flatMap(({ cidr, ...rest }) => {
      const prefix = parsePrefix(cidr);
      return prefix === undefined ? [] : [{ ...rest, prefix }];
    }),
    hasReported: read.hasReported === true,
    drain,
  };
}
