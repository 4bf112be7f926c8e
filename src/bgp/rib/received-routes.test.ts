import { describe, expect, test } from 'vitest';
import type { Family } from '../../net/family.ts';
import type { SessionEnd } from '../session/session-events.ts';
import type { Negotiated } from '../session/session-negotiation.ts';
import { type CompletePeer, completePeer } from '../speaker/complete-peer.ts';
import {
  decodeMessage,
  defaultContext,
  encodeAnnounce,
  encodeEndOfRib,
  ipv4Unicast,
  Nlri,
  type UpdateMessage,
} from '../wire/message.ts';
import { ReceivedRoutes, type Schedule } from './received-routes.ts';

const peer = ((): CompletePeer => {
  const settings = { address: '10.0.0.1', asn: 64513, localAsn: 64524, routerId: '10.0.0.2' };
  const result = completePeer(settings);
  if (result.kind === 'refused') throw new Error(result.reason);
  return result.peer;
})();

function agreed(keeps: readonly Family[] | undefined): Negotiated {
  return {
    peerAsn: 64513,
    peerRouterId: '10.0.0.1',
    families: ['ipv4', 'ipv6'],
    holdSeconds: 90,
    keepaliveSeconds: 30,
    hasRouteRefresh: true,
    hasEnhancedRouteRefresh: false,
    hasExtendedNextHop: false,
    gracefulRestart: keeps && {
      restartSeconds: 60,
      hasRestarted: true,
      coversNotification: true,
      families: new Map(keeps.map((family) => [family, { forwarding: true }])),
    },
    receive: defaultContext,
    send: defaultContext,
  };
}

const lost: SessionEnd = { cause: 'connection-lost', detail: 'reset', keepsRoutes: true };
const ceased: SessionEnd = { cause: 'notification-received', detail: '6/2', keepsRoutes: false };

function update(bytes: Uint8Array): UpdateMessage {
  const result = decodeMessage(bytes, defaultContext);
  if (result.kind !== 'message' || result.message.type !== 'update') throw new Error('no UPDATE');
  return result.message;
}

function announce(...prefixes: string[]): UpdateMessage {
  const group = {
    prefixes: prefixes.map((text) => Nlri.parse(text)!),
    attributes: { origin: 'igp' as const, asPath: [] },
    nextHops: [prefixes[0]!.includes(':') ? 'fd00::1' : '10.0.0.1'],
  };
  return update(encodeAnnounce(group, defaultContext)[0]!);
}

/** A clock that is wound by hand. */
function manualSchedule() {
  const pending: { atMs: number; then: () => void }[] = [];
  const schedule: Schedule = (atMs, then) => {
    const entry = { atMs, then };
    pending.push(entry);
    return () => void pending.splice(pending.indexOf(entry) >>> 0, 1);
  };
  const ring = () => {
    for (const { then } of pending.splice(0)) then();
  };
  return { schedule, pending, ring };
}

function upWithThree() {
  const clock = manualSchedule();
  const received = new ReceivedRoutes({ schedule: clock.schedule });
  const { events } = received;
  events.onUp(peer, agreed(['ipv4', 'ipv6']));
  events.onUpdate(peer, announce('10.5.112.0/24', '10.5.113.0/24'));
  events.onUpdate(peer, announce('fd00:1::/64'));
  return { clock, events, rib: () => received.ribOf(peer.name)!, received };
}

describe('routes of a peer', () => {
  test('go with a session that ended for good', () => {
    const { events, rib } = upWithThree();
    expect(rib().size).toBe(3);
    events.onDown(peer, ceased);
    expect(rib().size).toBe(0);
  });

  test('stay through a restart and lose only what is not repeated', () => {
    const { events, rib, clock } = upWithThree();
    events.onDown(peer, lost);
    expect(rib().size).toBe(3);
    events.onUp(peer, agreed(['ipv4', 'ipv6']));
    events.onUpdate(peer, announce('10.5.113.0/24'));
    events.onUpdate(peer, update(encodeEndOfRib(ipv4Unicast)));
    expect(
      rib()
        .routes()
        .map((route) => `${route.prefix}${route.stale ? ' stale' : ''}`),
    ).toEqual(['10.5.113.0/24', 'fd00:1::/64 stale']);
    clock.ring();
    expect(rib().size).toBe(1);
  });

  test('go when the peer does not come back in the time it asked for', () => {
    const { events, rib, clock } = upWithThree();
    events.onDown(peer, lost);
    expect(clock.pending.map((entry) => entry.atMs)).toEqual([60_000]);
    clock.ring();
    expect(rib().size).toBe(0);
  });

  test('go when the peer comes back without having kept forwarding', () => {
    const { events, rib } = upWithThree();
    events.onDown(peer, lost);
    events.onUp(peer, agreed(['ipv6']));
    expect(
      rib()
        .routes()
        .map((route) => String(route.prefix)),
    ).toEqual(['fd00:1::/64']);
  });

  test('go when the peer has no graceful restart at all', () => {
    const clock = manualSchedule();
    const received = new ReceivedRoutes({ schedule: clock.schedule });
    received.events.onUp(peer, agreed(undefined));
    received.events.onUpdate(peer, announce('10.5.112.0/24'));
    received.events.onDown(peer, lost);
    expect(received.ribOf(peer.name)?.size).toBe(0);
  });

  test('are forgotten with the peer, and its timer with them', () => {
    const { events, clock, received } = upWithThree();
    events.onDown(peer, lost);
    received.forget(peer.name);
    expect(clock.pending).toEqual([]);
    expect(received.peerNames()).toEqual([]);
  });
});
