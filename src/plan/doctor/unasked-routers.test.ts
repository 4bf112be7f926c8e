import { expect, test } from 'vitest';
import { cleanWorlds } from '../../../test/doctor/worlds.ts';
import type { BgpPeer } from '../../model/bgp-peer.ts';
import type { Evidence, RouterTable } from './evidence.ts';
import { unaskedRouters } from './unasked-routers.ts';

const peer = (name: string, address: string) => ({ name, address }) as BgpPeer;
const table = (router: string, ...addresses: string[]): RouterTable => ({
  router,
  addresses,
  families: new Set(['ipv4']),
  routes: [],
});
const names = (more: Partial<Evidence>) =>
  unaskedRouters({ ...cleanWorlds['cluster-pool of Cilium'](), routers: [], ...more });
const peers = [peer('tor1', '10.4.94.1'), peer('tor2', '10.4.94.2')];

test('nobody was asked, and no router is known: one column says so', () => {
  expect(names({})).toEqual(['Routers']);
});

test('each router that nodes have sessions with, until it is asked by name or address', () => {
  expect(names({ peers })).toEqual(['tor1', 'tor2']);
  expect(names({ peers, routers: [table('tor1')] })).toEqual(['tor2']);
  expect(names({ peers, routers: [table('leaf-7', '10.4.94.2')] })).toEqual(['tor1']);
  expect(names({ peers, routers: [table('tor1'), table('tor2')] })).toEqual([]);
});

test('a dump under a name of its own may be of any of them', () => {
  expect(names({ peers, routers: [table('mine')] })).toEqual([]);
});

test('sessions that agents report name routers too; many are counted', () => {
  const many = ['a', 'b', 'c', 'd', 'e'].map((name, at) => peer(name, `10.0.0.${at + 1}`));
  expect(names({ peers: many })).toEqual(['5 routers']);
  const sessions = [{ peer: 'tor9', address: '10.9.9.9', announced: [] }];
  const reports = [
    { name: 'a', nodeUid: '', status: { sessions } },
  ] as unknown as Evidence['reports'];
  expect(names({ reports })).toEqual(['tor9']);
});
