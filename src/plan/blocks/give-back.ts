import type { BlockRelease } from '../../model/node-report.ts';
import type { OwnedBlock } from '../node/node-truth.ts';
import type { PodBlockUse } from '../pod-address/pod-address.ts';
import { blocksToGiveBack, type PodDemand } from '../pod-address/pod-address-demand.ts';

export interface GiveBackInput {
  readonly owned: readonly OwnedBlock[];
  readonly use: readonly PodBlockUse[];
  /** What was given back before, and may have been reported already. */
  readonly before: readonly BlockRelease[];
  /** undefined: this mode gives back only what the register drains. */
  readonly demand: PodDemand | undefined;
}

const everything: PodDemand = { ipv4: Number.MAX_SAFE_INTEGER, ipv6: Number.MAX_SAFE_INTEGER };

/**
 * The blocks that the node gives back. A word once given is kept until that very
 * NodeBlock is gone: the operator may have acted on it already. The caller stops
 * giving addresses out of them at the same time.
 */
export function nextReleases({ owned, use, before, demand }: GiveBackInput): BlockRelease[] {
  const kept = before.filter(({ uid }) => owned.some((block) => block.uid === uid));
  const rest = use.filter(({ prefix }) => !kept.some(({ cidr }) => cidr === prefix.toString()));
  const fresh = blocksToGiveBack(rest, demand ?? everything).flatMap((prefix) => {
    const block = owned.find((one) => one.prefix.equals(prefix));
    // Without a uid there is no NodeBlock to give back (mode kubernetes).
    return block === undefined || block.uid === ''
      ? []
      : [{ cidr: prefix.toString(), uid: block.uid }];
  });
  return [...kept, ...fresh].sort((a, b) => (a.cidr < b.cidr ? -1 : 1));
}
