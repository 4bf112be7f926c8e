import type { PeerView } from '../bgp/speaker/speaker-peer.ts';
import type { Prefix } from '../net/prefix.ts';
import { findHijacks, type NeighborRouter, type ReceivedPath } from '../plan/node/hijacks.ts';
import type { NodePeer } from '../plan/node/node-peers.ts';
import type { Hijack } from '../plan/node/router-contact.ts';

/** A router's view and settings together, with what is announced to it: prefix to next hop. */
export interface WatchedRouter {
  readonly settings: NodePeer;
  readonly view: PeerView;
  readonly announced: ReadonlyMap<string, string>;
  /** It may still keep the routes of an earlier run of this agent. */
  readonly keepsEarlierRun: boolean;
  readonly restartSeconds: number;
}

/** After a withdrawal, or the end of the restart time, until other routers have heard of it. */
const convergenceMs = 10_000;

/** What plan/node/hijacks has to know of the past: since when, and what was announced lately. */
export class HijackWatch {
  readonly #sinceMs = new Map<string, number>();
  /** By `PEER PREFIX`: while it is announced undefined, then when that ended. */
  readonly #announced = new Map<string, number | undefined>();
  readonly #ownAddresses = new Set<string>();

  look(
    own: readonly Prefix[],
    routers: readonly WatchedRouter[],
    paths: readonly ReceivedPath[],
    isOtherNode: (address: string) => boolean,
    nowMs: number,
  ): Hijack[] {
    this.#note(routers, nowMs);
    const cidrs = own.map(String);
    const neighbors = routers.map((router) => this.#neighbor(router, cidrs, nowMs));
    const found = findHijacks(own, neighbors, paths, isOtherNode).map((one) => {
      const key = `${one.cidr} ${one.prefix} ${one.peer} ${one.nextHop}`;
      return { key, hijack: { ...one, sinceMs: this.#sinceMs.get(key) ?? nowMs } };
    });
    this.#sinceMs.clear();
    for (const { key, hijack } of found) this.#sinceMs.set(key, hijack.sinceMs);
    return found.map(({ hijack }) => hijack);
  }

  #note(routers: readonly WatchedRouter[], nowMs: number): void {
    const now = new Set<string>();
    for (const { settings, view, announced } of routers) {
      for (const [prefix, nextHop] of announced) {
        now.add(`${settings.name} ${prefix}`);
        this.#ownAddresses.add(nextHop);
      }
      if (view.localAddress !== undefined) this.#ownAddresses.add(view.localAddress);
    }
    for (const [key, endedMs] of this.#announced) {
      if (!now.has(key) && endedMs === undefined) this.#announced.set(key, nowMs);
    }
    for (const key of now) this.#announced.set(key, undefined);
  }

  #neighbor(
    { settings, announced, keepsEarlierRun, restartSeconds }: WatchedRouter,
    cidrs: readonly string[],
    nowMs: number,
  ): NeighborRouter {
    const { name, address, asn, localAsn, routerId, localAddress, nextHop = {} } = settings;
    const keptMs = restartSeconds * 1000 + convergenceMs;
    const isRecent = (cidr: string) => {
      const endedMs = this.#announced.get(`${name} ${cidr}`);
      return keepsEarlierRun || (endedMs !== undefined && nowMs - endedMs <= keptMs);
    };
    return {
      name,
      address,
      asn,
      localAsn,
      routerId,
      ownAddresses: [
        ...this.#ownAddresses,
        ...Object.values(nextHop),
        ...(localAddress === undefined ? [] : [localAddress]),
      ],
      announced,
      announcedBefore: new Set(cidrs.filter(isRecent)),
    };
  }
}
