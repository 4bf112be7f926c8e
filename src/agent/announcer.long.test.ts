/** The announcer with a real speaker, over loopback, and routers that advertise something back. */
import { afterEach, describe, expect, test } from 'vitest';
import { quick, until } from '../../test/parts/bgp-pair.ts';
import { silentLog } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import { ReceivedRoutes } from '../bgp/rib/received-routes.ts';
import { Speaker } from '../bgp/speaker/speaker.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { NodePeer } from '../plan/node/node-peers.ts';
import { Announcer } from './announcer.ts';

const block = '10.5.113.0/24';
const service = '10.6.0.1/32';
const own = [parsePrefix(block)!, parsePrefix('fd00:5:113::/64')!];
const others = [parsePrefix('10.5.114.0/24')!, parsePrefix('10.5.115.0/24')!];
const isOtherNode = (address: string) => address === '10.4.94.21';
const elsewhere = { prefix: block, nextHop: '10.4.94.21' };

/** Everything that was ever received, in order: `+10.5.113.0/24`, `-…`, `end-of-rib`. */
class Router {
  readonly heard: string[] = [];
  readonly speaker: Speaker;
  readonly address: string;

  private constructor(address: string) {
    this.address = address;
    const received = new ReceivedRoutes();
    this.speaker = new Speaker({
      ...received.events,
      listen: { address, port: 0 },
      onUpdate: (peer, update) => {
        this.heard.push(...update.nlri.toArray().map((nlri) => `+${nlri}`));
        this.heard.push(...update.withdrawn.toArray().map((nlri) => `-${nlri}`));
        if (update.endOfRib?.afi === 1) this.heard.push('end-of-rib');
        received.events.onUpdate(peer, update);
      },
    });
  }

  static async start(address = '127.0.0.2'): Promise<Router> {
    const router = new Router(address);
    await router.speaker.listen();
    router.open();
    router.speaker.set([]);
    return router;
  }

  /** Takes the node's session; without it a connection is refused. */
  open(): void {
    this.speaker.setPeers([
      {
        name: 'node',
        address: '127.0.0.1',
        asn: 64513,
        localAsn: 64524,
        routerId: this.address,
        isPassive: true,
        nextHop: { ipv4: '10.4.94.1', ipv6: 'fd04:94::1' },
        gracefulRestartSeconds: 5,
        ...quick,
      },
    ]);
  }

  shut(): void {
    this.speaker.setPeers([]);
  }
}

class Bench {
  readonly routers: Router[] = [];
  monotonicMs = 0;
  pausedMs = 0;
  changes = 0;
  readonly metrics = new Metrics();
  readonly announcer = new Announcer({
    listen: false,
    openSpeaker: (options) => new Speaker(options),
    hasRestarted: () => false,
    clock: {
      monotonicMs: () => performance.now() + this.monotonicMs,
      wallMs: () => Date.now() + this.monotonicMs + this.pausedMs,
    },
    log: silentLog,
    metrics: this.metrics,
    onChange: () => {
      this.changes += 1;
    },
  });

  declare(blocks = [block], services = [service]): void {
    const peers = this.routers.map(
      ({ address, speaker }, at): NodePeer => ({
        name: `tor${at + 1}`,
        address,
        port: speaker.port,
        localAddress: '127.0.0.1',
        asn: 64524,
        localAsn: 64513,
        routerId: '10.4.94.32',
        nextHop: { ipv4: '10.4.94.32', ipv6: 'fd04:94::32' },
        gracefulRestartSeconds: 5,
        ...quick,
      }),
    );
    const of = (all: string[]) => all.map((prefix) => ({ prefix }));
    this.announcer.declare(peers, { blocks: of(blocks), services: of(services) });
  }

  get isUp(): boolean {
    return this.announcer.contact(own).lastUpMs === Number.POSITIVE_INFINITY;
  }

  hijacks(): string[] {
    return this.announcer
      .contact(own, isOtherNode)
      .hijacks.map(({ peer, prefix, nextHop }) => `${peer} ${prefix} ${nextHop}`);
  }
}

