/**
 * Pods whose interface on the host, or whose route, another program has changed:
 * restored, counted and logged. Only the host's side; what root does inside a pod is the
 * pod's business. An interface that is gone altogether is made anew, with the
 * same addresses: what a plugin after us had added to it is lost, the pod is not.
 */
import { describeError } from '../../base/errors.ts';
import { type Log, silentLog } from '../../base/log.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { hostLinkName, type Link, type LinkAddress } from '../../kernel/link.ts';
import { type PodWiring, podGateways } from '../../kernel/pod.ts';
import type { KernelRoute } from '../../kernel/route.ts';
import type { Address } from '../../net/address.ts';
import type { AddressBook } from '../address-book.ts';
import type { Allocation, Attachment } from '../allocation.ts';
import type { OwnerTurns } from './owner-turns.ts';
import type { PodRemoval } from './pod-removal.ts';
import { podAlias } from './strays.ts';

export type RepairDriver = Pick<
  Kernel,
  'link' | 'hasNamespace' | 'wirePod' | 'repairPod' | 'checkPod'
>;

/** What the kernel held a moment ago. */
interface HostEnds {
  links: readonly Link[];
  /** To pods. */
  routes: readonly KernelRoute[];
  /** By interface. */
  addresses: ReadonlyMap<string, readonly LinkAddress[]>;
}

interface PodRepairerOptions {
  book: AddressBook;
  driver: RepairDriver;
  turns: OwnerTurns;
  removal: Pick<PodRemoval, 'isUnfreed'>;
  /** Of an interface that is made anew. */
  mtu?: (() => number | undefined) | undefined;
  log?: Log | undefined;
}

export class PodRepairer {
  readonly #o: PodRepairerOptions;
  readonly #log: Log;
  #repaired = 0;
  /** What could not be repaired, by owner: logged once. */
  #complaints = new Map<string, string>();

  constructor(options: PodRepairerOptions) {
    this.#o = options;
    this.#log = options.log ?? silentLog;
  }

  /** How many were repaired since the start. */
  get repairedPods(): number {
    return this.#repaired;
  }

  /** Whoever seems to lack something is looked at. */
  async look({ links, routes, addresses: held }: HostEnds): Promise<void> {
    const up = new Set(links.filter(({ isUp }) => isUp).map(({ name }) => name));
    const ways = new Set(routes.map(({ prefix, device }) => `${prefix.first()} ${device}`));
    const hasGateway = (name: string, { family }: Address) =>
      held.get(name)?.some(({ address }) => address.equals(podGateways[family])) === true;
    const before = this.#complaints;
    this.#complaints = new Map();
    for (const allocation of [...this.#o.book.remembered()]) {
      const { attachment, expiresAtMs, addresses, owner, generation } = allocation;
      // Another plugin's interface is not ours, and what is being added now is not finished.
      if (attachment === undefined || attachment.addressesOnly || expiresAtMs !== undefined)
        continue;
      if (this.#o.removal.isUnfreed(generation)) continue;
      const name = hostLinkName(attachment.containerId, attachment.ifname);
      const isWhole =
        up.has(name) &&
        addresses.every((one) => ways.has(`${one} ${name}`) && hasGateway(name, one));
      if (isWhole || this.#o.turns.isBusy(owner)) continue;
      await this.#o.turns
        .take(owner, () => this.#repair(allocation, attachment, name))
        .catch((error) => {
          const text = describeError(error);
          this.#complaints.set(owner, text);
          if (before.get(owner) === text) return;
          const fields = { reason: 'RouteRefused', owner, error: text };
          this.#log.error(fields, `${name} of ${whoseIs(attachment)} cannot be repaired`);
        });
    }
  }

  async #repair(allocation: Allocation, attachment: Attachment, name: string): Promise<void> {
    const { book, driver } = this.#o;
    const { owner, generation, addresses } = allocation;
    // Deleted, or added anew, while we waited; and of a pod that is gone the sweep takes care.
    if (book.find(owner)?.generation !== generation) return;
    if (!(await driver.hasNamespace(attachment.netns))) return;
    const wiring: PodWiring = {
      hostIfName: name,
      netnsPath: attachment.netns,
      ifName: attachment.ifname,
      addresses,
      alias: podAlias({ ...attachment, generation, addresses }),
    };
    // It may have been added after the kernel was read.
    if ((await this.#lacks(wiring)).length === 0) return;
    const isThere = (await driver.link(name)) !== undefined;
    const mtu = this.#o.mtu?.();
    if (isThere) await driver.repairPod(wiring);
    else await driver.wirePod({ ...wiring, ...(mtu === undefined ? {} : { mtu }) });
    const left = await this.#lacks(wiring);
    if (left.length > 0) throw new Error(left.join('; '));
    this.#repaired++;
    const what = isThere ? 'changed' : 'removed';
    this.#log.warn(
      { reason: 'PodRepaired', interface: name, owner },
      `another program ${what} ${name} of ${whoseIs(attachment)}; it is restored`,
    );
  }

  async #lacks(wiring: PodWiring): Promise<string[]> {
    const check = await this.#o.driver.checkPod(wiring);
    return check.kind === 'broken' ? check.problems.filter(isOfHost) : [];
  }
}

/** As pod-check words them. */
const isOfHost = (problem: string) => / on the host | on the host$|^the host /.test(problem);

function whoseIs({ pod, containerId }: Attachment): string {
  return pod === undefined ? `container ${containerId}` : `pod ${pod}`;
}
