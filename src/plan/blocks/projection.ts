import type { CiliumNode } from '../../model/cilium-node.ts';
import { podCidrAnnotations } from '../../model/keys.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { parseAddress } from '../../net/address.ts';
import { type Family, families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';

/**
 * Projections: copies of the register for those who read elsewhere. They are
 * written from the register and never read as truth. Each can be switched off.
 *
 * A projection is a JSON patch that tests what it replaces and whose node it is
 * (RFC 6902 `test`; a missing value tests as null). So a patch made from a stale
 * cache is refused as a whole, heartbeats of the kubelet do not disturb it, and
 * a node of the same name but another uid is never written to.
 */
export interface ProjectionSwitches {
  annotations: boolean;
  nodeSpec: boolean;
  ciliumNode: boolean;
  /** Mode multi-pool: see pool-projection.ts. */
  ciliumPools?: boolean;
}

export interface PatchOperation {
  op: 'test' | 'add' | 'remove';
  path: string;
  value?: unknown;
}

export type Projection =
  | { kind: 'none' }
  /** `overwrites`: the CIDRs that a record names and the register does not. */
  | { kind: 'patch'; operations: PatchOperation[]; overwrites: string[] };

/**
 * What records are to say of the blocks that a node keeps. One that drains gives out
 * nothing any more, so records name what takes its place. The CiliumNode goes on naming
 * it for as long as the agent's own address (CiliumInternalIP) lies in it: routers and
 * other nodes follow CiliumNode, and pods live there until the agent starts again. The
 * agent then takes the first block of a family, so the new one comes first.
 */
export function projectedBlocks(
  keep: readonly Pick<Block, 'prefix' | 'phase'>[],
  cilium: CiliumNode | undefined,
): { onNode: Prefix[]; onCilium: Prefix[] } {
  const isReplaced = ({ prefix: { family }, phase }: (typeof keep)[number]) =>
    phase === 'Draining' &&
    keep.some((other) => other.phase !== 'Draining' && other.prefix.family === family);
  const onNode = keep.filter((one) => !isReplaced(one)).map(({ prefix }) => prefix);
  const internal = (cilium?.internalIps ?? []).flatMap((text) => parseAddress(text) ?? []);
  const served = keep
    .filter((one) => isReplaced(one) && internal.some((own) => one.prefix.contains(own)))
    .map(({ prefix }) => prefix);
  return { onNode: onNode.sort(byFamily), onCilium: [...onNode, ...served].sort(byFamily) };
}

/** Oldest first within a family (the sort is stable), IPv4 before IPv6. */
function byFamily(a: Prefix, b: Prefix): number {
  return a.family === b.family ? 0 : a.family === 'ipv4' ? -1 : 1;
}

/** The one block per family that single-valued records can carry: the oldest. */
function firstOf(blocks: readonly Prefix[], family: Family): Prefix | undefined {
  return blocks.find((prefix) => prefix.family === family);
}

/**
 * The patch on the Node itself. `complete` says that every family is there:
 * Node.spec.podCIDRs can be set only once, with both families in one patch.
 */
export function projectOnNode(
  node: ClusterNode,
  blocks: readonly Prefix[],
  complete: boolean,
  switches: ProjectionSwitches,
): Projection {
  const operations: PatchOperation[] = [];
  const overwrites: string[] = [];
  const wanted: Record<string, string> = {};
  if (switches.annotations) {
    for (const family of families) {
      const prefix = firstOf(blocks, family);
      if (prefix === undefined) continue;
      for (const key of podCidrAnnotations[family]) wanted[key] = prefix.toString();
    }
  }
  const stale = Object.entries(wanted).filter(([key, value]) => node.annotations[key] !== value);
  if (stale.length > 0 && !node.hasAnnotations) {
    operations.push(
      { op: 'test', path: '/metadata/annotations', value: null },
      { op: 'add', path: '/metadata/annotations', value: wanted },
    );
  } else {
    for (const [key, value] of stale) {
      const path = `/metadata/annotations/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      const before = node.annotations[key];
      if (before !== undefined) overwrites.push(before);
      operations.push({ op: 'test', path, value: before ?? null }, { op: 'add', path, value });
    }
  }
  if (switches.nodeSpec && complete && node.podCidrs.length === 0) {
    const podCIDRs = families.flatMap((family) => firstOf(blocks, family)?.toString() ?? []);
    if (podCIDRs.length > 0) {
      operations.push(
        { op: 'test', path: '/spec/podCIDR', value: null },
        { op: 'add', path: '/spec/podCIDR', value: podCIDRs[0] },
        { op: 'add', path: '/spec/podCIDRs', value: podCIDRs },
      );
    }
  }
  if (operations.length === 0) return { kind: 'none' };
  operations.unshift({ op: 'test', path: '/metadata/uid', value: node.uid });
  return { kind: 'patch', operations, overwrites };
}

/** Node.spec.podCIDRs that say something else and that the API server will never let us change. */
export function immutableDisagreement(
  node: ClusterNode,
  blocks: readonly Prefix[],
  switches: ProjectionSwitches,
): string | undefined {
  if (!switches.nodeSpec || node.podCidrs.length === 0) return undefined;
  const theirs = node.podCidrs.map((text) => parsePrefix(text));
  const isWrong = theirs.some((one) => one === undefined || !blocks.some((own) => own.equals(one)));
  // A family cannot be added later either.
  const lacks = blocks.some((own) => !theirs.some((one) => one?.family === own.family));
  if (blocks.length === 0 || !(isWrong || lacks)) return undefined;
  return `Node.spec.podCIDRs of ${node.name} is ${node.podCidrs.join(', ')} and cannot be changed to ${blocks.join(', ')} while the Node exists`;
}

/**
 * The CiliumNode with all blocks of the node. It is never made: Cilium's agent makes its own
 * before it asks for a block, in every mode that reads it. Where there is none runs no agent,
 * and one of ours would tell the others of a node without addresses.
 */
export function projectOnCiliumNode(
  cilium: CiliumNode | undefined,
  blocks: readonly Prefix[],
  switches: ProjectionSwitches,
): Projection {
  if (!switches.ciliumNode || blocks.length === 0 || cilium === undefined) return { kind: 'none' };
  const podCIDRs = blocks.map((prefix) => prefix.toString());
  if (
    podCIDRs.length === cilium.podCidrs.length &&
    podCIDRs.every((c) => cilium.podCidrs.includes(c))
  ) {
    return { kind: 'none' };
  }
  const operations: PatchOperation[] = [{ op: 'test', path: '/metadata/uid', value: cilium.uid }];
  const replace = (path: string, before: unknown, value: unknown) =>
    operations.push({ op: 'test', path, value: before }, { op: 'add', path, value });
  if (!cilium.hasSpec) replace('/spec', null, { ipam: { podCIDRs } });
  else if (!cilium.hasIpam) replace('/spec/ipam', null, { podCIDRs });
  else replace('/spec/ipam/podCIDRs', cilium.hasPodCidrs ? [...cilium.podCidrs] : null, podCIDRs);
  const overwrites = cilium.podCidrs.filter((text) => !podCIDRs.includes(text));
  return { kind: 'patch', operations, overwrites };
}
