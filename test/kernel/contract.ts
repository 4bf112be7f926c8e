/**
 * What every Kernel does, as cases that run against the fake one and against
 * real namespaces. A case sees the world only through the interface and
 * through `site`, which stands for everybody else on the machine.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Kernel, KernelEvent } from '../../src/kernel/kernel.ts';
import type { PodWiring } from '../../src/kernel/pod.ts';
import {
  type KernelRoute,
  nodeRouteProtocol,
  podRouteProtocol,
  type RouteSpec,
  routeText,
  settleRoute,
} from '../../src/kernel/route.ts';
import { type Address, parseAddress } from '../../src/net/address.ts';
import { type Prefix, parsePrefix } from '../../src/net/prefix.ts';

export interface Site {
  /** The node's kernel. Its namespace has an interface `cad0`, up, with 10.4.0.1/24 and fd04::1/64. */
  node: Kernel;
  makeNamespace(): Promise<string>;
  removeNamespace(path: string): Promise<void>;
  /** A kernel inside; closed with the site. */
  inside(path: string): Kernel;
  /** A route that somebody else made, straight to cad0. */
  addForeignRoute(prefix: string): Promise<void>;
  /** Removes a route of ours, as an administrator would. */
  removeAsAnother(prefix: string): Promise<void>;
  close(): Promise<void>;
}

export const a = (text: string) => parseAddress(text) as Address;
export const p = (text: string) => parsePrefix(text) as Prefix;

const staticProtocol = 4;

