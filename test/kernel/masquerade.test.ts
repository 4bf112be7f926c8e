/**
 * The masquerade table of a real kernel as the agent keeps it: nft merges neighbouring
 * prefixes into ranges, and whatever another program does to the table is undone.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MasqueradeReconciler } from '../../src/agent/masquerade-reconciler.ts';
import { silentLog } from '../../src/base/log.ts';
import { NetlinkKernel } from '../../src/kernel/netlink-kernel.ts';
import type { Prefix } from '../../src/net/prefix.ts';
import { p } from './contract.ts';
import {
  addNamespace,
  deleteNamespace,
  inside,
  type Namespace,
  sweepNamespaces,
} from './namespaces.ts';

let namespace: Namespace;
let kernel: NetlinkKernel;
let nowMs: number;
let reconciler: MasqueradeReconciler;
let repairs: number;

beforeEach(async () => {
  await sweepNamespaces({ isOver: false });
  namespace = await addNamespace();
  kernel = new NetlinkKernel({ netnsPath: namespace.path });
  nowMs = 0;
  repairs = 0;
  const clock = { monotonicMs: () => nowMs, wallMs: () => nowMs };
  const log = { ...silentLog, warn: () => void repairs++ };
  reconciler = new MasqueradeReconciler({ kernel, clock, log });
});
afterEach(async () => {
  kernel.close();
  await deleteNamespace(namespace);
});

const table = () => inside(namespace, 'nft list table inet cadastre');

/** Half a minute later. */
async function again(rules: { sources: Prefix[]; exceptions: Prefix[] }): Promise<void> {
  nowMs += 31_000;
  expect(await reconciler.declare(rules)).toEqual([]);
}

/** Three neighbours are one range that is no prefix; of both families. */
const rules = {
  sources: [p('10.5.1.0/24'), p('10.5.2.0/24'), p('fd05:0:0:1::/64')],
  exceptions: [
    '10.0.1.0/24',
    '10.0.2.0/24',
    '10.0.3.0/24',
    'fd05:0:0:1::/64',
    'fd05:0:0:2::/64',
    '192.0.2.1/32',
    '192.0.2.2/32',
  ].map(p),
};

test('a deleted table is put back, also if nft has merged its prefixes', async () => {
  expect(await reconciler.declare(rules)).toEqual([]);
  expect(await table()).toContain('10.0.1.0-10.0.3.255');
  await again(rules);
  expect(repairs).toBe(0);
  await inside(namespace, 'nft delete table inet cadastre');
  await again(rules);
  expect(await table()).toContain('masquerade');
  expect(repairs).toBe(1);
});

test.each([
  ['a rule is gone', 'nft flush chain inet cadastre postrouting'],
  ['an exception is gone', 'nft delete element inet cadastre exceptions4 { 10.0.1.0-10.0.3.255 }'],
  ['a source is too many', 'nft add element inet cadastre sources4 { 10.7.0.0/16 }'],
  ['the chain is gone', 'nft delete chain inet cadastre postrouting'],
])('%s: the table is made anew, once', async (_, change) => {
  await reconciler.declare(rules);
  const before = await table();
  await inside(namespace, change);
  await again(rules);
  await again(rules);
  expect(await table()).toBe(before);
  expect(repairs).toBe(1);
});

test('a table that an earlier run left is taken over without a gap, and no masquerade removes it', async () => {
  await kernel.setMasquerade(rules);
  expect(await reconciler.declare(rules)).toEqual([]);
  expect(await table()).toContain('masquerade');
  expect(await reconciler.declare(undefined)).toEqual([]);
  expect(await kernel.masquerade()).toBeUndefined();
});
