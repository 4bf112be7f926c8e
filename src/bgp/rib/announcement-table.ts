/**
 * All announcements, by prefix. `set` takes the whole list every time and says
 * which prefixes changed. Owners that keep their unchanged announcements (the
 * same objects at the same place in the list) pay for the change alone: those
 * are passed over by comparing references, a hundred thousand in a tenth of a
 * millisecond.
 */
import type { Family } from '../../net/family.ts';
import { afiIpv4 } from '../wire/afi-safi.ts';
import { Nlri } from '../wire/message.ts';
import {
  type Announcement,
  type AttributeSet,
  attributeKey,
  readAttributes,
} from './announcement.ts';

export interface OriginatedRoute {
  readonly prefix: string;
  readonly family: Family;
  readonly nlri: Nlri;
  /** One prefix may be announced differently to different peers; the first that fits a peer counts. */
  readonly variants: AttributeSet[];
}

export interface RefusedAnnouncement {
  readonly announcement: Announcement;
  readonly reason: string;
}

interface TableChange {
  /** Prefixes that are new, gone or have other attributes. */
  readonly changed: readonly OriginatedRoute[];
  readonly refused: readonly RefusedAnnouncement[];
}

export class AnnouncementTable {
  readonly #routes: Record<Family, Map<string, OriginatedRoute>> = {
    ipv4: new Map(),
    ipv6: new Map(),
  };
  readonly #interned = new Map<string, AttributeSet>();
  /** Our own copy: what the owner does to its array afterwards is no declaration. */
  readonly #list: Announcement[] = [];
  #refused = new Map<Announcement, string>();

  get size(): number {
    return this.#routes.ipv4.size + this.#routes.ipv6.size;
  }

  routes(family: Family): IterableIterator<OriginatedRoute> {
    return this.#routes[family].values();
  }

  get(route: OriginatedRoute): OriginatedRoute | undefined {
    return this.#routes[route.family].get(route.prefix);
  }

  set(list: readonly Announcement[]): TableChange {
    const mine = this.#list;
    const gone: Announcement[] = [];
    const fresh: Announcement[] = [];
    for (let i = 0; i < list.length; i++) {
      const announcement = list[i]!;
      const before = mine[i];
      if (before === announcement) continue;
      if (before !== undefined) gone.push(before);
      fresh.push(announcement);
      mine[i] = announcement;
    }
    for (let i = list.length; i < mine.length; i++) gone.push(mine[i]!);
    mine.length = list.length;
    if (gone.length === 0 && fresh.length === 0) return { changed: [], refused: this.#refusals() };

    const previous = new Map<OriginatedRoute, readonly AttributeSet[]>();
    const touch = (route: OriginatedRoute) => {
      if (previous.has(route)) return;
      previous.set(route, route.variants.length === 0 ? none : [...route.variants]);
    };
    for (const announcement of gone) this.#remove(announcement, touch);
    // What was refused as a duplicate may be the only one now.
    const retried = [...this.#refused.keys()];
    this.#refused.clear();
    for (const announcement of retried) this.#add(announcement, touch);
    for (const announcement of fresh) this.#add(announcement, touch);
    const changed: OriginatedRoute[] = [];
    for (const [route, before] of previous) {
      if (route.variants.length === 0) this.#routes[route.family].delete(route.prefix);
      if (!sameSets(before, route.variants)) changed.push(route);
    }
    if (this.#interned.size > 2 * this.size + 1000) this.#forgetUnused();
    return { changed, refused: this.#refusals() };
  }

  #refusals(): RefusedAnnouncement[] {
    return [...this.#refused].map(([announcement, reason]) => ({ announcement, reason }));
  }

  #remove(announcement: Announcement, touch: (route: OriginatedRoute) => void): void {
    if (this.#refused.delete(announcement)) return;
    const route = this.#find(announcement.prefix) ?? this.#make(announcement.prefix);
    const set = this.#interned.get(attributeKey(announcement));
    if (route === undefined || set === undefined) return;
    touch(route);
    const at = route.variants.indexOf(set);
    if (at >= 0) route.variants.splice(at, 1);
  }

  #add(announcement: Announcement, touch: (route: OriginatedRoute) => void) {
    const refuse = (reason: string) => {
      this.#refused.set(announcement, reason);
    };
    const set = this.#intern(announcement);
    if (typeof set === 'string') return refuse(set);
    const route = this.#find(announcement.prefix) ?? this.#make(announcement.prefix);
    if (route === undefined) return refuse(`${announcement.prefix} is not a prefix`);
    if (route.variants.some((other) => shareAPeer(other, set))) {
      return refuse(`${route.prefix} is announced twice to the same peer`);
    }
    touch(route);
    route.variants.push(set);
  }

  /** By the text as given: it is nearly always canonical, and parsing is not free. */
  #find(prefix: string): OriginatedRoute | undefined {
    return this.#routes[prefix.includes(':') ? 'ipv6' : 'ipv4'].get(prefix);
  }

  /** The route of a prefix however it is written, made if there is none yet. */
  #make(text: string): OriginatedRoute | undefined {
    const nlri = Nlri.parse(text);
    if (nlri === undefined) return undefined;
    const family: Family = nlri.afi === afiIpv4 ? 'ipv4' : 'ipv6';
    const prefix = nlri.toString();
    const known = this.#routes[family].get(prefix);
    if (known !== undefined) return known;
    const route: OriginatedRoute = { prefix, family, nlri, variants: [] };
    this.#routes[family].set(prefix, route);
    return route;
  }

  #intern(announcement: Announcement): AttributeSet | string {
    const key = attributeKey(announcement);
    const known = this.#interned.get(key);
    if (
      known !== undefined &&
      !(known.nextHop !== undefined && announcement.prefix.includes(':'))
    ) {
      return known;
    }
    const set = readAttributes(announcement);
    if (typeof set === 'string') return set;
    if (known !== undefined) return known;
    this.#interned.set(key, set);
    return set;
  }

  #forgetUnused(): void {
    const used = new Set(
      [...this.#routes.ipv4.values(), ...this.#routes.ipv6.values()].flatMap((r) => r.variants),
    );
    for (const [key, set] of this.#interned) if (!used.has(set)) this.#interned.delete(key);
  }
}

const none: readonly AttributeSet[] = [];

function shareAPeer(a: AttributeSet, b: AttributeSet): boolean {
  if (a.peers === undefined || b.peers === undefined) return true;
  for (const name of a.peers) if (b.peers.has(name)) return true;
  return false;
}

function sameSets(a: readonly AttributeSet[], b: readonly AttributeSet[]): boolean {
  return a.length === b.length && a.every((set) => b.includes(set));
}
