/**
 * Frees what nobody will ask us to free, now and then, and when the runtime says
 * what it still knows (GC); and looks after what other programs did.
 */
import { describeError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { hostLinkName } from '../../kernel/link.ts';
import { podRouteProtocol } from '../../kernel/route.ts';
import type { AddressBook } from '../address-book.ts';
import type { Allocation } from '../allocation.ts';
import type { CniConfig } from './cni-call.ts';
import type { OwnerTurns } from './owner-turns.ts';
import type { PodRemoval } from './pod-removal.ts';
import type { PodRepairer } from './pod-repairer.ts';
import type { Strays } from './strays.ts';

export type SweepDriver = Pick<Kernel, 'links' | 'link' | 'routes' | 'addresses' | 'hasNamespace'>;

interface SweeperOptions {
  book: AddressBook;
  driver: SweepDriver;
  turns: OwnerTurns;
  removal: PodRemoval;
  strays: Strays;
  repairer: PodRepairer;
  log: Log;
}

export class Sweeper {
  readonly #o: SweeperOptions;
  /** Owners of addresses alone whose namespace was there at the last look. */
  #living = new Set<string>();

  constructor(options: SweeperOptions) {
    this.#o = options;
  }

  /** An owner of addresses alone, and his namespace, were seen. */
  saw(owner: string): void {
    this.#living.add(owner);
  }

  /** What the runtime does not know any more is freed. What is being added now is not its business. */
  async collect({ network, validAttachments }: CniConfig): Promise<void> {
    const known = new Set(
      validAttachments.map(({ containerID, ifname }) => `${containerID}/${ifname}`),
    );
    const gone = (await this.#o.book.list()).filter(({ attachment, expiresAtMs }) => {
      if (attachment?.network !== network || expiresAtMs !== undefined) return false;
      return !known.has(`${attachment.containerId}/${attachment.ifname}`);
    });
    await this.#removeAll(gone);
  }

  /**
   * Frees ADDs that were cut off, and pods whose namespace is gone. The path alone
   * is no proof, because an agent that lost sight of the folder would cut off every
   * pod: a namespace that is really gone has taken both ends of the pod's interface
   * with it. Where another plugin made the interface, we must have seen the
   * namespace there before.
   */
  async sweep(): Promise<number> {
    const { book, driver, repairer, strays, removal } = this.#o;
    const unclear = await this.#claimWired();
    const gone = book.tick().filter(({ owner }) => !unclear.has(owner));
    const living = new Set<string>();
    for (const allocation of await book.list()) {
      const { attachment, expiresAtMs, generation } = allocation;
      if (attachment === undefined || gone.includes(allocation)) continue;
      if (removal.isUnfreed(generation)) gone.push(allocation);
      if (expiresAtMs !== undefined || gone.includes(allocation)) continue;
      const isLiving = await driver.hasNamespace(attachment.netns);
      if (isLiving && attachment.addressesOnly) living.add(allocation.owner);
      if (await this.#isGone(allocation, isLiving)) gone.push(allocation);
    }
    this.#living = living;
    await this.#removeAll(gone);
    const [links, routes, addresses] = await Promise.all([
      driver.links(),
      driver.routes({ protocol: podRouteProtocol }),
      driver.addresses(),
    ]);
    await repairer.look({ links, routes, addresses });
    return gone.length + (await strays.look(links, routes));
  }

  /**
   * ADDs whose claim a crash or a full disk has lost, if they had one: where there
   * is an interface the pod may live, and is not cut off. What is not finished of
   * it the repairer finishes; the runtime deletes it if it never heard of it.
   * Returns the owners of whom it cannot be said now.
   */
  async #claimWired(): Promise<Set<string>> {
    const { book, driver, turns, log } = this.#o;
    const unclear = new Set<string>();
    for (const { owner, attachment, expiresAtMs } of [...book.remembered()]) {
      if (expiresAtMs === undefined || attachment === undefined) continue;
      if (attachment.addressesOnly || turns.isBusy(owner)) continue;
      const hostIfName = hostLinkName(attachment.containerId, attachment.ifname);
      await turns
        .take(owner, async () => {
          if ((await driver.link(hostIfName)) !== undefined) book.claimSoon(owner);
        })
        .catch((error) => {
          unclear.add(owner);
          log.warn(
            { owner, error: describeError(error) },
            'could not look for the interface of a pod; the next sweep looks again',
          );
        });
    }
    return unclear;
  }

  async #isGone(allocation: Allocation, isLiving: boolean): Promise<boolean> {
    const { owner, attachment } = allocation;
    const { driver } = this.#o;
    if (attachment === undefined || isLiving || attachment.netns === '') return false;
    if (attachment.addressesOnly) return this.#living.has(owner);
    const hostIfName = hostLinkName(attachment.containerId, attachment.ifname);
    return (await driver.link(hostIfName)) === undefined;
  }

  async #removeAll(gone: readonly Allocation[]): Promise<void> {
    const { book, turns, removal, log } = this.#o;
    let failure: unknown;
    for (const { owner, attachment, generation } of gone) {
      if (attachment === undefined || turns.isBusy(owner)) continue;
      const hostIfName = hostLinkName(attachment.containerId, attachment.ifname);
      await turns
        .take(owner, async () => {
          // It may have been deleted, and added anew, while we waited.
          if (book.find(owner)?.generation !== generation) return;
          await removal.remove({ owner, hostIfName }, attachment.addressesOnly === true);
        })
        .catch((error) => {
          failure = error;
          log.warn(
            { owner, error: describeError(error) },
            'could not free an address; the next sweep tries again',
          );
        });
    }
    if (failure !== undefined) throw failure;
  }
}
