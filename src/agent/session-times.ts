import type { Clock } from '../base/clock.ts';
import { timeText } from '../base/time-text.ts';
import type { AnnouncedRoute } from '../bgp/speaker/speaker.ts';
import { formatCommunity, formatLargeCommunity } from '../bgp/wire/attribute/community.ts';
import type { PathAttributes } from '../bgp/wire/message.ts';
import type { ReportedRoute } from '../model/node-report-status.ts';

/** Clocks are read a moment apart; a session that comes back takes longer than this. */
const sameSessionMs = 1_500;

/**
 * Since when sessions and routes hold, as moments that do not move: a report that
 * counted seconds would have to be written every second.
 */
export class SessionTimes {
  readonly #clock: Clock;
  readonly #established = new Map<string, number>();
  readonly #advertised = new Map<string, Map<string, string>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  establishedAt(peer: string, uptimeSeconds: number | undefined): string | undefined {
    if (uptimeSeconds === undefined) {
      this.#established.delete(peer);
      return undefined;
    }
    const seenMs = this.#clock.wallMs() - uptimeSeconds * 1000;
    const beforeMs = this.#established.get(peer);
    const isSame = beforeMs !== undefined && Math.abs(seenMs - beforeMs) < sameSessionMs;
    const atMs = isSame ? beforeMs : seenMs;
    this.#established.set(peer, atMs);
    return timeText(atMs);
  }

  dated(peer: string, routes: readonly AnnouncedRoute[]): ReportedRoute[] {
    const before = this.#advertised.get(peer);
    const now = new Map<string, string>();
    this.#advertised.set(peer, now);
    return routes.map(({ prefix, nextHop, attributes }) => {
      const since = before?.get(prefix) ?? timeText(this.#clock.wallMs());
      now.set(prefix, since);
      return { prefix, nextHop, since, attributes: attributesText(attributes) };
    });
  }
}

/** `AS path 64513, local-pref 100, communities 64513:7`: what differs between routes, in one line. */
function attributesText(from: PathAttributes): string {
  const path = (from.asPath ?? []).flatMap(({ asns }) => asns).join(' ');
  const communities = [
    ...(from.communities ?? []).map(formatCommunity),
    ...(from.largeCommunities ?? []).map(formatLargeCommunity),
  ];
  return [
    ...(path === '' ? [] : [`AS path ${path}`]),
    ...(from.med === undefined ? [] : [`MED ${from.med}`]),
    ...(from.localPref === undefined ? [] : [`local-pref ${from.localPref}`]),
    ...(communities.length === 0 ? [] : [`communities ${communities.join(' ')}`]),
  ]
    .join(', ')
    .slice(0, 1024);
}
