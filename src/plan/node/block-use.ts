/**
 * What a node does with each block that it has used: announce it, give addresses out of it,
 * state it as fenced, claim it. The table of decision 30, as one pure function from what the
 * register says, what is on the node's disk, when the API server last confirmed a block, and
 * what is heard from the routers.
 *
 * A block is used, or it is on hold. A hold is on disk before anybody hears of it.
 *
 *   withheld  the routers, the machine itself or (where time alone releases blocks) the API
 *             server were away for so long that somebody else may have the block. Ends when the
 *             API server confirms it: that a router shows nothing over it proves nothing, because
 *             the block may be free, or given to a node that has yet to announce it.
 *   fencing   withdrawn; the routers have not acknowledged that yet
 *   fenced    withdrawn from every router, and stated so in the NodeReport. Ends in three steps
 *             that are never taken in another order: the API server has accepted a report
 *             without the fence; a read that began after that shows Node and NodeBlock in
 *             order; the block is used.
 */
import type { Block } from '../../model/node-block.ts';
import type { BlockRelease } from '../../model/node-report.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { OwnedBlock, TruthSource } from './node-truth.ts';
import type { RouterContact } from './router-contact.ts';

export type Hold = 'withheld' | 'fencing' | 'fenced';

/** A block that the node uses or has used, as its disk has it. Times are of this run alone. */
export interface HeldBlock {
  readonly prefix: Prefix;
  readonly pool: string;
  /** The NodeBlock's; empty in mode kubernetes. */
  readonly uid: string;
  readonly hold?: Hold;
  /** The register has shown that it is released or cools: when it is gone, it is not lost. */
  readonly hasCooled?: true;
  /** What the node has promised, or is about to: withdrawn after so long unconfirmed. */
  readonly silentAfterSeconds?: number;
  readonly holdSinceMs?: number;
  readonly missingSinceMs?: number;
}

/** The NodeBlocks as the API server has sent them last. */
export interface RegisterView {
  /** Those that name this node, of whatever Node uid and phase. */
  readonly own: readonly Block[];
  /** One of another node that overlaps. */
  ofOthers(prefix: Prefix): Block | undefined;
  /** Whether the API server serves NodeBlocks at all: their definition is there. */
  readonly isServed: boolean;
}

export interface BlockUseInput {
  readonly nowMs: number;
  readonly source: TruthSource;
  /** The API server has sent something within the last minute. */
  readonly isHeard: boolean;
  /** As last heard. */
  readonly isNodeThere: boolean;
  /** What the truth gives the node, as last heard. */
  readonly owned: readonly OwnedBlock[];
  /** Undefined in mode kubernetes, and as long as this run has received nothing. */
  readonly register: RegisterView | undefined;
  readonly before: readonly HeldBlock[];
  /** Emptied and given back: their end is no loss. */
  readonly releases: readonly BlockRelease[];
  readonly podsIn: (prefix: Prefix) => number;
  /** By CIDR: when the last read began that showed Node and NodeBlock in order. */
  readonly confirmedMs: ReadonlyMap<string, number>;
  readonly contact: RouterContact;
  /** Without BGP peers nothing is announced, and no router can testify. */
  readonly hasPeers: boolean;
  readonly delivery: WithdrawalDelivery;
  /** The node was drained: everything is withdrawn and acknowledged. */
  readonly hasWithdrawnBlocks: boolean;
  readonly reported: ReportedPromises;
  readonly limits: BlockUseLimits;
}

/** What became of the last declaration to the routers. */
export interface WithdrawalDelivery {
  readonly declaredMs: number | undefined;
  /** Every established session has acknowledged it. */
  readonly isAcknowledged: boolean;
  /** Every peer has an established session. */
  readonly isEveryPeerUp: boolean;
}

