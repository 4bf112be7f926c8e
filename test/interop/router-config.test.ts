/**
 * What `cadastre router-config` prints for FRR and BIRD, run unedited by the routers themselves:
 * the sessions come up, our blocks and Service addresses are in, and nothing else is.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readRib } from '../../src/doctor/rib/read-rib.ts';
import { run } from '../cli/collecting-terminal.ts';
import { eventually, type Link, makeLink, sweepDeadRuns } from './link.ts';
import { routerFolder, type Started, startDaemon } from './routers/router.ts';
import { SpeakerProcess } from './speaker-process.ts';

const objects = (link: Link) => `
apiVersion: cadastre.dev/v1alpha1
kind: IPPool
metadata: { name: pods }
spec: { cidrs: [10.5.112.0/21, "fd00:5::/48"], blockSize: { ipv4: 24, ipv6: 64 } }
---
apiVersion: cadastre.dev/v1alpha1
kind: LoadBalancerPool
metadata: { name: web }
spec: { addresses: [10.6.0.0/28] }
---
apiVersion: v1
kind: Node
metadata: { name: master1, uid: u-1 }
status: { addresses: [{ type: InternalIP, address: ${link.our4} }, { type: InternalIP, address: "${link.our6}" }] }
---
apiVersion: cadastre.dev/v1alpha1
kind: BGPPeer
metadata: { name: tor1 }
spec: { address: ${link.their4}, asn: 64524, localASN: 64513, families: [ipv4] }
---
apiVersion: cadastre.dev/v1alpha1
kind: BGPPeer
metadata: { name: tor1-v6 }
spec: { address: "${link.their6}", asn: 64524, localASN: 64513, families: [ipv6] }
`;

/** What the pools say, and beside each something that they do not. */
const right = { ipv4: ['10.5.113.0/24', '10.6.0.3/32'], ipv6: ['fd00:5:0:113::/64'] };
const wrong = [
  '10.5.114.0/25',
  '10.5.120.0/24',
  '10.6.0.0/28',
  '0.0.0.0/0',
  'fd00:6::/64',
  'fd00:5::/56',
];

interface Running {
  started: Started;
  table(family: 'ipv4' | 'ipv6'): Promise<string>;
}

const routers: Record<string, (link: Link, config: string) => Running> = {
  frr(link, config) {
    const folder = routerFolder('frr');
    const id = (flag: string) => Number(execFileSync('id', [flag, 'frr'], { encoding: 'utf8' }));
    writeFileSync(join(folder, 'bgpd.conf'), config);
    chmodSync(folder, 0o755);
    for (const path of [folder, join(folder, 'bgpd.conf')]) chownSync(path, id('-u'), id('-g'));
    const started = startDaemon(link, folder, '/usr/lib/frr/bgpd', [
      ...['-n', '-Z', '-f', join(folder, 'bgpd.conf'), '-i', join(folder, 'bgpd.pid')],
      ...['--vty_socket', folder, '-P', '0'],
    ]);
    return {
      started,
      table: (family) =>
        link.inTheirs('vtysh', '--vty_socket', folder, '-c', `show bgp ${family} unicast json`),
    };
  },
  bird(link, config) {
    const folder = routerFolder('bird');
    writeFileSync(join(folder, 'cadastre.conf'), config);
    const main = `log stderr all;\nprotocol device {}\ninclude "${join(folder, 'cadastre.conf')}";\n`;
    writeFileSync(join(folder, 'bird.conf'), main);
    const socket = join(folder, 'ctl');
    const started = startDaemon(link, folder, '/usr/sbin/bird', [
      ...['-f', '-c', join(folder, 'bird.conf'), '-s', socket, '-P', join(folder, 'pid')],
    ]);
    return {
      started,
      table: (family) =>
        link.inTheirs(
          'birdc',
          '-s',
          socket,
          'show',
          'route',
          'table',
          family === 'ipv4' ? 'master4' : 'master6',
        ),
    };
  },
};

describe.each(Object.keys(routers))('router-config for %s', (software) => {
  let link: Link;
  let running: Running | undefined;
  let speaker: SpeakerProcess | undefined;
  let folder: string;

  beforeAll(sweepDeadRuns);
  beforeEach(async () => {
    link = await makeLink();
    folder = mkdtempSync(join(tmpdir(), 'cad-router-config-'));
  });
  afterEach(async (context) => {
    if (context.task.result?.state === 'fail') {
      console.log(`${running?.started.control.log().slice(-4000)}\n${speaker?.log().slice(-2000)}`);
    }
    await speaker?.kill();
    await running?.started.control.stop();
    running = speaker = undefined;
    rmSync(folder, { recursive: true });
    await link.remove();
  });

  const held = async (family: 'ipv4' | 'ipv6') => {
    const read = readRib(await running!.table(family));
    if (read.kind === 'refused') return [read.problem];
    return read.rib.routes
      .filter(({ prefix, nextHop }) => prefix.family === family && nextHop !== '')
      .map(({ prefix }) => `${prefix}`)
      .sort();
  };

  test.each([
    ['each node by name', []],
    ['a range of neighbours', ['--listen-range', '10.88.0.0/24']],
  ])('%s: sessions come up, what is ours is in, and what is not stays out', async (_, more) => {
    writeFileSync(join(folder, 'cluster.yaml'), objects(link));
    const names = more.length > 0 ? 'tor1' : 'tor1,tor1-v6';
    const printed = await run([
      ...['router-config', '--router', names, '--for', software, '--from', folder],
      ...['--router-id', link.their4, ...more],
    ]);
    expect(printed.code).toBe(0);
    running = routers[software]!(link, printed.stdout);
    speaker = await SpeakerProcess.start(link, {});
    const common = {
      asn: 64524,
      localAsn: 64513,
      routerId: link.our4,
      connectRetrySeconds: 1,
      nextHop: { ipv4: link.our4, ipv6: link.our6 },
    };
    const peers = [
      { ...common, name: 'tor1', address: link.their4, families: ['ipv4' as const] },
      ...(more.length > 0
        ? []
        : [{ ...common, name: 'tor1-v6', address: link.their6, families: ['ipv6' as const] }]),
    ];
    expect(await speaker.call('setPeers', peers)).toEqual([]);
    const prefixes = [...wrong, ...right.ipv4, ...right.ipv6];
    expect(
      await speaker.call(
        'set',
        prefixes.map((prefix) => ({ prefix })),
      ),
    ).toEqual([]);
    await eventually(
      'the router holds what is ours, and nothing else',
      () => held('ipv4'),
      (list) => list.join() === right.ipv4.join(),
    );
    if (more.length === 0) {
      await eventually(
        'the same over IPv6',
        () => held('ipv6'),
        (list) => list.join() === right.ipv6.join(),
      );
    }
    // A second round with one more block of ours: whatever was to come has come before it.
    const last = '10.5.119.0/24';
    await speaker.call(
      'set',
      [...prefixes, last].map((prefix) => ({ prefix })),
    );
    await eventually(
      'one more block',
      () => held('ipv4'),
      (list) => list.join() === [right.ipv4[0], last, right.ipv4[1]].join(),
    );
  });
});
