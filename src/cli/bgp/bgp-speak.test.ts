import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/parts/bgp-pair.ts';
import { Collector } from '../../bgp/collector.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { type BgpSpeakIo, runBgpSpeak } from './bgp-speak.ts';
import { readSpeakConfig } from './bgp-speak-config.ts';
import {
  evidenceFor,
  parseProcIpv6Route,
  parseProcRoute,
  RestartMark,
} from './bgp-speak-evidence.ts';

const minimal = 'asn: 64513\nrouter-id: 10.0.0.1\n';

describe('the file', () => {
  test('with everything in it', () => {
    const result = readSpeakConfig(`${minimal}
listen: { address: 127.0.0.1, port: 1179 }
graceful-restart: { time: 2m, state-file: /run/speak }
peers:
  - name: tor1
    address: 10.4.94.1
    port: 1790
    asn: 64524
    local-asn: 65001
    local-address: 10.4.94.32
    families: [ipv4]
    hold-time: 30s
    keepalive-time: 10
    connect-retry: 5s
    password: kadaster
    ttl-security-hops: 1
    passive: yes
    graceful-shutdown: true
    next-hop: { ipv4: 10.4.94.33 }
    capabilities: { as4: false }
announcements:
  - prefix: 10.5.113.0/24
    communities: ['64513:100', no-export]
    large-communities: ['64513:1:2']
    local-pref: 200
    med: 5
    prepend: 2
    next-hop: 10.4.94.34
    peers: [tor1]
`);
    expect(result).toEqual({
      kind: 'config',
      config: {
        listen: { address: '127.0.0.1', port: 1179 },
        gracefulRestart: { seconds: 120, stateFile: '/run/speak' },
        peers: [
          {
            name: 'tor1',
            address: '10.4.94.1',
            port: 1790,
            asn: 64524,
            localAsn: 65001,
            localAddress: '10.4.94.32',
            routerId: '10.0.0.1',
            families: ['ipv4'],
            holdSeconds: 30,
            keepaliveSeconds: 10,
            connectRetrySeconds: 5,
            password: 'kadaster',
            ttlSecurityHops: 1,
            isPassive: true,
            gracefulShutdown: true,
            gracefulRestartSeconds: 120,
            nextHop: { ipv4: '10.4.94.33' },
            hasAs4: false,
          },
        ],
        announcements: [
          {
            prefix: '10.5.113.0/24',
            communities: ['64513:100', 'no-export'],
            largeCommunities: ['64513:1:2'],
            localPref: 200,
            med: 5,
            prepend: 2,
            nextHop: '10.4.94.34',
            peers: ['tor1'],
          },
        ],
      },
    });
  });

  test.each([
    ['router-id: 10.0.0.1\n', 'asn (our own AS) is missing'],
    [`${minimal}peer: []\n`, 'unknown key "peer"; known here are asn,'],
    [`${minimal}peers:\n  - asn: 1\n`, 'address is missing'],
    [
      `${minimal}peers:\n  - { address: 10.0.0.2, asn: 1, hold-time: 2s }\n`,
      'hold-time is 2, not 0 or a whole number from 3 to 65535',
    ],
    [`${minimal}peers:\n  - { address: tor1, asn: 1 }\n`, 'address is "tor1", not an IP address'],
    [
      `${minimal}peers:\n  - { address: 10.0.0.2, asn: 1, families: [ip] }\n`,
      '"ip" is neither ipv4 nor ipv6',
    ],
    [`${minimal}announcements:\n  - med: 1\n`, 'an announcement needs prefix'],
    ['asn: [\n', 'Flow sequence'],
  ])('%j is refused with the line and the key', (text, sentence) => {
    const result = readSpeakConfig(text);
    if (result.kind === 'config') throw new Error('accepted');
    expect(result.problems[0]?.sentence).toContain(sentence);
    expect(result.problems[0]?.line).toBeGreaterThan(0);
  });
});

describe('evidence', () => {
  const prefixes = (...texts: string[]) => texts.map((text) => parsePrefix(text)!);

  test('the F-bit of a family needs a kernel route, not the default one, for every announcement', () => {
    const announced = [{ prefix: '10.5.113.0/24' }, { prefix: 'fd00::/64' }];
    const forwarding = (ipv4: string[], ipv6: string[]) =>
      evidenceFor(announced, true, { ipv4: prefixes(...ipv4), ipv6: prefixes(...ipv6) }).forwarding;
    expect(forwarding(['10.5.113.0/24'], ['fd00::/48'])).toEqual(['ipv4', 'ipv6']);
    expect(forwarding(['10.5.113.7/32'], [])).toEqual(['ipv4']);
    expect(forwarding(['0.0.0.0/0'], ['::/0'])).toEqual([]);
  });

  test('routes are read as Linux prints them', () => {
    const proc =
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n' +
      'eth0\t00000000\t015E040A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n' +
      'veth1\t0071050A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n';
    expect(parseProcRoute(proc).map(String)).toEqual(['0.0.0.0/0', '10.5.113.0/24']);
    const zero = '0'.repeat(32);
    const six =
      `fd000000000000000000000000000000 40 ${zero} 00 ${zero} 00000100 00000001 00000000 00000001     eth0\n` +
      `${zero} 00 ${zero} 00 ${zero} ffffffff 00000001 00000000 00200200       lo\n`;
    expect(parseProcIpv6Route(six).map(String)).toEqual(['fd00::/64']);
  });

  test('a restart is an earlier run that was alive within the time, and did not drain', () => {
    const folder = mkdtempSync(join(tmpdir(), 'cad-mark-'));
    const path = join(folder, 'mark');
    const clock = { bootId: 'this', sinceBootMs: () => nowMs };
    let nowMs = 1_000_000;
    let wallMs = Date.now();
    const isRestart = () => new RestartMark(path, clock).wasAliveWithin(60, wallMs);
    expect(isRestart()).toBe(false);
    const run = new RestartMark(path, clock);
    run.keepYoung(1_000_000);
    expect(isRestart()).toBe(true);
    nowMs += 59_000;
    // Whatever the clock on the wall does.
    for (const jump of [-86_400_000, 86_400_000]) {
      wallMs += jump;
      expect(isRestart()).toBe(true);
    }
    nowMs += 2_000;
    expect(isRestart()).toBe(false);
    run.stop('restart');
    expect(isRestart()).toBe(true);
    // Another boot: the wall clock is all there is.
    clock.bootId = 'another';
    expect(isRestart()).toBe(true);
    wallMs += 61_000;
    expect(isRestart()).toBe(false);
    run.stop('drain');
    expect(isRestart()).toBe(false);
    // A disk that takes nothing ends nobody.
    new RestartMark(join(path, 'no', 'folder')).stop('restart');
    rmSync(folder, { recursive: true });
  });
});

