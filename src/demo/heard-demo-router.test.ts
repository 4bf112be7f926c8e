import { expect, test } from 'vitest';
import { type Prefix, parsePrefix } from '../net/prefix.ts';
import { HeardDemoRouter } from './heard-demo-router.ts';

test('sessions count by the addresses of the node, routes by prefix and piece', () => {
  let nowMs = 10;
  const heard = new HeardDemoRouter(() => nowMs);
  const held = new Set<string>(['10.1.0.0/24']);
  const router = heard.as('tor1', '10.4.94.1', (prefix: Prefix) => held.has(prefix.toString()));
  const last = (text: string) => router.lastRouteMs(parsePrefix(text)!);
  expect(router.completeSinceMs).toEqual({ ipv4: 10, ipv6: 10 });
  heard.sessionUp('node1@127.77.0.2', ['10.4.94.32', 'fd00:0::32']);
  expect(router.lastSessionMs('10.4.94.32')).toBe(Number.POSITIVE_INFINITY);
  expect([last('10.1.0.0/24'), last('10.1.1.0/24')]).toEqual([Number.POSITIVE_INFINITY, undefined]);
  nowMs = 20;
  held.clear();
  heard.routeGone('10.1.0.0/24');
  heard.sessionDown('node1@127.77.0.2');
  nowMs = 30;
  expect([last('10.1.0.0/24'), last('10.1.0.0/16'), last('10.1.0.0/25')]).toEqual([
    20,
    20,
    undefined,
  ]);
  expect([router.lastSessionMs('10.4.94.32'), router.lastSessionMs('fd00::32')]).toEqual([20, 20]);
});