/** What the API server has accepted of this node's reports. */
export interface ReportedPromises {
  /** Whether it ever accepted one: if not, the operator takes the node for one without an agent. */
  readonly hasReported: boolean;
  /** By uid: `silentAfter` of the report that was accepted last; undefined: none in this run. */
  readonly silentAfter: ReadonlyMap<string, number> | undefined;
  /** When the first report without a fence of this uid was accepted, since the last one with it. */
  readonly unfencedMs: (uid: string) => number | undefined;
}

export interface BlockUseLimits {
  /** Without a router for longer, nothing is announced unconfirmed. */
  readonly reconfirmAfterMs: number;
  /** A router without a session has forgotten a route after so long (hold time, graceful restart). */
  readonly routersForgetMs: number;
  /** A lost block without pods is kept for so long: the operator may take it back. */
  readonly missingGraceMs: number;
}

export interface BlockUse {
  /** For the disk, and `before` of the next round. */
  readonly block: HeldBlock;
  readonly isAnnounced: boolean;
  readonly givesOut: boolean;
  /** To be stated in `fenced` of the report, once it is on disk. */
  readonly isFenced: boolean;
  /** To be stated in `uses` of the report. */
  readonly isUsed: boolean;
  /** To be stated in `silentAfter` of the report. */
  readonly silentAfterSeconds?: number;
  /** The API server is to be asked about it now. */
  readonly mustConfirm: boolean;
  /** Why it is not used as usual; `BlockMissing` names the block, which is a finding. */
  readonly why?: { reason: BlockUseReason; detail: string };
}

export type BlockUseReason = Extract<
  Reason,
  'BlockFenced' | 'BlockUnconfirmed' | 'BlockMissing' | 'NodeDraining'
>;

/** A node that never reported is released by time after 3600 s, if its pool does not say otherwise. */
export const unreportedSilentAfterSeconds = 1_800;
/** How long the API server may take to answer whether an address range that a router reaches elsewhere is ours. */
export const hijackPatienceMs = 15_000;

/**
 *   ours       the truth gives it to this node
 *   unbound    the register keeps it for a Node of our name that is gone, or was another one
 *   released   it cools, or a witness has testified
 *   missing    it is not in the register, and nobody has another block over it
 *   elsewhere  the register gives it to another node
 *   revoked    mode kubernetes: the Node does not name it any more
 */
export type Standing = 'ours' | 'unbound' | 'released' | 'missing' | 'elsewhere' | 'revoked';

/** By CIDR. A block that is not there any more is not this node's. */
export function blockUse(input: BlockUseInput): BlockUse[] {
  const known = new Map(input.before.map((block) => [block.prefix.toString(), block]));
  for (const { prefix, pool, uid } of input.owned) {
    const before = known.get(prefix.toString());
    const isCurrent = (entryOf({ prefix }, input)?.uid ?? uid) === uid;
    // Another uid: it was released, or lost, and given to this node anew.
    if (before === undefined || (isCurrent && before.uid !== uid)) {
      known.set(prefix.toString(), { prefix, pool, uid });
    }
  }
  return [...known.values()]
    .map((block) => asRegistered(block, input))
    .sort((a, b) => a.prefix.compare(b.prefix))
    .flatMap((block) => useOf(block, input) ?? []);
}

/**
 * The NodeBlock was lost and is registered anew, and the Node was gone before this agent heard of
 * it: what the report says of the block is of the NodeBlock that there is. A hold is of the
 * routes, and stays.
 */
function asRegistered(block: HeldBlock, input: BlockUseInput): HeldBlock {
  const entry = entryOf(block, input);
  if (entry === undefined || entry.uid === block.uid) return block;
  const { prefix, pool, hold, holdSinceMs } = block;
  return {
    prefix,
    pool,
    uid: entry.uid,
    ...(hold === undefined ? {} : { hold }),
    ...(holdSinceMs === undefined ? {} : { holdSinceMs }),
  };
}