describe('cadastre bgp speak', () => {
  let folder: string;
  let collector: Collector;
  let words: string;
  let reload: () => void;
  let report: () => void;
  let printed: string;
  let stop: AbortController;
  let running: Promise<number>;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cad-speak-'));
    collector = new Collector({ listen: { address: '127.0.0.2', port: 0 } });
    await collector.listen();
    collector.setPeers([
      {
        name: 'node',
        address: '127.0.0.1',
        asn: 64513,
        localAsn: 64524,
        routerId: '10.0.0.2',
        isPassive: true,
        gracefulRestartSeconds: 60,
        idleSeconds: 0.02,
      },
    ]);
    words = printed = '';
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await collector.close();
    rmSync(folder, { recursive: true });
  });

  const file = (announcements: string, more = '') => {
    const text = `${minimal}${more}listen: false
peers:
  - { name: router, address: 127.0.0.2, local-address: 127.0.0.1, port: ${collector.port}, asn: 64524, connect-retry: 1s, next-hop: { ipv4: 10.4.94.32 } }
announcements:
${announcements}`;
    writeFileSync(join(folder, 'speak.yaml'), text);
  };
  const begin = (exit: 'drain' | 'restart' = 'drain') => {
    const sink = (take: (text: string) => void) => {
      const stream = new PassThrough();
      stream.on('data', (chunk) => take(String(chunk)));
      return stream;
    };
    const io: BgpSpeakIo = {
      stdout: sink((text) => {
        printed += text;
      }),
      stderr: sink((text) => {
        words += text;
      }),
      onReload: (listener) => {
        reload = listener;
        return () => undefined;
      },
      onReport: (listener) => {
        report = listener;
        return () => undefined;
      },
    };
    running = runBgpSpeak({ config: join(folder, 'speak.yaml'), exit }, io, stop.signal);
  };
  const held = () =>
    collector
      .routesOf('node')
      .map((route) => String(route.prefix))
      .sort()
      .join();

  test('announces, reads its file again, keeps the old one when the new one is wrong, and drains', async () => {
    file('  - prefix: 10.0.0.0/24\n');
    begin();
    await until('the route is there', () => held() === '10.0.0.0/24');
    file('  - prefix: 10.0.1.0/24\n  - prefix: 10.0.2.0/24\n');
    reload();
    await until('both are there', () => held() === '10.0.1.0/24,10.0.2.0/24');
    file('  - prefixes: 10.0.9.0/24\n');
    reload();
    await until('it says why', () => words.includes('unknown key "prefixes"'));
    expect(words).toContain('configuration not reloaded; the running one stays in force');
    report();
    await until('it reports', () => printed.endsWith('\n'));
    expect(JSON.parse(printed).peers[0]).toMatchObject({
      name: 'router',
      state: 'Established',
      announced: 2,
    });
    stop.abort();
    expect(await running).toBe(0);
    expect(held()).toBe('');
  });

  test('a restart leaves the routes, and what it may claim afterwards comes from evidence', async () => {
    const graceful = `graceful-restart: { time: 60s, state-file: ${join(folder, 'mark')} }\n`;
    file('  - prefix: 127.9.9.0/24\n', graceful);
    begin('restart');
    await until('the route is there', () => held() === '127.9.9.0/24');
    stop.abort();
    expect(await running).toBe(0);
    await until('the collector waits', () => collector.peers()[0]?.isRestarting === true);
    expect(held()).toBe('127.9.9.0/24');
    stop = new AbortController();
    begin('drain');
    await until('it is back', () => collector.peers()[0]?.state === 'Established');
    await until('the route is fresh', () => collector.routesOf('node')[0]?.stale === false);
  });

  test('a file that cannot be used is exit code 2, with every problem', async () => {
    file('  - med: 1\n  - prefix: 10.0.0.0/24\n    colour: red\n');
    begin();
    expect(await running).toBe(2);
    expect(words).toMatch(
      /speak\.yaml:\d+: announcements\[0\]\.prefix: an announcement needs prefix/,
    );
    expect(words).toMatch(/speak\.yaml:\d+: announcements\[1\]\.colour: unknown key/);
  });

  test('a file that is not there is exit code 2', async () => {
    begin();
    expect(await running).toBe(2);
    expect(words).toContain('no such file');
  });
});