export function contractCases(openSite: () => Promise<Site>): void {
  let site: Site;
  let node: Kernel;
  beforeEach(async () => {
    site = await openSite();
    node = site.node;
  });
  afterEach(() => site.close());

  const texts = (routes: readonly KernelRoute[]) =>
    routes.map((route) => routeText(settleRoute(route))).sort();
  const ours = async () => texts(await node.routes({ protocol: nodeRouteProtocol }));
  const wiring = (netnsPath: string, changes: Partial<PodWiring> = {}): PodWiring => ({
    netnsPath,
    ifName: 'eth0',
    hostIfName: 'cadpod1',
    addresses: [a('10.5.1.7'), a('fd05::7')],
    mtu: 1400,
    ...changes,
  });

  describe('routes', () => {
    const wanted: RouteSpec[] = [
      { prefix: p('10.5.1.0/24'), type: 'blackhole' },
      { prefix: p('fd05:1::/64'), type: 'unreachable' },
      { prefix: p('10.5.2.0/24'), via: a('10.4.0.2'), device: 'cad0' },
      { prefix: p('10.5.3.0/24'), via: a('192.0.2.1'), device: 'cad0', isOnLink: true },
      { prefix: p('fd05:2::/64'), via: a('fd04::2'), device: 'cad0' },
      { prefix: p('10.5.4.0/24'), via: a('10.4.0.2') },
      { prefix: p('10.5.5.0/24'), device: 'cad0', source: a('10.4.0.1'), metric: 77 },
      { prefix: p('10.5.6.0/24'), via: a('10.4.0.2'), device: 'cad0', table: 1083, mtu: 1300 },
      { prefix: p('fd05:6::/64'), via: a('fe80::2'), device: 'cad0', table: 1083, metric: 5 },
    ];

    test('are what was declared, and declaring them again changes nothing', async () => {
      expect(await node.setRoutes(wanted)).toEqual(outcome({ added: 9 }));
      expect(await ours()).toEqual(
        wanted.map((r) => routeText(settleRoute(r.via ? { device: 'cad0', ...r } : r))).sort(),
      );
      expect(await node.setRoutes(wanted)).toEqual(outcome({ unchanged: 9 }));
    });

    test('change in place, and go when they are no longer declared', async () => {
      await node.setRoutes(wanted);
      const changed: RouteSpec[] = [
        { prefix: p('10.5.1.0/24'), type: 'unreachable' },
        { prefix: p('10.5.2.0/24'), via: a('10.4.0.3'), device: 'cad0' },
        { prefix: p('fd05:2::/64'), via: a('fd04::3'), device: 'cad0' },
        { prefix: p('fd05:1::/64'), via: a('fd04::3'), device: 'cad0' },
      ];
      expect(await node.setRoutes(changed)).toEqual(outcome({ replaced: 4, removed: 5 }));
      expect(await ours()).toEqual(changed.map((r) => routeText(settleRoute(r))).sort());
      expect(await node.setRoutes([])).toEqual(outcome({ removed: 4 }));
      expect(await ours()).toEqual([]);
    });

    test("leave other programs' routes alone, also in a place we want", async () => {
      await site.addForeignRoute('10.9.0.0/16');
      await site.addForeignRoute('10.5.2.0/24');
      const { refused, ...rest } = await node.setRoutes(wanted);
      expect(rest).toEqual({ added: 8, replaced: 0, removed: 0, unchanged: 0 });
      expect(refused).toMatchObject([{ reason: 'Taken' }]);
      expect(String(refused[0]?.route.prefix)).toBe('10.5.2.0/24');
      await node.setRoutes([]);
      const others = await node.routes({ protocol: staticProtocol });
      expect(texts(others)).toEqual([
        '10.5.2.0/24 dev cad0 metric 0',
        '10.9.0.0/16 dev cad0 metric 0',
      ]);
    });

    test('of another metric stand beside another program', async () => {
      await site.addForeignRoute('10.5.2.0/24');
      const route = { prefix: p('10.5.2.0/24'), via: a('10.4.0.2'), device: 'cad0', metric: 9 };
      expect(await node.setRoutes([route])).toEqual(outcome({ added: 1 }));
      expect(await node.setRoutes([])).toEqual(outcome({ removed: 1 }));
      expect(await node.routes({ protocol: staticProtocol })).toHaveLength(1);
    });

    test('that cannot be used are refused one by one', async () => {
      const { added, refused } = await node.setRoutes([
        { prefix: p('10.5.2.0/24'), via: a('192.0.2.9'), device: 'cad0' },
        { prefix: p('10.5.3.0/24'), via: a('10.4.0.2'), device: 'cadnone' },
        { prefix: p('10.5.4.0/24'), via: a('10.4.0.2'), device: 'cad0' },
      ]);
      expect(added).toBe(1);
      const reasons = refused.map(({ route, reason }) => `${route.prefix} ${reason}`).sort();
      expect(reasons).toEqual(['10.5.2.0/24 Unusable', '10.5.3.0/24 Unusable']);
    });

    test('by the thousand', async () => {
      const many = Array.from({ length: 1500 }, (_, index) => ({
        prefix: p(`10.${64 + (index >> 8)}.${index & 255}.0/24`),
        via: a('10.4.0.2'),
        device: 'cad0',
      }));
      expect(await node.setRoutes(many)).toEqual(outcome({ added: 1500 }));
      expect(await node.setRoutes(many.slice(500))).toEqual(
        outcome({ removed: 500, unchanged: 1000 }),
      );
    });

    test('go with their interface', async () => {
      await node.createVeth({ name: 'cadv', peerName: 'cadw' });
      await node.changeLink('cadv', { isUp: true });
      await node.changeLink('cadw', { isUp: true });
      await node.setRoutes([{ prefix: p('10.5.2.0/24'), device: 'cadv' }]);
      await node.changeLink('cadv', { isUp: false });
      expect(await ours()).toEqual([]);
    });
  });

  describe('interfaces', () => {
    test('are made, changed, listed and deleted, the other end too', async () => {
      const path = await site.makeNamespace();
      const mac = '02:00:00:00:00:aa';
      const peerMac = '02:00:00:00:00:bb';
      const spec = { name: 'cadv', peerName: 'far0', peerNetnsPath: path, mtu: 1400 };
      const made = await node.createVeth({ ...spec, mac, peerMac });
      expect(made).toMatchObject({ name: 'cadv', kind: 'veth', mac, mtu: 1400, isUp: false });
      const inside = site.inside(path);
      expect(await inside.link('far0')).toMatchObject({ kind: 'veth', mac: peerMac, mtu: 1400 });
      await node.changeLink('cadv', { isUp: true, mtu: 1300, mac: '02:00:00:00:00:CC' });
      expect(await node.link('cadv')).toMatchObject({
        isUp: true,
        hasCarrier: false,
        mtu: 1300,
        mac: '02:00:00:00:00:cc',
      });
      expect((await node.links()).map(({ name }) => name)).toContain('cadv');
      await expect(node.createVeth(spec)).rejects.toMatchObject({ code: 'LINK_EXISTS' });
      expect(await node.deleteLink('cadv')).toBe(true);
      expect(await node.deleteLink('cadv')).toBe(false);
      expect(await node.link('cadv')).toBeUndefined();
      expect(await inside.link('far0')).toBeUndefined();
    });

    test("of other programs' names are not touched", async () => {
      const refusal = { code: 'BAD_INPUT' };
      await expect(node.deleteLink('lo')).rejects.toMatchObject(refusal);
      await expect(node.changeLink('lo', { isUp: false })).rejects.toMatchObject(refusal);
      await expect(node.createVeth({ name: 'eth7', peerName: 'x' })).rejects.toMatchObject(refusal);
      await expect(node.setAddresses('lo', [])).rejects.toMatchObject(refusal);
      await expect(node.changeLink('cadnone', { isUp: true })).rejects.toMatchObject({
        code: 'KERNEL_REFUSED',
        errno: 'ENODEV',
      });
    });

    test('carry the addresses that were declared', async () => {
      const held = async () =>
        ((await node.addresses()).get('cad0') ?? [])
          .map(({ address, length }) => `${address}/${length}`)
          .filter((text) => !text.startsWith('fe80'))
          .sort();
      expect(await held()).toEqual(['10.4.0.1/24', 'fd04::1/64']);
      const other = [
        { address: a('10.4.0.9'), length: 24 },
        { address: a('fd04::1'), length: 64 },
      ];
      expect(await node.setAddresses('cad0', other)).toBeGreaterThan(0);
      expect(await node.setAddresses('cad0', other)).toBe(0);
      expect(await held()).toEqual(['10.4.0.9/24', 'fd04::1/64']);
    });

    test('of VXLAN know who is where', async () => {
      const made = await node.createTunnel({
        kind: 'vxlan',
        name: 'cad.vxlan',
        vni: 83,
        mtu: 1450,
      });
      expect(made.tunnel).toEqual({ vni: 83, port: 8472, isExternal: false });
      const entries = [
        { mac: '02:00:00:00:00:01', remote: a('10.4.0.2') },
        { mac: '02:00:00:00:00:02', remote: a('10.4.0.3') },
      ];
      const forwarding = async () =>
        (await node.forwardingEntries('cad.vxlan')).map((e) => `${e.mac} ${e.remote}`).sort();
      expect(await node.setForwardingEntries('cad.vxlan', entries)).toBe(2);
      expect(await node.setForwardingEntries('cad.vxlan', entries)).toBe(0);
      expect(await forwarding()).toEqual([
        '02:00:00:00:00:01 10.4.0.2',
        '02:00:00:00:00:02 10.4.0.3',
      ]);
      await node.setForwardingEntries('cad.vxlan', [
        { mac: '02:00:00:00:00:02', remote: a('10.4.0.9') },
      ]);
      expect(await forwarding()).toEqual(['02:00:00:00:00:02 10.4.0.9']);

      const neighbours = async () =>
        (await node.neighbours('cad.vxlan'))
          .filter(({ address }) => !String(address).startsWith('ff'))
          .map((n) => `${n.address} ${n.mac}`)
          .sort();
      await node.changeLink('cad.vxlan', { isUp: true });
      const two = [
        { address: a('10.4.0.2'), mac: '02:00:00:00:00:01' },
        { address: a('fe80::2'), mac: '02:00:00:00:00:01' },
      ];
      expect(await node.setNeighbours('cad.vxlan', two)).toBe(2);
      expect(await node.setNeighbours('cad.vxlan', two)).toBe(0);
      await node.setNeighbours('cad.vxlan', [
        { address: a('10.4.0.2'), mac: '02:00:00:00:00:02' },
        { address: a('10.4.0.3'), mac: '02:00:00:00:00:03' },
      ]);
      expect(await neighbours()).toEqual([
        '10.4.0.2 02:00:00:00:00:02',
        '10.4.0.3 02:00:00:00:00:03',
      ]);
    });

    test('of VXLAN in external mode take the outer header from the route', async () => {
      await node.createTunnel({ kind: 'vxlan', name: 'cad.vxlan', isExternal: true });
      await node.changeLink('cad.vxlan', { isUp: true });
      const tunnel = { vni: 83, remote: a('10.4.0.2') };
      const route = { prefix: p('10.5.2.0/24'), device: 'cad.vxlan', tunnel };
      expect(await node.setRoutes([route])).toEqual(outcome({ added: 1 }));
      expect(await node.setRoutes([route])).toEqual(outcome({ unchanged: 1 }));
      const moved = { ...route, tunnel: { vni: 83, remote: a('10.4.0.3') } };
      expect(await node.setRoutes([moved])).toEqual(outcome({ replaced: 1 }));
    });
  });

  describe('a pod', () => {
    test('is wired on both sides, checked, and unwired without a trace', async () => {
      const before = [(await node.links()).length, (await node.routes()).length];
      const path = await site.makeNamespace();
      const { podMac, mtu } = await node.wirePod(wiring(path));
      expect(mtu).toBe(1400);
      expect(texts(await node.routes({ protocol: podRouteProtocol }))).toEqual([
        '10.5.1.7/32 dev cadpod1 metric 0',
        'fd05::7/128 dev cadpod1 metric 1024',
      ]);
      const pod = site.inside(path);
      expect(await pod.link('eth0')).toMatchObject({
        isUp: true,
        hasCarrier: true,
        mac: podMac,
        mtu,
      });
      expect(texts(await pod.routes({ protocol: podRouteProtocol }))).toEqual([
        '0.0.0.0/0 via 169.254.1.1 dev eth0 onlink metric 0',
        '::/0 via fe80::1 dev eth0 onlink metric 1024',
      ]);
      expect(await node.checkPod(wiring(path))).toEqual({ kind: 'fine' });
      expect(await node.unwirePod({ hostIfName: 'cadpod1' })).toBe(true);
      expect(await node.unwirePod({ hostIfName: 'cadpod1' })).toBe(false);
      expect(await pod.link('eth0')).toBeUndefined();
      expect([(await node.links()).length, (await node.routes()).length]).toEqual(before);
    });

    test('has routes that a declaration of the node does not touch', async () => {
      const path = await site.makeNamespace();
      await node.wirePod(wiring(path));
      await node.setRoutes([{ prefix: p('10.5.1.0/24'), type: 'blackhole' }]);
      await node.setRoutes([]);
      expect(await node.checkPod(wiring(path))).toEqual({ kind: 'fine' });
    });

    test('gets the MAC, the words, the gateway and the destinations that were asked for', async () => {
      const path = await site.makeNamespace();
      const asked = wiring(path, {
        mac: '02:00:00:00:00:77',
        alias: 'pod x/eth0 /run/netns/x',
        addresses: [a('10.5.1.7')],
        gateway: { ipv4: a('10.5.1.1') },
        routes: [p('10.0.0.0/8'), p('fd00::/8')],
      });
      expect((await node.wirePod(asked)).podMac).toBe('02:00:00:00:00:77');
      expect(await node.link('cadpod1')).toMatchObject({ alias: 'pod x/eth0 /run/netns/x' });
      const inside = site.inside(path);
      expect(texts(await inside.routes({ protocol: podRouteProtocol }))).toEqual([
        '10.0.0.0/8 via 10.5.1.1 dev eth0 onlink metric 0',
      ]);
      expect(await node.checkPod(asked)).toEqual({ kind: 'fine' });
    });

    test('whose namespace is not there is refused, and nothing is left', async () => {
      const links = (await node.links()).length;
      const gone = wiring('/run/netns/cad-no-such');
      await expect(node.wirePod(gone)).rejects.toMatchObject({ code: 'NAMESPACE_GONE' });
      expect(await node.links()).toHaveLength(links);
      expect(await node.hasNamespace('/run/netns/cad-no-such')).toBe(false);
      const check = await node.checkPod(gone);
      expect(check).toMatchObject({ kind: 'broken' });
    });

    test('that is there already is refused, and stays as it is', async () => {
      const path = await site.makeNamespace();
      await node.wirePod(wiring(path));
      const refusal = { code: 'LINK_EXISTS' };
      await expect(node.wirePod(wiring(path))).rejects.toMatchObject(refusal);
      const second = wiring(path, { hostIfName: 'cadpod2', addresses: [a('10.5.1.8')] });
      await expect(node.wirePod(second)).rejects.toMatchObject(refusal);
      expect(await node.checkPod(wiring(path))).toEqual({ kind: 'fine' });
      expect(await node.link('cadpod2')).toBeUndefined();
    });

    test('whose address another pod has is refused, and nothing is left', async () => {
      const [one, two] = [await site.makeNamespace(), await site.makeNamespace()];
      await node.wirePod(wiring(one));
      const thief = wiring(two, { hostIfName: 'cadpod2' });
      await expect(node.wirePod(thief)).rejects.toMatchObject({ errno: 'EEXIST' });
      expect(await node.link('cadpod2')).toBeUndefined();
      expect(await site.inside(two).link('eth0')).toBeUndefined();
      expect(await node.checkPod(wiring(one))).toEqual({ kind: 'fine' });
    });

    test('can be unwired after its namespace has gone', async () => {
      const path = await site.makeNamespace();
      await node.wirePod(wiring(path));
      await site.removeNamespace(path);
      await node.unwirePod({ hostIfName: 'cadpod1' });
      expect(await node.link('cadpod1')).toBeUndefined();
      expect(await node.routes({ protocol: podRouteProtocol })).toEqual([]);
    });

    test('that lost something is reported with what it lost', async () => {
      const path = await site.makeNamespace();
      await node.wirePod(wiring(path));
      await site.removeAsAnother('10.5.1.7/32');
      await node.changeLink('cadpod1', { mtu: 1280 });
      const check = await node.checkPod(wiring(path, { mtu: 1400 }));
      expect(check).toEqual({
        kind: 'broken',
        problems: [
          'cadpod1 on the host has MTU 1280, not 1400',
          'the host lacks the route 10.5.1.7/32 dev cadpod1 metric 0',
        ],
      });
    });

    test("whose host's end lost something gets it back, and nothing else is touched", async () => {
      const path = await site.makeNamespace();
      const whole = wiring(path);
      await node.wirePod(whole);
      await site.removeAsAnother('10.5.1.7/32');
      await node.repairPod(whole);
      expect(await node.checkPod(whole)).toEqual({ kind: 'fine' });
      // With the interface go the routes.
      await node.changeLink('cadpod1', { isUp: false });
      expect(await node.checkPod(whole)).toMatchObject({ kind: 'broken' });
      await node.repairPod(whole);
      await node.repairPod(whole);
      expect(await node.checkPod(whole)).toEqual({ kind: 'fine' });
      await node.unwirePod(whole);
      await expect(node.repairPod(whole)).rejects.toMatchObject({ errno: 'ENODEV' });
    });

    test('has a namespace of its own, and the node another', async () => {
      const path = await site.makeNamespace();
      expect(await node.isOwnNamespace(path)).toBe(false);
      expect(await site.inside(path).isOwnNamespace(path)).toBe(true);
      expect(await node.isOwnNamespace('/run/netns/cad-no-such')).toBe(false);
    });

    test('comes and goes beside many others', async () => {
      const paths = await Promise.all(Array.from({ length: 8 }, () => site.makeNamespace()));
      const wirings = paths.map((path, index) =>
        wiring(path, {
          hostIfName: `cadpod${index}`,
          addresses: [a(`10.5.1.${index}`), a(`fd05::${index}`)],
        }),
      );
      await Promise.all(wirings.map((each) => node.wirePod(each)));
      const checks = await Promise.all(wirings.map((each) => node.checkPod(each)));
      expect(checks.every(({ kind }) => kind === 'fine')).toBe(true);
      await Promise.all(wirings.map((each) => node.unwirePod(each)));
      expect((await node.links()).filter(({ name }) => name.startsWith('cadpod'))).toEqual([]);
    });
  });

  test('settings are read and written in the right namespace', async () => {
    const path = await site.makeNamespace();
    await node.writeSetting({ kind: 'forwarding', family: 'ipv4' }, 1);
    await node.writeSetting({ kind: 'forwarding', family: 'ipv6' }, 1);
    await node.writeSetting({ kind: 'reversePathFilter', link: 'cad0' }, 2);
    await node.writeSetting({ kind: 'proxyArp', link: 'cad0' }, 1);
    await node.writeSetting({ kind: 'proxyNdp', link: 'cad0' }, 1);
    expect(await node.readSetting({ kind: 'forwarding', family: 'ipv4' })).toBe(1);
    expect(await node.readSetting({ kind: 'forwarding', family: 'ipv6' })).toBe(1);
    expect(await node.readSetting({ kind: 'reversePathFilter', link: 'cad0' })).toBe(2);
    expect(await node.readSetting({ kind: 'proxyArp', link: 'cad0' })).toBe(1);
    const inside = site.inside(path);
    expect(await inside.readSetting({ kind: 'forwarding', family: 'ipv6' })).toBe(0);
    await expect(node.readSetting({ kind: 'proxyArp', link: 'cadnone' })).rejects.toMatchObject({
      code: 'KERNEL_REFUSED',
    });
  });

  test('masquerade is declared as a whole, read back, and removed', async () => {
    const read = async () => {
      const rules = await node.masquerade();
      if (rules === undefined || rules === 'changed') return rules;
      return [rules.sources.map(String).sort(), rules.exceptions.map(String).sort()];
    };
    expect(await read()).toBeUndefined();
    const sources = [p('10.5.1.0/24'), p('10.5.9.4/32'), p('fd05::/64')];
    await node.setMasquerade({ sources, exceptions: [p('10.0.0.0/8'), p('192.0.2.1/32')] });
    const wanted = [
      ['10.5.1.0/24', '10.5.9.4/32', 'fd05::/64'],
      ['10.0.0.0/8', '192.0.2.1/32'],
    ];
    expect(await read()).toEqual(wanted);
    await node.setMasquerade({ sources: [p('10.5.1.0/24')], exceptions: [] });
    expect(await read()).toEqual([['10.5.1.0/24'], []]);
    // Neighbours come back in the fewest prefixes.
    const neighbours = [1, 2, 3].map((n) => p(`10.6.${n}.0/24`));
    await node.setMasquerade({ sources: [p('10.5.1.0/24')], exceptions: neighbours });
    expect(await read()).toEqual([['10.5.1.0/24'], ['10.6.1.0/24', '10.6.2.0/23']]);
    await node.setMasquerade(undefined);
    await node.setMasquerade(undefined);
    expect(await read()).toBeUndefined();
  });

  test("a watcher hears of other programs' changes to ours", async () => {
    const events: KernelEvent[] = [];
    const stop = node.watch((event) => events.push(event));
    await node.setRoutes([{ prefix: p('10.5.2.0/24'), via: a('10.4.0.2'), device: 'cad0' }]);
    await site.removeAsAnother('10.5.2.0/24');
    await node.createVeth({ name: 'cadv', peerName: 'cadw' });
    await node.deleteLink('cadv');
    const heard = () =>
      events.flatMap((event) => {
        if (event.kind === 'route') return `${event.change} ${event.route.prefix}`;
        return event.kind === 'link' ? `${event.change} ${event.link.name}` : [];
      });
    await expect
      .poll(heard)
      .toEqual(
        expect.arrayContaining([
          'set 10.5.2.0/24',
          'removed 10.5.2.0/24',
          'set cadv',
          'removed cadv',
          'removed cadw',
        ]),
      );
    stop();
    const count = events.length;
    await node.setRoutes([]);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(events).toHaveLength(count);
  });
}

function outcome(counts: Partial<Record<'added' | 'replaced' | 'removed' | 'unchanged', number>>) {
  return { added: 0, replaced: 0, removed: 0, unchanged: 0, refused: [], ...counts };
}