function useOf(before: HeldBlock, input: BlockUseInput): BlockUse | undefined {
  const standing = standingOf(before, input);
  const block = withStanding(before, standing, input);
  if (isOver(block, standing, input)) return undefined;
  const next = nextHold(block, standing, input);
  const { hold } = next;
  const owned = input.owned.find(({ prefix }) => prefix.equals(block.prefix));
  const isDrained = input.hasWithdrawnBlocks && input.isHeard;
  const lifts = canLift(standing, input);
  const pods = () => input.podsIn(block.prefix) > 0;
  const why = whyOf(next, standing, input);
  const stated = wantedSeconds(next, input);
  return {
    block: next,
    isAnnounced: hold === undefined,
    // A drained node keeps serving what runs on every node (DaemonSets), unannounced.
    givesOut:
      standing === 'ours' &&
      owned?.isDraining !== true &&
      (hold === undefined || (hold === 'fenced' && isDrained)),
    isFenced: hold === 'fenced' && block.uid !== '' && standing !== 'missing' && !lifts,
    isUsed:
      standing === 'missing'
        ? hold === undefined || pods()
        : hold === undefined || hold === 'withheld',
    mustConfirm: mustConfirm(next, standing, input),
    ...(stated === undefined ? {} : { silentAfterSeconds: stated }),
    ...(why === undefined ? {} : { why }),
  };
}

function standingOf(block: HeldBlock, input: BlockUseInput): Standing {
  const { prefix } = block;
  const { register, owned, source, isNodeThere } = input;
  const isOwned = owned.some((one) => one.prefix.equals(prefix));
  if (register === undefined) {
    if (isOwned) return isNodeThere ? 'ours' : 'unbound';
    return source === 'register' ? 'missing' : 'revoked';
  }
  const entry = entryOf(block, input);
  if (entry !== undefined) {
    if (entry.phase === 'Cooling' || entry.released !== undefined) return 'released';
    return isOwned && isNodeThere ? 'ours' : 'unbound';
  }
  return register.ofOthers(prefix) === undefined ? 'missing' : 'elsewhere';
}

/** What the register has said of the block, kept on disk. */
function withStanding(before: HeldBlock, standing: Standing, input: BlockUseInput): HeldBlock {
  const { hasCooled, missingSinceMs, silentAfterSeconds: _, ...rest } = before;
  const cooled = standing === 'released' || (hasCooled === true && standing === 'missing');
  // Counted only while the register is heard, and served.
  const isCounted = input.isHeard && input.register?.isServed === true;
  const seconds = promisedSeconds(before, input);
  return {
    ...rest,
    ...(cooled ? { hasCooled: true } : {}),
    ...(seconds === undefined ? {} : { silentAfterSeconds: seconds }),
    ...(standing !== 'missing'
      ? {}
      : { missingSinceMs: isCounted ? (missingSinceMs ?? input.nowMs) : input.nowMs }),
  };
}

/** Half of what the pool's policy is; a promise that somebody may count on is not loosened before the API server has the new one. */
function promisedSeconds(before: HeldBlock, input: BlockUseInput): number | undefined {
  const { uid, silentAfterSeconds: promised } = before;
  const wanted = wantedSeconds(before, input);
  if (promised === undefined || (wanted ?? Number.POSITIVE_INFINITY) <= promised) return wanted;
  const accepted = input.reported.silentAfter;
  return accepted !== undefined && accepted.get(uid) === wanted ? wanted : promised;
}

/** What the report is to state. */
function wantedSeconds(block: HeldBlock, input: BlockUseInput): number | undefined {
  const entry = entryOf(block, input);
  if (entry === undefined) return block.silentAfterSeconds;
  const { releaseByTimeSeconds: seconds = 0 } = entry;
  return seconds === 0 ? undefined : Math.floor(seconds / 2);
}

const entryOf = ({ prefix }: Pick<HeldBlock, 'prefix'>, { register }: BlockUseInput) =>
  register?.own.find((one) => one.prefix.equals(prefix));

