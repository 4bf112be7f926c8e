/** The others, as Debian ships them. Fed over a session, except ExaBGP, which keeps only its own. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Link, spawnIn } from '../../test/interop/link.ts';
import { feederAsn, type Originator, originatorAsn, prefixAt, sinkAddress } from './originator.ts';
import { sinkAsn } from './sink.ts';

function run(link: Link, folder: string, command: string, args: string[], env = {}): void {
  spawnIn(link.theirs, command, args, { env, logFd: openSync(join(folder, 'log'), 'a') });
}

export const gobgp: Originator = {
  name: 'gobgp',
  isFed: true,
  async start(link, folder) {
    const neighbor = (address: string, asn: number) => `
[[neighbors]]
  [neighbors.config]
    neighbor-address = "${address}"
    peer-as = ${asn}
  [neighbors.timers.config]
    hold-time = 240
    idle-hold-time-after-reset = 1
  [neighbors.transport.config]
    passive-mode = true
    local-address = "${link.their4}"
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv4-unicast"
`;
    writeFileSync(
      join(folder, 'gobgpd.toml'),
      `[global.config]
  as = ${originatorAsn}
  router-id = "${link.their4}"
  local-address-list = ["${link.their4}"]
${neighbor(link.our4, feederAsn)}${neighbor(sinkAddress, sinkAsn)}`,
    );
    run(link, folder, '/usr/bin/gobgpd', [
      ...['-f', join(folder, 'gobgpd.toml'), '--api-hosts=127.0.0.1:50051', '--pprof-disable'],
    ]);
    return {
      async count() {
        const text = await link.inTheirs('gobgp', 'global', 'rib', 'summary', '-j');
        return Number((JSON.parse(text) as { num_path?: number }).num_path ?? 0);
      },
    };
  },
};

export const frr: Originator = {
  name: 'frr',
  isFed: true,
  async start(link, folder) {
    const neighbor = (address: string, asn: number) =>
      ` neighbor ${address} remote-as ${asn}
 neighbor ${address} timers 80 240
 neighbor ${address} passive
 neighbor ${address} advertisement-interval 0
`;
    writeFileSync(
      join(folder, 'bgpd.conf'),
      `router bgp ${originatorAsn}
 bgp router-id ${link.their4}
 no bgp ebgp-requires-policy
 no bgp network import-check
${neighbor(link.our4, feederAsn)}${neighbor(sinkAddress, sinkAsn)}`,
    );
    const id = (which: string) => Number(execFileSync('id', [which, 'frr'], { encoding: 'utf8' }));
    chmodSync(folder, 0o755);
    chownSync(folder, id('-u'), id('-g'));
    chownSync(join(folder, 'bgpd.conf'), id('-u'), id('-g'));
    run(link, folder, '/usr/lib/frr/bgpd', [
      ...['-n', '-Z', '-f', join(folder, 'bgpd.conf'), '-i', join(folder, 'bgpd.pid')],
      ...['--vty_socket', folder, '-P', '0', '-l', link.their4],
    ]);
    return {
      async count() {
        const show = ['-c', 'show bgp ipv4 summary json'];
        const text = await link.inTheirs('vtysh', '--vty_socket', folder, ...show);
        const summary = JSON.parse(text) as {
          ipv4Unicast?: { peers?: Record<string, { pfxRcd?: number }> };
        };
        return summary.ipv4Unicast?.peers?.[link.our4]?.pfxRcd ?? 0;
      },
    };
  },
};

export const bird: Originator = {
  name: 'bird',
  isFed: true,
  async start(link, folder) {
    const neighbor = (name: string, address: string, asn: number) => `protocol bgp ${name} {
  local ${link.their4} as ${originatorAsn};
  neighbor ${address} as ${asn};
  passive on;
  hold time 240;
  error wait time 1, 2;
  ipv4 { import all; export all; };
}
`;
    writeFileSync(
      join(folder, 'bird.conf'),
      `router id ${link.their4};
protocol device {}
protocol direct { ipv4; }
${neighbor('feeder', link.our4, feederAsn)}${neighbor('sink', sinkAddress, sinkAsn)}`,
    );
    const control = join(folder, 'ctl');
    run(link, folder, '/usr/sbin/bird', [
      ...['-f', '-c', join(folder, 'bird.conf'), '-s', control, '-P', join(folder, 'pid')],
    ]);
    return {
      async count() {
        const text = await link.inTheirs(
          'birdc',
          '-s',
          control,
          'show',
          'protocols',
          'all',
          'feeder',
        );
        return Number(/Routes:\s+(\d+) imported/.exec(text)?.[1] ?? 0);
      },
    };
  },
};

export const exabgp: Originator = {
  name: 'exabgp',
  isFed: false,
  async start(link, folder, routes) {
    const lines = Array.from({ length: routes }, (_, i) => `route ${prefixAt(i)} next-hop self;`);
    writeFileSync(
      join(folder, 'exabgp.conf'),
      `neighbor ${sinkAddress} {
  router-id ${link.their4};
  local-address ${link.their4};
  local-as ${originatorAsn};
  peer-as ${sinkAsn};
  hold-time 240;
  passive true;
  family { ipv4 unicast; }
  static {
${lines.join('\n')}
  }
}
`,
    );
    run(link, folder, 'exabgp', [join(folder, 'exabgp.conf')], {
      'exabgp.daemon.user': 'root',
      'exabgp.tcp.bind': link.their4,
      'exabgp.tcp.port': '179',
      'exabgp.api.cli': 'false',
      'exabgp.daemon.drop': 'false',
    });
    // It listens only when it has read its routes.
    return { count: async () => routes };
  },
};
