/**
 * What this node does with its blocks, from round to round: gathers what `plan/node/block-use`
 * judges by, keeps what it answers, and asks the API server about the blocks that it wants
 * confirmed. The caller puts the answer on disk before it acts on it.
 */
import { bootClock } from '../base/boot-clock.ts';
import type { BlockRelease, NodeReport } from '../model/node-report.ts';
import { maxReported } from '../model/node-report-schema.ts';
import { type Family, families } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Finding } from '../plan/blocks/finding.ts';
import {
  type BlockUse,
  type BlockUseLimits,
  blockUse,
  type HeldBlock,
  type RegisterView,
  type WithdrawalDelivery,
} from '../plan/node/block-use.ts';
import type { NodePeer } from '../plan/node/node-peers.ts';
import type { OwnedBlock } from '../plan/node/node-truth.ts';
import type { RouterContact } from '../plan/node/router-contact.ts';
import type { AcceptedReport } from './accepted-report.ts';
import { type AgentSettings, usualAgentPace, usualReconfirmAfterMs } from './agent-settings.ts';
import type { AgentState } from './agent-status.ts';
import type { AgentWorld } from './agent-world.ts';
import { BlockConfirmation } from './block-confirmation.ts';
import { ContactFile, type LastContact } from './contact-file.ts';
import type { Knowledge, Memory } from './knowledge.ts';

interface BlockUsageOptions
  extends Pick<AgentWorld, 'client' | 'clock' | 'random' | 'log' | 'files' | 'boot'> {
  settings: AgentSettings;
  accepted: AcceptedReport;
  /** The API server has confirmed blocks. */
  onConfirmed: () => void;
}

export interface UsageRound {
  readonly knowledge: Knowledge;
  readonly register: RegisterView | undefined;
  readonly isNodeThere: boolean;
  readonly isHeard: boolean;
  /** When the lists began that the caches had at first; undefined before they were read. */
  readonly listedMs: number | undefined;
  readonly releases: readonly BlockRelease[];
  readonly podsIn: (prefix: Prefix) => number;
  readonly peers: readonly NodePeer[];
  /** `wasLost`: no router for longer than the limit, by whichever clock; one may be back. */
  readonly contact: RouterContact & { readonly wasLost: boolean };
  readonly delivery: WithdrawalDelivery;
  readonly hasWithdrawnBlocks: boolean;
}

export class BlockUsage {
  readonly #o: BlockUsageOptions;
  readonly #confirmation: BlockConfirmation;
  readonly #contactFile: ContactFile;
  readonly #stopping = new AbortController();
  #held: readonly HeldBlock[] = [];
  #before: readonly HeldBlock[] = [];
  #uses: readonly BlockUse[] = [];
  #limits: BlockUseLimits;
  /** When there was a session, as this round was judged by. */
  #upMs: number | undefined;
  #derived: { from: Knowledge; text: string; knowledge: Knowledge } | undefined;
  #missing = '';

  constructor(options: BlockUsageOptions) {
    this.#o = options;
    const { settings, files, clock, log, boot = bootClock } = options;
    const { nodeName, rules, stateFolder: folder } = settings;
    this.#confirmation = new BlockConfirmation({ ...options, nodeName, source: rules.source });
    this.#contactFile = new ContactFile({ files, clock, boot, log, folder });
    this.#limits = this.#limitsOf([]);
  }