/** Whether the node has no more to do with the block. */
function isOver(block: HeldBlock, standing: Standing, input: BlockUseInput): boolean {
  if (standing === 'elsewhere' || standing === 'revoked') return true;
  if (standing !== 'missing') return false;
  const { uid, hasCooled, missingSinceMs = input.nowMs, prefix } = block;
  const isGivenBack = input.releases.some((release) => release.uid === uid);
  if (hasCooled === true || isGivenBack) return input.register !== undefined;
  const isWaitedFor = input.nowMs - missingSinceMs < input.limits.missingGraceMs;
  return !isWaitedFor && input.podsIn(prefix) === 0;
}

function nextHold(block: HeldBlock, standing: Standing, input: BlockUseInput): HeldBlock {
  const { hold: before, holdSinceMs: _, ...rest } = block;
  const hold = holdOf(block, standing, input);
  if (hold === undefined) return rest;
  const isSame = hold === before || (before === 'fencing' && hold === 'fenced');
  return { ...rest, hold, holdSinceMs: (isSame ? block.holdSinceMs : undefined) ?? input.nowMs };
}

function holdOf(block: HeldBlock, standing: Standing, input: BlockUseInput): Hold | undefined {
  const { hold, uid, holdSinceMs = input.nowMs } = block;
  const confirmed = confirmedMs(block, input);
  if (input.hasWithdrawnBlocks && standing !== 'missing') return 'fenced';
  switch (hold) {
    case 'fenced': {
      const unfencedMs = uid === '' ? holdSinceMs : input.reported.unfencedMs(uid);
      const isConfirmed = unfencedMs !== undefined && confirmed > Math.max(unfencedMs, holdSinceMs);
      return canLift(standing, input) && isConfirmed ? undefined : 'fenced';
    }
    case 'fencing':
      // Nobody has been told that it is fenced.
      if (standing === 'ours' && confirmed > holdSinceMs) return undefined;
      return isWithdrawn(block, input) ? 'fenced' : 'fencing';
    default:
      if (standing === 'released' || isTakenElsewhere(block, input)) return 'fencing';
      if (isSilent(block, standing, input)) return 'withheld';
      if (hold === 'withheld') {
        return standing !== 'missing' && confirmed > holdSinceMs ? undefined : 'withheld';
      }
      return isOutOfContact(block, input, input.limits.reconfirmAfterMs) ? 'withheld' : undefined;
  }
}

function canLift(standing: Standing, { isHeard, hasWithdrawnBlocks }: BlockUseInput): boolean {
  return standing === 'ours' && isHeard && !hasWithdrawnBlocks;
}

const confirmedMs = ({ prefix }: HeldBlock, input: BlockUseInput) =>
  input.confirmedMs.get(prefix.toString()) ?? Number.NEGATIVE_INFINITY;

/** Of a router without a session only time says that it has forgotten the route. */
function isWithdrawn({ holdSinceMs }: HeldBlock, input: BlockUseInput): boolean {
  const { declaredMs, isAcknowledged, isEveryPeerUp } = input.delivery;
  if (holdSinceMs === undefined || declaredMs === undefined || declaredMs < holdSinceMs) {
    return false;
  }
  if (!input.hasPeers) return true;
  const isForgotten = input.nowMs - holdSinceMs >= input.limits.routersForgetMs;
  return isAcknowledged && (isEveryPeerUp || isForgotten);
}

/** A router that reaches the block elsewhere, since before the API server said that it is ours. */
function isTakenElsewhere(block: HeldBlock, input: BlockUseInput): boolean {
  const confirmed = confirmedMs(block, input);
  return hijacksOf(block, input).some(({ sinceMs }) => {
    if (confirmed > sinceMs) return false;
    return !input.isHeard || input.nowMs - sinceMs >= hijackPatienceMs;
  });
}

function hijacksOf({ prefix }: HeldBlock, { contact }: BlockUseInput) {
  const cidr = prefix.toString();
  return contact.hijacks.filter((one) => one.cidr === cidr);
}

