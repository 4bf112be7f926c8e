/**
 * One story per feature, the same for every router. What is
 * asserted is what the router itself says it holds.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Announcement } from '../../src/bgp/rib/announcement.ts';
import type { RestartEvidence } from '../../src/bgp/session/session-negotiation.ts';
import { clusterPeerDefaults } from '../../src/model/bgp-peer.ts';
import type { PeerSettings } from '../../src/model/peer-settings.ts';
import { type Feature, FeatureColumn } from './features.ts';
import { eventually, type Link, makeLink, sweepDeadRuns } from './link.ts';
import type { Router, RouterSettings, RunningRouter, TableRoute } from './routers/router.ts';
import { SpeakerProcess } from './speaker-process.ts';

const { holdSeconds, gracefulRestartSeconds } = clusterPeerDefaults;
const clusterTimes = { holdSeconds, gracefulRestartSeconds };
const routerAsn = 64524;
const pod4 = '10.5.113.0/24';
const pod6 = 'fd00:5:113::/64';

export function describeRouter(router: Router): void {
  const column = new FeatureColumn(router);
  /** A story about what the router itself lacks is skipped; the table has the reason. */
  const testOf = (feature: Feature) => (router.lacks[feature] === undefined ? test : () => {});

  describe(`${router.name} and we`, () => {
    let link: Link;
    let theirs: RunningRouter | undefined;
    let ours: SpeakerProcess | undefined;

    beforeAll(sweepDeadRuns);
    beforeEach(async () => {
      link = await makeLink();
    });
    afterEach(async (context) => {
      if (context.task.result?.state === 'fail') {
        console.log(`${theirs?.log().slice(-4000)}\n--- ours ---\n${ours?.log().slice(-4000)}`);
      }
      await ours?.kill();
      await theirs?.stop();
      ours = theirs = undefined;
      await link.remove();
    });
    afterAll(() => column.save());

    interface Setup {
      ourAsn?: number;
      weConnect?: boolean;
      overIpv6?: boolean;
      router?: Partial<RouterSettings>;
      peer?: Partial<PeerSettings>;
      announcements: Announcement[];
    }

    const settings = (setup: Setup): PeerSettings => {
      const ourAsn = setup.ourAsn ?? 64513;
      return {
        address: setup.overIpv6 ? link.their6 : link.their4,
        asn: setup.router?.asn ?? routerAsn,
        localAsn: ourAsn,
        routerId: link.our4,
        isPassive: setup.weConnect === false,
        connectRetrySeconds: 1,
        holdSeconds: 30,
        nextHop: { ipv4: link.our4, ipv6: link.our6 },
        ...setup.peer,
      };
    };

    async function meet(setup: Setup): Promise<{ router: RunningRouter; us: SpeakerProcess }> {
      const { overIpv6, weConnect = true } = setup;
      theirs = await router.start(link, {
        asn: routerAsn,
        routerId: link.their4,
        neighborAddress: overIpv6 ? link.our6 : link.our4,
        neighborAsn: setup.ourAsn ?? 64513,
        localAddress: overIpv6 ? link.their6 : link.their4,
        isPassive: weConnect,
        ...setup.router,
      });
      return { router: theirs, us: await come(setup) };
    }

    async function come(setup: Setup, evidence?: RestartEvidence): Promise<SpeakerProcess> {
      ours = await SpeakerProcess.start(link, evidence === undefined ? {} : { evidence });
      expect(await ours.call('setPeers', [settings(setup)])).toEqual([]);
      expect(await ours.call('set', setup.announcements)).toEqual([]);
      const running = theirs;
      await eventually('the router says Established', () => running?.isEstablished() ?? false);
      return ours;
    }

    const prefixes = async (family: 'ipv4' | 'ipv6') =>
      (await theirs!.routes(family)).map((route) => route.prefix).sort();
    const holds = (family: 'ipv4' | 'ipv6', expected: readonly string[]) =>
      eventually(
        `the router holds ${expected.length} ${family} routes`,
        () => prefixes(family),
        (list) => list.join() === [...expected].sort().join(),
      );
    const route = async (prefix: string, isRight: (held: TableRoute) => boolean) => {
      const family = prefix.includes(':') ? 'ipv6' : 'ipv4';
      const [held] = await eventually(
        `the router holds ${prefix} as expected`,
        async () => (await theirs!.routes(family)).filter((held) => held.prefix === prefix),
        (paths) => paths.length === 1 && paths.every(isRight),
      );
      return held!;
    };

    test('announce with attributes, change them, withdraw: eBGP with a 4-octet AS', async () => {
      const asn = 4200000001;
      const first: Announcement = {
        prefix: pod4,
        communities: ['64513:100', 'no-export'],
        largeCommunities: ['4200000001:1:2'],
        med: 50,
        prepend: 1,
      };
      const { us } = await meet({ ourAsn: asn, announcements: [first, { prefix: pod6 }] });
      const held4 = await route(pod4, (held) => held.asPath.length > 0);
      expect(held4).toMatchObject({
        nextHop: link.our4,
        asPath: [asn, asn],
        communities: ['64513:100', '65535:65281'],
        largeCommunities: ['4200000001:1:2'],
        med: 50,
      });
      const held6 = await route(pod6, (held) => held.asPath.length > 0);
      expect(held6).toMatchObject({ nextHop: link.our6, asPath: [asn], communities: [] });
      column.proved('active', 'eBGP', '4-octet AS', 'IPv4', 'IPv6', 'IPv4 transport', 'announce');

      await us.call('set', [
        { prefix: pod4, communities: ['64513:200'], med: 60 },
        { prefix: pod6 },
      ]);
      const changed = await route(pod4, (held) => held.med === 60);
      expect(changed).toMatchObject({
        nextHop: link.our4,
        asPath: [asn],
        communities: ['64513:200'],
        largeCommunities: [],
      });
      // A change of attributes is one UPDATE, not a withdrawal and an announcement.
      expect((await us.peer()).counters?.sent.updates).toBe(2 + 2 + 1);
      column.proved('change attributes');

      await us.call('set', [{ prefix: pod6 }]);
      await holds('ipv4', []);
      await holds('ipv6', [pod6]);
      await us.call('set', []);
      await holds('ipv6', []);
      expect(await theirs!.isEstablished()).toBe(true);
      column.proved('withdraw');
    });

    test('we wait and the router connects: iBGP with a 2-octet AS over IPv6', async () => {
      await meet({
        ourAsn: routerAsn,
        weConnect: false,
        overIpv6: true,
        announcements: [
          { prefix: pod4, localPref: 250, communities: ['64524:7'] },
          { prefix: pod6, nextHop: 'fd00:88::77' },
        ],
      });
      const held4 = await route(pod4, () => true);
      expect(held4).toMatchObject({
        nextHop: link.our4,
        asPath: [],
        localPref: 250,
        communities: ['64524:7'],
      });
      const held6 = await route(pod6, () => true);
      expect(held6).toMatchObject({ nextHop: 'fd00:88::77', asPath: [], localPref: 100 });
      column.proved('passive', 'iBGP', '2-octet AS', 'IPv6 transport', 'IPv4', 'IPv6');
    });

    testOf('both connect')('both connect at once, and one session comes of it', async () => {
      // Once with the higher identifier on our side, once on theirs: the other connection stays.
      for (const routerId of ['10.88.0.1', '10.88.0.99']) {
        const { us } = await meet({
          peer: { routerId },
          router: { isPassive: false },
          announcements: [{ prefix: pod4 }],
        });
        await holds('ipv4', [pod4]);
        expect((await us.peer()).state).toBe('Established');
        await us.kill();
        await theirs!.stop();
      }
      theirs = undefined;
      column.proved('both connect');
    });

    testOf('extended next hop')('IPv4 routes with an IPv6 next hop', async () => {
      await meet({
        overIpv6: true,
        router: { hasExtendedNextHop: true },
        peer: { nextHop: {} },
        announcements: [{ prefix: pod4 }, { prefix: pod6 }],
      });
      expect(await route(pod4, () => true)).toMatchObject({ nextHop: link.our6, asPath: [64513] });
      expect(await route(pod6, () => true)).toMatchObject({ nextHop: link.our6 });
      column.proved('extended next hop');
    });

    testOf('no AS4 capability')('a router that knows only 2-octet AS numbers', async () => {
      await meet({ router: { hasAs4: false }, announcements: [{ prefix: pod4, prepend: 2 }] });
      const held = await route(pod4, () => true);
      expect(held).toMatchObject({ asPath: [64513, 64513, 64513], nextHop: link.our4 });
      column.proved('no AS4 capability', '2-octet AS');
    });

    testOf('route refresh')('route refresh is answered', async () => {
      const { us } = await meet({ announcements: [{ prefix: pod4 }, { prefix: pod6 }] });
      await holds('ipv4', [pod4]);
      await eventually('our table is out', async () => (await us.peer()).isInSync);
      const before = (await us.peer()).counters!;
      await theirs!.requestRefresh();
      await eventually(
        'a refresh was asked for and answered',
        async () => (await us.peer()).counters!,
        (now) =>
          now.received.refreshes > before.received.refreshes &&
          now.sent.updates > before.sent.updates,
      );
      await holds('ipv4', [pod4]);
      expect(await theirs!.isEstablished()).toBe(true);
      column.proved('route refresh');
    });

    test('a node that will go says so with GRACEFUL_SHUTDOWN, without a reset', async () => {
      const setup: Setup = { announcements: [{ prefix: pod4, communities: ['64513:1'] }] };
      const { us } = await meet(setup);
      await route(pod4, () => true);
      await us.call('setPeers', [{ ...settings(setup), gracefulShutdown: true }]);
      const held = await route(pod4, ({ communities }) => communities.length === 2);
      expect(held.communities).toEqual(['64513:1', '65535:0']);
      expect((await us.peer()).counters?.established).toBe(1);
      column.proved('graceful shutdown');
    });

    test('1,000 routes, and back to none', async () => {
      const many = Array.from({ length: 1000 }, (_, i) => `10.${100 + (i >> 8)}.${i & 255}.0/24`);
      const { us } = await meet({ announcements: many.map((prefix) => ({ prefix })) });
      await holds('ipv4', many);
      await us.call('set', []);
      await holds('ipv4', []);
      expect(await theirs!.isEstablished()).toBe(true);
      column.proved('1,000 routes');
    });

    test('who falls silent is noticed, on both sides, and comes back', async () => {
      const { us } = await meet({
        router: { holdSeconds: 3 },
        peer: { holdSeconds: 3 },
        announcements: [{ prefix: pod4 }],
      });
      await holds('ipv4', [pod4]);
      theirs!.freeze();
      const down = await eventually(
        'our hold timer expires',
        () => us.peer(),
        (peer) => peer.state !== 'Established',
      );
      expect(down.lastError).toContain('hold timer expired');
      theirs!.thaw();
      await eventually('the session is back', () => theirs!.isEstablished());
      await holds('ipv4', [pod4]);

      us.child.kill('SIGSTOP');
      await eventually('the router notices', async () => !(await theirs!.isEstablished()));
      await holds('ipv4', []);
      us.child.kill('SIGCONT');
      await eventually('the session is back', () => theirs!.isEstablished());
      await holds('ipv4', [pod4]);
      column.proved('hold expiry');
    });

    test('without graceful restart both exits take the routes away', async () => {
      const setup: Setup = { announcements: [{ prefix: pod4 }] };
      const { us } = await meet(setup);
      await holds('ipv4', [pod4]);
      await us.leave('restart');
      await holds('ipv4', []);
      column.proved('exit: restart');
      const again = await come(setup);
      await holds('ipv4', [pod4]);
      await again.leave('drain');
      await holds('ipv4', []);
      expect(await theirs!.isEstablished()).toBe(false);
      column.proved('exit: drain');
    });

    testOf('graceful restart')(
      'routes stay through a restart and a kill -9, and leave on a drain',
      async () => {
        const gone = '10.5.114.0/24';
        const setup: Setup = {
          // With the times that a peer of a cluster has where it names none.
          peer: clusterTimes,
          announcements: [{ prefix: pod4 }, { prefix: pod6 }, { prefix: gone }],
        };
        const { us } = await meet(setup);
        await holds('ipv4', [pod4, gone]);
        await holds('ipv6', [pod6]);
        await eventually('our table is out', async () => (await us.peer()).isInSync);
        await us.leave('restart');
        await eventually('the router saw us go', async () => !(await theirs!.isEstablished()));
        expect(await prefixes('ipv4')).toEqual([pod4, gone]);
        expect(await prefixes('ipv6')).toEqual([pod6]);

        const evidence: RestartEvidence = { hasRestarted: true, forwarding: ['ipv4', 'ipv6'] };
        const kept = { ...setup, announcements: [{ prefix: pod4 }, { prefix: pod6 }] };
        const missed: string[] = [];
        let isWatching = true;
        const watch = (async () => {
          while (isWatching) if (!(await prefixes('ipv4')).includes(pod4)) missed.push(pod4);
        })();
        const second = await come(kept, evidence);
        // What was not repeated before End-of-RIB goes; the rest was never away.
        await holds('ipv4', [pod4]);
        await holds('ipv6', [pod6]);
        await eventually('our table is out', async () => (await second.peer()).isInSync);
        await second.kill();
        await eventually('the router saw us go', async () => !(await theirs!.isEstablished()));
        const again = await come(kept, evidence);
        await eventually('our table is out', async () => (await again.peer()).isInSync);
        await holds('ipv4', [pod4]);
        await holds('ipv6', [pod6]);
        isWatching = false;
        await watch;
        expect(missed).toEqual([]);

        await again.leave('drain');
        await holds('ipv4', []);
        await holds('ipv6', []);
        column.proved('graceful restart', 'exit: restart', 'exit: drain');
      },
    );

    testOf('silent death')('who dies without a word is left after the hold time', async () => {
      // If the restart time came on top, this would take ten minutes.
      const { us } = await meet({
        router: { holdSeconds: 3 },
        peer: { holdSeconds: 3, gracefulRestartSeconds: 600 },
        announcements: [{ prefix: pod4 }],
      });
      await holds('ipv4', [pod4]);
      await eventually('our table is out', async () => (await us.peer()).isInSync);
      // Power off: not even the kernel's last words arrive.
      await link.inOurs('ip', 'route', 'add', 'blackhole', `${link.their4}/32`);
      await us.kill();
      await holds('ipv4', []);
      column.proved('silent death');
    });

    testOf('TCP-MD5')('TCP-MD5, with either side connecting', async () => {
      for (const weConnect of [true, false]) {
        await meet({
          weConnect,
          router: { password: 'kadaster' },
          peer: { password: 'kadaster' },
          announcements: [{ prefix: pod4 }],
        });
        await holds('ipv4', [pod4]);
        await ours!.kill();
        await theirs!.stop();
      }
      theirs = undefined;
      column.proved('TCP-MD5');
    });

    testOf('GTSM')('TTL security', async () => {
      for (const weConnect of router.onlyConnectsWithGtsm ? [false] : [true, false]) {
        await meet({
          weConnect,
          router: { hasGtsm: true },
          peer: { ttlSecurityHops: 1 },
          announcements: [{ prefix: pod4 }],
        });
        await holds('ipv4', [pod4]);
        await ours!.kill();
        await theirs!.stop();
      }
      theirs = undefined;
      if (router.onlyConnectsWithGtsm) column.provedInPart('GTSM', 'when it connects');
      else column.proved('GTSM');
    });
  });
}
