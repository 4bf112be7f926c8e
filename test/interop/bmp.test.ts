/**
 * Real routers report to our BMP station: FRR and GoBGP, on loopback addresses,
 * each with a session from our own speaker. What the router heard from the
 * speaker must arrive at the station, and go when the session goes.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { BmpStation } from '../../src/bgp/bmp/bmp-station.ts';
import { Speaker } from '../../src/bgp/speaker/speaker.ts';
import { watchRouters } from '../../src/migrate/migrate-routers.ts';

interface Reporter {
  readonly name: string;
  readonly binary: string;
  readonly address: string;
  readonly port: number;
  /** Writes the configuration; the command that runs the router in the foreground. */
  command(folder: string, ports: readonly number[]): readonly string[];
  /** A prefix that its policy throws away. */
  readonly filtered?: string;
}

const reporters: readonly Reporter[] = [
  {
    name: 'FRR',
    binary: '/usr/lib/frr/bgpd',
    address: '127.77.0.2',
    port: 17902,
    filtered: '10.5.99.0/24',
    command(folder, ports) {
      const config = join(folder, 'bgpd.conf');
      writeFileSync(
        config,
        `ip prefix-list nodes seq 5 deny ${this.filtered}
ip prefix-list nodes seq 10 permit any
router bgp 64524
 bgp router-id 10.0.0.2
 no bgp ebgp-requires-policy
 neighbor 127.77.0.1 remote-as 64513
 neighbor 127.77.0.1 passive
 neighbor 127.77.0.1 disable-connected-check
 address-family ipv4 unicast
  neighbor 127.77.0.1 soft-reconfiguration inbound
  neighbor 127.77.0.1 prefix-list nodes in
 exit-address-family
 bmp targets station
  bmp monitor ipv4 unicast pre-policy
  bmp monitor ipv4 unicast post-policy
${ports.map((port) => `  bmp connect 127.0.0.1 port ${port} min-retry 100 max-retry 500`).join('\n')}
`,
      );
      const id = (flag: string) => Number(execFileSync('id', [flag, 'frr'], { encoding: 'utf8' }));
      for (const path of [folder, config]) chownSync(path, id('-u'), id('-g'));
      chmodSync(folder, 0o755);
      return [
        ...[this.binary, '-M', 'bmp', '-n', '-Z', '-f', config, '-i', join(folder, 'pid')],
        ...['--vty_socket', folder, '-P', '0', '-l', this.address, '-p', String(this.port)],
      ];
    },
  },
  {
    name: 'GoBGP',
    binary: '/usr/bin/gobgpd',
    address: '127.77.0.3',
    port: 17903,
    command(folder, ports) {
      const config = join(folder, 'gobgpd.toml');
      writeFileSync(
        config,
        `[global.config]
  as = 64524
  router-id = "10.0.0.3"
  port = ${this.port}
  local-address-list = ["${this.address}"]
${ports
  .map(
    (port) => `[[bmp-servers]]
  [bmp-servers.config]
    address = "127.0.0.1"
    port = ${port}
    route-monitoring-policy = "all"`,
  )
  .join('\n')}
[[neighbors]]
  [neighbors.config]
    neighbor-address = "127.77.0.1"
    peer-as = 64513
  [neighbors.transport.config]
    passive-mode = true
    local-address = "${this.address}"
  [neighbors.ebgp-multihop.config]
    enabled = true
`,
      );
      return [this.binary, '-f', config, '--api-hosts=127.77.0.3:17950', '--pprof-disable'];
    },
  },
];

let cleanUp: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const one of cleanUp.reverse()) await one();
  cleanUp = [];
});

function start(reporter: Reporter, ports: readonly number[]): void {
  const folder = mkdtempSync(join(tmpdir(), `cad-bmp-${reporter.name}-`));
  const [command, ...args] = reporter.command(folder, ports);
  const log = openSync(join(folder, 'log'), 'a');
  const child: ChildProcess = spawn(command!, args, { stdio: ['ignore', log, log] });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  cleanUp.push(async () => {
    child.kill('SIGKILL');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  });
}

describe.each(reporters)('$name reports over BMP', (reporter) => {
  test.skipIf(!existsSync(reporter.binary))(
    `what the speaker advertised to it, until the session ends (needs ${reporter.binary})`,
    async () => {
      const station = new BmpStation();
      await station.listen({ host: '127.0.0.1', port: 0 });
      cleanUp.push(() => station.close());
      // The eyes of `migrate apply --bmp`, fed by the same router over a connection of its own.
      const migration = await watchRouters({ host: '127.0.0.1', port: 0 });
      cleanUp.push(() => migration.close());
      const unseen = (...cidrs: string[]) => migration.unseen(cidrs, ['192.0.2.1']);
      start(reporter, [station.port!, migration.port!]);
      const speaker = new Speaker({ listen: false });
      cleanUp.push(() => speaker.close('restart'));
      const refused = speaker.setPeers([
        {
          name: 'router',
          address: reporter.address,
          port: reporter.port,
          asn: 64524,
          localAsn: 64513,
          routerId: '10.0.0.1',
          localAddress: '127.77.0.1',
          connectRetrySeconds: 1,
          families: ['ipv4'],
        },
      ]);
      expect(refused).toEqual([]);
      const announce = (...prefixes: string[]) =>
        speaker.set(
          prefixes.map((prefix) => ({ prefix, nextHop: '192.0.2.1', communities: ['64513:83'] })),
        );
      const filtered = reporter.filtered === undefined ? [] : [reporter.filtered];
      announce('10.5.112.0/24', '10.5.113.0/24', ...filtered);

      const held = (view: 'adj-rib-in-pre-policy' | 'adj-rib-in-post-policy') => {
        const peer = station.routers[0]?.peers.find((one) => one.address === '127.77.0.1');
        return peer
          ?.rib(view)
          ?.routes()
          .map((route) => `${route.prefix} via ${route.nextHops} ${route.attributes.communities}`)
          .sort();
      };
      const both = ['10.5.112.0/24', '10.5.113.0/24'].map(
        (prefix) => `${prefix} via 192.0.2.1 ${64513 * 65536 + 83}`,
      );
      // FRR tells of what it filtered only if it was there before the station: either will do.
      await expect.poll(() => held('adj-rib-in-pre-policy')).toEqual(expect.arrayContaining(both));
      await expect.poll(() => held('adj-rib-in-post-policy')).toEqual(both);
      const [router] = station.routers;
      expect(router!.lastFault).toBeUndefined();
      const peer = router!.peers.find((one) => one.address === '127.77.0.1')!;
      expect([peer.asn, peer.localAsn, peer.routerId]).toEqual([64513, 64524, '10.0.0.1']);

      await expect
        .poll(() => unseen('10.5.112.0/24', '10.5.113.0/24', ...filtered))
        .toEqual(filtered);
      expect(migration.unseen(['10.5.113.0/24'], ['192.0.2.99'])).toEqual(['10.5.113.0/24']);

      announce('10.5.113.0/24');
      await expect.poll(() => unseen('10.5.112.0/24', '10.5.113.0/24')).toEqual(['10.5.112.0/24']);
      await expect.poll(() => held('adj-rib-in-pre-policy')).toEqual([both[1]]);
      await speaker.close('drain');
      await expect.poll(() => held('adj-rib-in-pre-policy') ?? []).toEqual([]);
    },
  );
});