/** Unconfirmed for longer than the operator, if time alone releases the block, relies on. */
function isSilent(block: HeldBlock, standing: Standing, input: BlockUseInput): boolean {
  // Time releases no NodeBlock that does not exist.
  if (standing === 'missing') return false;
  return input.nowMs - confirmedMs(block, input) > silenceMs(block, input);
}

function silenceMs(block: HeldBlock, input: BlockUseInput): number {
  const { uid, silentAfterSeconds: seconds } = block;
  const { hasReported, silentAfter } = input.reported;
  if (uid === '') return Number.POSITIVE_INFINITY;
  if (hasReported) {
    // What is on disk from an earlier run may have been accepted.
    const isStated = silentAfter === undefined || silentAfter.has(uid);
    return seconds === undefined || !isStated ? Number.POSITIVE_INFINITY : seconds * 1_000;
  }
  if (entryOf(block, input)?.releaseByTimeSeconds === 0) return Number.POSITIVE_INFINITY;
  return (seconds ?? unreportedSilentAfterSeconds) * 1_000;
}

/** No sign for so long that the block is still this node's: no session, and no confirmation. */
function isOutOfContact(block: HeldBlock, input: BlockUseInput, limitMs: number): boolean {
  if (!input.hasPeers) return false;
  const upMs = input.contact.lastUpMs ?? Number.NEGATIVE_INFINITY;
  return input.nowMs - Math.max(Math.min(upMs, input.nowMs), confirmedMs(block, input)) > limitMs;
}

function mustConfirm(block: HeldBlock, standing: Standing, input: BlockUseInput): boolean {
  if (standing !== 'ours') return false;
  const confirmed = confirmedMs(block, input);
  if (block.hold === 'fenced') {
    if (!canLift(standing, input)) return false;
    return block.uid === '' || input.reported.unfencedMs(block.uid) !== undefined;
  }
  return (
    block.hold !== undefined ||
    hijacksOf(block, input).some(({ sinceMs }) => confirmed <= sinceMs) ||
    input.nowMs - confirmed > silenceMs(block, input) / 2 ||
    isOutOfContact(block, input, input.limits.reconfirmAfterMs / 2)
  );
}

function whyOf(block: HeldBlock, standing: Standing, input: BlockUseInput): BlockUse['why'] {
  const { hold, prefix } = block;
  const fenced = (why: string) => {
    const done = hold === 'fenced' ? 'withdrawn' : 'being withdrawn';
    const detail = `it is ${done}, because ${why}; it is used again when the API server confirms it`;
    return { reason: 'BlockFenced' as const, detail };
  };
  if (standing === 'missing') {
    const detail = `${prefix} is not in the register any more, though this node did not give it back (a deleted object, a deleted definition, or a restored backup): the node claims it, keeps its pods and gives out no new addresses of it`;
    return { reason: 'BlockMissing', detail };
  }
  if (hold === undefined) return undefined;
  if (hold === 'withheld') {
    const detail = isSilent(block, standing, input)
      ? `its pool releases blocks by time (releaseByTimeSeconds), and the API server has not confirmed it for ${silenceMs(block, input) / 1_000} s`
      : `this node was off, or without a session to any router, for longer than ${input.limits.reconfirmAfterMs / 1_000} s, and the API server has not confirmed the block since`;
    return { reason: 'BlockUnconfirmed', detail };
  }
  if (standing === 'released') return fenced('its NodeBlock is Cooling or released');
  if (input.hasWithdrawnBlocks) {
    return { reason: 'NodeDraining', detail: 'the node is drained; its routes are withdrawn' };
  }
  const [hijack] = hijacksOf(block, input);
  if (hijack !== undefined) {
    return fenced(`${hijack.peer} reaches ${hijack.prefix} at ${hijack.nextHop}`);
  }
  return fenced('it was released, or a router reached it at another node');
}