  /**
   * What an earlier run has left on disk. After another boot nothing is used unconfirmed.
   * Returned: when that run, of the same boot, had contact last.
   */
  async load(memory: Memory): Promise<LastContact | undefined> {
    const { clock, accepted } = this.#o;
    const { blocks } = memory.knowledge.truth;
    accepted.hasReported = memory.hasReported;
    const contact = await this.#contactFile.load();
    const holdSinceMs = clock.monotonicMs();
    const held: readonly HeldBlock[] =
      memory.held ?? blocks.map(({ prefix, pool, uid }) => ({ prefix, pool, uid }));
    this.#held = held.map((block) => {
      const hold = block.hold ?? (contact === undefined ? 'withheld' : undefined);
      return hold === undefined ? block : { ...block, hold, holdSinceMs };
    });
    if (contact?.confirmedMs !== undefined) {
      this.#confirmation.note(
        held.map(({ prefix }) => prefix),
        contact.confirmedMs,
      );
    }
    return contact;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /**
   * Another machine has the Node: nothing is used again, by a later run either, before the API
   * server has confirmed it. Whether that is news for the disk.
   */
  withholdAll(): boolean {
    if (this.#held.every(({ hold }) => hold !== undefined)) return false;
    const holdSinceMs = this.#o.clock.monotonicMs();
    this.#held = this.#held.map((block) =>
      block.hold === undefined ? { ...block, hold: 'withheld', holdSinceMs } : block,
    );
    return true;
  }

  get held(): readonly HeldBlock[] {
    return this.#held;
  }

  /** Blocks that the register has lost. */
  *findings(node: string): Iterable<Finding> {
    for (const { block, why } of this.#uses) {
      if (why?.reason !== 'BlockMissing') continue;
      yield { ...why, reason: 'BlockMissing', nodes: [node], cidr: block.prefix.toString() };
    }
  }

  /** The knowledge with the blocks as they are used; the very same object as long as nothing changes. */
  judge(round: UsageRound): Knowledge {
    const { knowledge, listedMs, isHeard, register, contact } = round;
    const { clock, settings, accepted } = this.#o;
    const owned = knowledge.truth.blocks;
    const nowMs = clock.monotonicMs();
    // A machine that was paused counts its confirmations by a clock that stood still.
    if (round.contact.wasLost) this.#confirmation.forget();
    if (listedMs !== undefined) this.#confirmation.note(usable(owned, register), listedMs);
    this.#limits = this.#limitsOf(round.peers);
    this.#before = this.#held;
    this.#uses = blockUse({
      nowMs,
      source: settings.rules.source,
      isHeard,
      isNodeThere: round.isNodeThere,
      owned,
      register,
      before: this.#held,
      releases: round.releases,
      podsIn: round.podsIn,
      confirmedMs: this.#confirmation.confirmedMs,
      contact,
      hasPeers: round.peers.length > 0,
      delivery: round.delivery,
      hasWithdrawnBlocks: round.hasWithdrawnBlocks,
      reported: accepted,
      limits: this.#limits,
    });
    // Not later: what happens after this judgement must not be forgotten with this process.
    const { lastUpMs } = contact;
    this.#upMs = lastUpMs === undefined ? undefined : Math.min(lastUpMs, nowMs);
    this.#held = this.#uses.map(({ block }) => block);
    this.#logMissing();
    const asked = this.#uses.filter(({ mustConfirm }) => mustConfirm);
    this.#confirmation.ask(
      asked.map(({ block }) => block.prefix),
      this.#stopping.signal,
    );
    return this.#derive(knowledge);
  }

  /** Without a router for longer, blocks are announced only after they are confirmed. */
  get reconfirmAfterMs(): number {
    return this.#limits.reconfirmAfterMs;
  }

  /** Whether this round's judgement is on disk. If not, no hold ends with it. */
  async settle(isSaved: boolean): Promise<void> {
    if (!isSaved) {
      const held = new Map(this.#before.map((block) => [block.prefix.toString(), block]));
      this.#uses = this.#uses.map((use) => {
        const before = held.get(use.block.prefix.toString());
        if (use.block.hold !== undefined || before?.hold === undefined) return use;
        return { ...use, block: before, isAnnounced: false };
      });
      this.#held = this.#uses.map(({ block }) => block);
      return;
    }
    const confirmed = this.#held.map(
      ({ prefix }) => this.#confirmation.confirmedMs.get(prefix.toString()) ?? -Infinity,
    );
    const finite = (ms = Number.NaN) => (Number.isFinite(ms) ? ms : undefined);
    const contact = { upMs: finite(this.#upMs), confirmedMs: finite(Math.min(...confirmed)) };
    await this.#contactFile.save(contact, this.#limits.reconfirmAfterMs / 4);
  }

  /** Whether the routers' acknowledgement of a withdrawal is waited for. */
  get isUnderWay(): boolean {
    return this.#held.some(({ hold }) => hold === 'fencing');
  }

  /** Whether something changes here when the API server accepts a report. */
  get awaitsReport(): boolean {
    return this.#held.some(
      ({ hold, silentAfterSeconds }) => hold === 'fenced' || silentAfterSeconds !== undefined,
    );
  }

  /** What the operator counts on. What is not on disk is not promised. */
  promises(
    isSaved: boolean,
  ): Required<Pick<NodeReport, 'uses' | 'fenced' | 'silentAfter' | 'reconfirmAfterSeconds'>> {
    const entry = ({ block: { prefix, uid } }: BlockUse) => ({ cidr: prefix.toString(), uid });
    // Who only announces does not know whether pods use a block.
    const known = this.#o.settings.scope === 'announcements' ? [] : this.#uses;
    const used = known.filter(({ isUsed }) => isUsed).slice(0, maxReported);
    const fenced = isSaved ? known.filter(({ isFenced }) => isFenced) : [];
    const silent = isSaved ? this.#uses : [];
    return {
      uses: used.map((use) => (use.block.uid === '' ? { cidr: entry(use).cidr } : entry(use))),
      fenced: fenced.map(entry),
      silentAfter: silent.flatMap((use) =>
        use.silentAfterSeconds === undefined
          ? []
          : [{ ...entry(use), seconds: use.silentAfterSeconds }],
      ),
      reconfirmAfterSeconds: Math.ceil(this.#limits.reconfirmAfterMs / 1_000),
    };
  }

  isAnnounced(cidr: string): boolean {
    return this.#uses.some((use) => use.isAnnounced && use.block.prefix.toString() === cidr);
  }

  /** By CIDR, of the blocks that are not announced. */
  get onHold(): Map<string, NonNullable<BlockUse['why']>> {
    return new Map(
      this.#uses.flatMap(({ block, isAnnounced, why }) =>
        isAnnounced || why === undefined ? [] : [[block.prefix.toString(), why]],
      ),
    );
  }

  /** Not ready, where the blocks on hold are all that a family has. */
  stateOf(state: AgentState): AgentState {
    const idle = this.#uses.find(({ why, givesOut }) => why !== undefined && !givesOut);
    if (!state.isReady || idle?.why === undefined) return state;
    const { families: wanted } = this.#o.settings.rules;
    const isServed = (family: Family) =>
      this.#uses.some(({ block, givesOut }) => givesOut && block.prefix.family === family);
    const served = families.filter(isServed);
    const isEnough =
      wanted === 'auto' ? served.length > 0 : [...wanted].every((one) => served.includes(one));
    if (isEnough) return state;
    const { reason, detail } = idle.why;
    return { isReady: false, reason, detail: `${idle.block.prefix} is not in use: ${detail}` };
  }

  #derive(from: Knowledge): Knowledge {
    const blocks = this.#uses.map(({ block: { prefix, pool, uid }, givesOut }) => ({
      prefix,
      pool,
      uid,
      isDraining: !givesOut,
    }));
    const text = blocks
      .map(({ prefix, uid, isDraining }) => `${prefix} ${uid} ${isDraining}`)
      .join();
    if (this.#derived?.from !== from || this.#derived.text !== text) {
      this.#derived = { from, text, knowledge: { ...from, truth: { ...from.truth, blocks } } };
    }
    return this.#derived.knowledge;
  }

  /** A session seems established here for at most a hold time after the router has ended it. */
  #limitsOf(peers: readonly NodePeer[]): BlockUseLimits {
    const { reconfirmAfterMs = usualReconfirmAfterMs, pace } = this.#o.settings;
    const longest = (of: (peer: NodePeer) => number) => Math.max(0, ...peers.map(of)) * 1_000;
    return {
      reconfirmAfterMs: Math.max(
        reconfirmAfterMs,
        longest(({ holdSeconds = 0 }) => holdSeconds),
      ),
      routersForgetMs: longest(
        ({ holdSeconds = 0, gracefulRestartSeconds = 0 }) => holdSeconds + gracefulRestartSeconds,
      ),
      missingGraceMs: pace?.missingGraceMs ?? usualAgentPace.missingGraceMs,
    };
  }

  #logMissing(): void {
    const missing = this.#uses
      .filter(({ why }) => why?.reason === 'BlockMissing')
      .map(({ block }) => block.prefix.toString());
    const before = this.#missing === '' ? [] : this.#missing.split(' ');
    this.#missing = missing.join(' ');
    for (const cidr of before.filter((one) => !missing.includes(one))) {
      const isBack = this.#uses.some(({ block }) => block.prefix.toString() === cidr);
      const fields = { reason: 'BlockMissing', block: cidr };
      if (isBack) this.#o.log.info(fields, `${cidr} is in the register again`);
      else this.#o.log.warn(fields, `${cidr} is given up: no pod is left, or another node has it`);
    }
  }
}

/** What the register gives this node, and nobody has testified against. */
function usable(owned: readonly OwnedBlock[], register: RegisterView | undefined): Prefix[] {
  const isReleased = (uid: string) =>
    register?.own.some((block) => block.uid === uid && block.released !== undefined) === true;
  return owned.filter(({ uid }) => !isReleased(uid)).map(({ prefix }) => prefix);
}