let bench: Bench;
afterEach(async () => {
  await bench.announcer.close('restart');
  await Promise.all(bench.routers.map(({ speaker }) => speaker.close('restart')));
});

async function begin(count = 1): Promise<Bench> {
  bench = new Bench();
  for (let at = 0; at < count; at++) bench.routers.push(await Router.start(`127.0.0.${2 + at}`));
  bench.declare();
  const heard = ({ heard }: Router) => heard.includes(`+${block}`) && heard.includes('end-of-rib');
  await until('the routers hold the block', () => bench.routers.every(heard));
  return bench;
}

describe('a hijack', () => {
  test('wakes the agent when it comes, and when it goes', async () => {
    const { routers, announcer } = await begin();
    expect(bench.hijacks()).toEqual([]);
    const before = bench.changes;
    routers[0]!.speaker.set([elsewhere, { prefix: '10.5.113.7/32' }, { prefix: '10.5.112.0/21' }]);
    await until('it is noticed', () => bench.changes > before && bench.hijacks().length === 2);
    expect(announcer.contact(own, isOtherNode).hijacks[0]).toMatchObject({
      cidr: block,
      prefix: block,
      peer: 'tor1',
      nextHop: '10.4.94.21',
      ownNextHop: '10.4.94.32',
    });
    expect(bench.hijacks()[1]).toBe('tor1 10.5.113.7/32 10.4.94.1');
    const between = bench.changes;
    routers[0]!.speaker.set([]);
    await until('it is over', () => bench.changes > between && bench.hijacks().length === 0);
  });

  test('is seen in IPv6, and in a table larger than is kept', async () => {
    const { routers } = await begin();
    bench.hijacks();
    const many = Array.from({ length: 21_000 }, (_, i) => ({
      prefix: `10.${128 + (i >> 14)}.${(i >> 6) & 255}.${(i & 63) << 2}/30`,
    }));
    routers[0]!.speaker.set(many);
    await until(
      'the table is there',
      () => (bench.announcer.sessions()[0]?.families?.[0]?.received ?? 0) >= 20_000,
    );
    routers[0]!.speaker.set([
      ...many,
      elsewhere,
      { prefix: 'fd00:5:113::/65', nextHop: 'fd04:94::21' },
    ]);
    await until('both are noticed', () => bench.hijacks().length === 2);
    expect(bench.hijacks()).toEqual([
      'tor1 10.5.113.0/24 10.4.94.21',
      'tor1 fd00:5:113::/65 fd04:94::21',
    ]);
  });

  test('was there before the block was', async () => {
    const { routers, announcer } = await begin();
    routers[0]!.speaker.set([{ prefix: '10.5.114.0/24' }]);
    await until('it is received', () => announcer.sessions()[0]?.families?.[0]?.received === 1);
    expect(announcer.contact(own).hijacks).toEqual([]);
    expect(announcer.contact(others).hijacks).toHaveLength(1);
  });

  test('ends with the session that it was heard on', async () => {
    const { routers } = await begin();
    routers[0]!.speaker.set([elsewhere]);
    await until('it is noticed', () => bench.hijacks().length === 1);
    routers[0]!.shut();
    await until('it is over', () => bench.hijacks().length === 0);
    expect(bench.isUp).toBe(false);
  });
});

