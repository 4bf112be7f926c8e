/**
 * The blocks that the address book gives addresses out of, the pods in them, and the blocks that
 * are given back (cluster-pool-v2). An agent that only announces has no address book: every block
 * may have pods then, and none is ever given back.
 *
 * A block is given back between two requests for an address: `chooseReleases` and `set` are called
 * in one step, without a pause, or a pod could get an address of a block that was just found empty.
 */
import type { Log } from '../base/log.ts';
import type { BlockRelease } from '../model/node-report.ts';
import type { Address } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';
import { nextReleases } from '../plan/blocks/give-back.ts';
import type { OwnedBlock } from '../plan/node/node-truth.ts';
import type { PodBlockUse } from '../plan/pod-address/pod-address.ts';
import { type PodDemand, podDemand } from '../plan/pod-address/pod-address-demand.ts';
import type { AddressBook } from './address-book.ts';
import type { AgentSettings } from './agent-settings.ts';
import { describeUnknownOwners } from './unknown-owners.ts';

interface PodBlocksOptions {
  book: AddressBook | undefined;
  log: Log;
  settings: Pick<AgentSettings, 'byDemand' | 'preAllocate' | 'reserved'>;
}

export class PodBlocks {
  readonly #o: PodBlocksOptions;
  #releases: readonly BlockRelease[] = [];
  /** What the address book has; empty before the first block. */
  #blocksText = '';

  constructor(options: PodBlocksOptions) {
    this.#o = options;
  }

  /** What an earlier run has given back. */
  resume(releases: readonly BlockRelease[]): void {
    if (this.#o.book !== undefined) this.#releases = releases;
  }

  /** Blocks that are given back, until the register has taken them. */
  get releases(): readonly BlockRelease[] {
    return this.#releases;
  }

  get use(): PodBlockUse[] {
    return this.#o.book?.use() ?? [];
  }

  /** Undefined if it only announces. */
  get journal(): AddressBook['journal'] | undefined {
    return this.#o.book?.journal;
  }

  /** Why blocks give nothing new since the journal of addresses was damaged, if so. */
  get unknownOwners(): string | undefined {
    const unknown = this.#o.book?.unknownOwners;
    return unknown && describeUnknownOwners(unknown);
  }

  get hasBlocks(): boolean {
    return this.#blocksText !== '';
  }

  /** The numbers of pods and of addresses in cool-down, to see whether they have changed. */
  get countsText(): string {
    return this.use.map(({ pods, resting }) => `${pods}+${resting}`).join(' ');
  }

  *pods(): Iterable<{ who: string; addresses: readonly Address[] }> {
    for (const { owner, addresses, attachment } of this.#o.book?.remembered() ?? []) {
      yield { who: attachment?.pod ?? owner, addresses };
    }
  }

  podsIn(prefix: Prefix): number {
    const { book } = this.#o;
    // Not known to be empty.
    if (book === undefined) return 1;
    let pods = book.unknownOwnersIn(prefix);
    for (const { addresses } of this.pods()) {
      if (addresses.some((address) => prefix.contains(address))) pods += 1;
    }
    return pods;
  }

  /**
   * What the node needs, and by that which of its blocks it gives back. Nothing is given back
   * because the Node is gone: if it stays so the register says it, by letting the block cool;
   * after a restore of etcd the Node comes back.
   */
  chooseReleases(
    owned: readonly OwnedBlock[],
    isNodeThere: boolean,
  ): {
    hasPods: boolean;
    /** Only where blocks are given by demand. */
    demand: PodDemand | undefined;
  } {
    if (this.#o.book === undefined) return { hasPods: true, demand: undefined };
    const { byDemand, preAllocate } = this.#o.settings;
    const use = this.#useOf(owned);
    const demand = byDemand ? podDemand(use, preAllocate) : undefined;
    const given = isNodeThere ? use : [];
    this.#releases = nextReleases({ owned, use: given, before: this.#releases, demand });
    return { hasPods: use.some(({ pods }) => pods > 0), demand };
  }

  /** From now on addresses are given out of these; not of those that drain or are given back. */
  set(all: readonly OwnedBlock[]): void {
    const blocks = all.map(({ prefix, isDraining, uid }) => ({
      prefix,
      isDraining: isDraining || (uid !== '' && this.#isGivenBack(uid)),
    }));
    const text = blocks.map(({ prefix, isDraining }) => `${prefix} ${isDraining}`).join();
    if (text === this.#blocksText) return;
    this.#blocksText = text;
    this.#o.book?.setBlocks(blocks, this.#o.settings.reserved);
    const cidrs = blocks.map(({ prefix }) => `${prefix}`);
    this.#o.log.info({ blocks: cidrs }, 'the blocks of this node');
  }

  /** A block on hold gives out nothing, as one that drains; but only the register drains a block. */
  #useOf(owned: readonly OwnedBlock[]): PodBlockUse[] {
    return this.use.map((use) => {
      const block = owned.find(({ prefix }) => prefix.equals(use.prefix));
      const isDraining = block === undefined || block.isDraining || this.#isGivenBack(block.uid);
      return { ...use, isDraining };
    });
  }

  #isGivenBack(uid: string): boolean {
    return this.#releases.some((release) => release.uid === uid);
  }
}
