import { describe, expect, test } from 'vitest';
import { at } from '../../../test/register/objects.ts';
import type { BgpPeer } from '../../model/bgp-peer.ts';
import type { HeardRouter } from './heard-routers.ts';
import { routersClear, routersOfNode } from './routers-clear.ts';

const nowMs = 1_000_000;
const agoMs = (seconds: number) => nowMs - seconds * 1000;
const now = Number.POSITIVE_INFINITY;

interface Says {
  completeSeconds?: number;
  routeMs?: number;
  sessionMs?: number;
  by?: 'bmp' | 'bgp';
}

const router = (name: string, address: string, says: Says = {}): HeardRouter => ({
  name,
  addresses: new Set([address]),
  by: says.by ?? 'bmp',
  completeSinceMs: says.completeSeconds === undefined ? {} : { ipv4: agoMs(says.completeSeconds) },
  lastRouteMs: () => says.routeMs,
  lastSessionMs: (neighbor) => (neighbor === '10.4.94.23' ? says.sessionMs : undefined),
});

const ask = (routers: HeardRouter[], addresses = ['10.4.0.1', '10.4.0.2'], cidr = '10.5.0.0/24') =>
  routersClear({
    heard: { routers },
    routers: new Set(addresses),
    prefix: at(cidr),
    nodeAddresses: ['10.4.94.23'],
    nowMs,
  });

describe('the routers of a node', () => {
  test('are clear for as long as all of them were', () => {
    const routers = [
      router('tor1', '10.4.0.1', { completeSeconds: 500, routeMs: agoMs(100) }),
      router('tor2', '10.4.0.2', { completeSeconds: 500, sessionMs: agoMs(200) }),
    ];
    expect(ask(routers)).toEqual({ kind: 'clear', routers: ['tor1', 'tor2'], forSeconds: 100 });
  });

  test('say nothing before they were complete, however clear they look', () => {
    const routers = [
      router('tor1', '10.4.0.1', { completeSeconds: 7 }),
      router('tor2', '10.4.0.2', { completeSeconds: 500 }),
    ];
    expect(ask(routers)).toMatchObject({ kind: 'clear', forSeconds: 7 });
  });

  test('that are not heard, or only in part, or not in this family, are never clear', () => {
    const whole = router('tor1', '10.4.0.1', { completeSeconds: 500 });
    expect(ask([whole])).toEqual({ kind: 'not clear', unheard: ['10.4.0.2'], holding: [] });
    expect(ask([whole, router('tor2', '10.4.0.2')])).toMatchObject({ unheard: ['tor2'] });
    expect(ask([whole], ['10.4.0.1'], 'fd00::/64')).toMatchObject({ unheard: ['tor1'] });
  });

  test('that hold the route or have a session with the node now are named, complete or not', () => {
    const routers = [
      router('tor1', '10.4.0.1', { completeSeconds: 500, routeMs: now }),
      router('tor2', '10.4.0.2', { sessionMs: now }),
    ];
    expect(ask(routers)).toEqual({ kind: 'not clear', unheard: [], holding: ['tor1', 'tor2'] });
  });

  test('one that is heard in two ways is clear only by both', () => {
    const bmp = router('tor1', '10.4.0.1', { completeSeconds: 500 });
    const bgp = router('tor1', '10.4.0.1', { completeSeconds: 500, routeMs: now, by: 'bgp' });
    expect(ask([bmp, bgp], ['10.4.0.1'])).toMatchObject({ holding: ['tor1'] });
  });

  test('one that is heard by BGP alone can tell only of a block that it has shown before', () => {
    const shown = router('tor1', '10.4.0.1', {
      completeSeconds: 500,
      routeMs: agoMs(100),
      by: 'bgp',
    });
    expect(ask([shown], ['10.4.0.1'])).toMatchObject({ kind: 'clear', forSeconds: 100 });
    const never = router('tor1', '10.4.0.1', { completeSeconds: 500, by: 'bgp' });
    expect(ask([never], ['10.4.0.1'])).toMatchObject({ kind: 'not clear', unheard: ['tor1'] });
  });

  test('where no router is known none is clear', () => {
    expect(ask([router('tor1', '10.4.0.1', { completeSeconds: 500 })], [])).toEqual({
      kind: 'none',
    });
  });
});

describe('which routers a node has', () => {
  const peer = (address: string, rack?: string) =>
    ({
      name: address,
      address,
      nodeSelectors: rack === undefined ? [] : [{ matchLabels: { rack } }],
    }) as unknown as BgpPeer;
  const peers = [peer('10.4.0.1'), peer('10.4.0.2', 'a'), peer('10.4.0.3', 'b')];
  const of = (...args: Parameters<typeof routersOfNode>) => [...routersOfNode(...args)];

  test('those that select it, and those its agent reported', () => {
    expect(of(peers, undefined, { rack: 'a' })).toEqual(['10.4.0.1', '10.4.0.2']);
    expect(of(peers, [{ address: '10.4.0.9' }], { rack: 'a' })).toEqual([
      '10.4.0.1',
      '10.4.0.2',
      '10.4.0.9',
    ]);
  });

  test('of a Node that is gone nobody knows the labels: its agent’s word, or every router', () => {
    expect(of(peers, [{ address: '10.4.0.2' }], undefined)).toEqual(['10.4.0.1', '10.4.0.2']);
    expect(of(peers, undefined, undefined)).toEqual(['10.4.0.1', '10.4.0.2', '10.4.0.3']);
  });
});