describe('after a time without any router', () => {
  /** The session ends, time passes, and the session is established again. */
  async function lose(afterMs: { monotonic?: number; paused?: number }): Promise<void> {
    const [router] = bench.routers;
    router!.shut();
    await until('the session is down', () => !bench.isUp);
    router!.heard.length = 0;
    bench.monotonicMs += afterMs.monotonic ?? 0;
    bench.pausedMs += afterMs.paused ?? 0;
    router!.open();
    await until('everything was sent again', () => router!.heard.includes('end-of-rib'));
  }

  test.each([
    ['that went by', { monotonic: 61_000 }],
    ['that the machine was paused', { paused: 61_000 }],
  ])('%s, blocks wait for a confirmation and Services do not', async (_, afterMs) => {
    const { announcer, routers } = await begin();
    announcer.withholdBlocksAfterMs = 60_000;
    await lose(afterMs);
    expect(routers[0]!.heard).toEqual([`+${service}`, 'end-of-rib']);
    expect(announcer.isWithholding).toBe(true);
    // The agent declares on every round; that is no confirmation.
    bench.declare();
    announcer.confirm();
    await until('the block is back', () => routers[0]!.heard.includes(`+${block}`));
    expect(routers[0]!.heard).toEqual([`+${service}`, 'end-of-rib', `+${block}`]);
    expect(announcer.isWithholding).toBe(false);
  });

  test('that was short, or without a limit, everything is announced', async () => {
    const { announcer, routers } = await begin();
    await lose({ monotonic: 3_600_000 });
    announcer.withholdBlocksAfterMs = 60_000;
    expect(routers[0]!.heard).toContain(`+${block}`);
    await lose({ monotonic: 30_000 });
    expect(routers[0]!.heard).toContain(`+${block}`);
    expect(announcer.isWithholding).toBe(false);
  });

  test('in which the process was frozen, with the session established to the end', async () => {
    const { announcer, routers } = await begin();
    announcer.withholdBlocksAfterMs = 60_000;
    expect(bench.isUp).toBe(true);
    // Nothing of ours runs in between: the first thing that happens is the end of the session.
    bench.monotonicMs += 61_000;
    routers[0]!.heard.length = 0;
    routers[0]!.shut();
    routers[0]!.open();
    await until('everything was sent again', () => routers[0]!.heard.includes('end-of-rib'));
    expect(routers[0]!.heard).toEqual([`+${service}`, 'end-of-rib']);
  });

  test('one router of two that was away all the time changes nothing', async () => {
    const { announcer, routers } = await begin(2);
    announcer.withholdBlocksAfterMs = 60_000;
    const [first, second] = routers;
    second!.shut();
    const isDown = () => announcer.sessions().some(({ state }) => state !== 'Established');
    await until('the session is down', isDown);
    for (let at = 0; at < 70; at++) {
      bench.monotonicMs += 1_000;
      announcer.contact(own);
    }
    second!.heard.length = 0;
    second!.open();
    await until('everything was sent again', () => second!.heard.includes('end-of-rib'));
    expect(second!.heard).toContain(`+${block}`);
    expect(first!.heard).not.toContain(`-${block}`);
  });

  test('that began in an earlier run of the agent, nothing is announced before it is confirmed', async () => {
    bench = new Bench();
    const { announcer, routers } = bench;
    routers.push(await Router.start());
    announcer.resume({ upMs: performance.now() - 61_000 });
    announcer.withholdBlocksAfterMs = 60_000;
    bench.declare();
    const [router] = routers;
    await until('the table is out', () => router!.heard.includes('end-of-rib'));
    expect(router!.heard).toEqual([`+${service}`, 'end-of-rib']);
    expect(announcer.contact(own)).toMatchObject({
      lastUpMs: Number.NEGATIVE_INFINITY,
      wasLost: true,
    });
    announcer.confirm();
    expect(announcer.contact(own)).toMatchObject({
      lastUpMs: Number.POSITIVE_INFINITY,
      wasLost: false,
    });
    await until('the block is announced', () => router!.heard.includes(`+${block}`));
  });
});

describe('whether a router uses another path, as a drain counts it', () => {
  const ownAgain = ['graceful-shutdown'];

  test('our own route that it sends back with itself as next hop is no other path', async () => {
    const { routers, announcer } = await begin();
    const counted = () => announcer.delivery('everything');
    expect(counted()).toMatchObject({ prefixes: 2, elsewhere: 0 });
    const received = () => announcer.sessions()[0]?.families?.[0]?.received;
    routers[0]!.speaker.set([
      { prefix: block, communities: ownAgain },
      { prefix: service, communities: ownAgain },
    ]);
    await until('both come back', () => received() === 2);
    expect(counted()).toMatchObject({ prefixes: 2, elsewhere: 0 });
    // A path without our GRACEFUL_SHUTDOWN is another node's. A block can have none.
    routers[0]!.speaker.set([{ prefix: block }, { prefix: service }]);
    await until('the router uses another path', () => counted().elsewhere > 0);
    expect(counted()).toMatchObject({ prefixes: 2, elsewhere: 1 });
  });
});
