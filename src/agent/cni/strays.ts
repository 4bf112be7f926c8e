/**
 * Interfaces of pods that the book knows nothing of: an ADD was killed before
 * the disk had it, or the journal was lost. The runtime will DEL the first kind;
 * the second is a pod that lives. So neither is cut off: its addresses are kept
 * from everybody else, for as long as the kernel leads them there.
 *
 * One is removed when its namespace was there, and is not any more. That it was
 * there must have been seen: an agent that cannot see the folder of namespaces
 * would else cut off every pod.
 *
 * After damage of the journal an interface says itself whose it is: its owner is put back.
 */
import { type Log, silentLog } from '../../base/log.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { hostLinkName, isPodLink, type Link } from '../../kernel/link.ts';
import type { KernelRoute } from '../../kernel/route.ts';
import { type Address, parseAddress } from '../../net/address.ts';
import type { AddressBook } from '../address-book.ts';
import type { Allocation } from '../allocation.ts';

export type StrayDriver = Pick<Kernel, 'link' | 'hasNamespace' | 'unwirePod'>;

export class Strays {
  readonly #book: AddressBook;
  readonly #driver: StrayDriver;
  readonly #log: Log;
  /** Names of those whose namespace was there at the last look. */
  #living = new Set<string>();
  readonly #removals = new Map<string, Promise<unknown>>();

  constructor({ book, driver, log }: { book: AddressBook; driver: StrayDriver; log?: Log }) {
    this.#book = book;
    this.#driver = driver;
    this.#log = log ?? silentLog;
  }

  /**
   * How many were removed, of what the kernel held a moment ago: its interfaces and
   * the routes to pods. Called with every sweep, the first before anyone is served.
   */
  async look(links: readonly Link[], routes: readonly KernelRoute[]): Promise<number> {
    const known = this.#knownNames();
    const strays: Link[] = [];
    for (const link of links) {
      if (!isPodLink(link.name) || known.has(link.name)) continue;
      // It may be gone since: the interface of a pod that the book did know.
      const isThere = (await this.#driver.link(link.name)) !== undefined;
      if (!isThere || this.#knownNames().has(link.name) || this.#adopt(link)) continue;
      strays.push(link);
    }
    const living = new Set<string>();
    const gone: string[] = [];
    for (const { name, alias = '' } of strays) {
      const netns = readPodAlias(alias)?.netns;
      if (netns === undefined || (await this.#driver.hasNamespace(netns))) living.add(name);
      else if (this.#living.has(name)) gone.push(name);
    }
    const kept = strays.filter(({ name }) => !gone.includes(name));
    for (const { name, alias } of kept) {
      if (this.#living.has(name)) continue;
      const fields = { reason: 'StrayInterface', interface: name, detail: alias };
      this.#log.warn(
        fields,
        `the journal knows no pod of ${name}; nobody gets its addresses while it exists`,
      );
    }
    this.#living = living;
    await Promise.all(gone.map((name) => this.#remove(name)));
    const names = new Set(kept.map(({ name }) => name));
    this.#book.keepBack(
      routes
        .filter(({ device }) => device !== undefined && names.has(device))
        .map(({ prefix }) => prefix.first()),
    );
    return gone.length;
  }

  /** Before an interface of that name is made: a removal under way must not meet it. */
  async settled(name: string): Promise<void> {
    await this.#removals.get(name)?.catch(() => undefined);
  }

  #adopt({ name, alias = '' }: Link): boolean {
    const allocation = this.#book.unknownOwners && readPodAlias(alias)?.allocation;
    if (allocation === undefined || !this.#book.adopt(allocation)) return false;
    const { owner, addresses } = allocation;
    const fields = { reason: 'AddressOwnersUnknown', interface: name, owner };
    this.#log.warn(fields, `${addresses.join(' and ')} of ${name} belongs to ${owner} again`);
    return true;
  }

  #knownNames(): Set<string> {
    const names = new Set<string>();
    for (const { attachment } of this.#book.remembered()) {
      if (attachment) names.add(hostLinkName(attachment.containerId, attachment.ifname));
    }
    return names;
  }

  async #remove(name: string): Promise<void> {
    const removal = this.#driver.unwirePod({ hostIfName: name });
    this.#removals.set(name, removal);
    try {
      await removal;
      this.#log.info({ interface: name }, `removed ${name}: its namespace is gone`);
    } finally {
      this.#removals.delete(name);
    }
  }
}

interface AliasedPod {
  containerId: string;
  ifname: string;
  netns: string;
  network: string;
  generation: number;
  addresses: readonly Address[];
}

/** What `ip link` shows beside the host's end: whose it is, and what it holds. */
export function podAlias(pod: AliasedPod): string {
  const { containerId, ifname, netns, network, generation, addresses } = pod;
  return `pod ${containerId}/${ifname} ${netns} network ${network} generation ${generation} addresses ${addresses.join(',')}`;
}

const aliasOfPod =
  /^pod ([^ /]+)\/(\S+) (\/.+?)(?: network (\S+) generation (\d+) addresses (\S+))?$/;

/** Version 0.1.0 wrote the container and its namespace alone. */
function readPodAlias(
  alias: string,
): { netns: string; allocation?: Omit<Allocation, 'expiresAtMs'> } | undefined {
  const [, containerId = '', ifname = '', netns, network, generation, texts = ''] =
    aliasOfPod.exec(alias) ?? [];
  if (netns === undefined) return undefined;
  const addresses = texts.split(',').flatMap((text) => parseAddress(text) ?? []);
  if (network === undefined || addresses.length === 0) return { netns };
  const owner = `cni:${network}/${containerId}/${ifname}`;
  const attachment = { network, containerId, ifname, netns };
  return { netns, allocation: { generation: Number(generation), owner, addresses, attachment } };
}
