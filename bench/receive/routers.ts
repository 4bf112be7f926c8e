/** The peers to be measured against, as Debian ships them, set up to do nothing but receive. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Link, spawnIn } from '../../test/interop/link.ts';
import { blasterAsn } from './blaster.ts';
import { type Receiver, receiverAsn } from './receiver.ts';

function spawnLogged(
  link: Link,
  folder: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
) {
  return spawnIn(link.theirs, command, args, { env, logFd: openSync(join(folder, 'log'), 'a') });
}

export const bird: Receiver = {
  name: 'bird',
  debianPackage: 'bird2',
  rounds: 3,
  start(link, folder) {
    writeFileSync(
      join(folder, 'bird.conf'),
      `router id ${link.their4};
protocol device {}
protocol direct { ipv4; }
protocol bgp sender {
  local ${link.their4} as ${receiverAsn};
  neighbor ${link.our4} as ${blasterAsn};
  passive on;
  hold time 240;
  ipv4 { import all; export none; };
}
`,
    );
    const socket = join(folder, 'ctl');
    const child = spawnLogged(link, folder, '/usr/sbin/bird', [
      ...['-f', '-c', join(folder, 'bird.conf'), '-s', socket, '-P', join(folder, 'pid')],
    ]);
    return {
      child,
      askEveryMs: 5,
      async count() {
        // Over its control socket: starting birdc would cost a tenth of what is measured.
        const text = await askBird(socket, 'show protocols all sender');
        return Number(/Routes:\s+(\d+) imported/.exec(text)?.[1] ?? 0);
      },
    };
  },
};

/** One question on BIRD's control socket; an answer ends with a line `0000`. */
function askBird(path: string, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    let text = '';
    socket.on('error', reject);
    socket.on('connect', () => socket.write(`${question}\n`));
    socket.on('data', (chunk) => {
      text += chunk;
      if (!/^0000/m.test(text)) return;
      socket.destroy();
      resolve(text);
    });
  });
}

export const gobgp: Receiver = {
  name: 'gobgp',
  debianPackage: 'gobgpd',
  rounds: 1,
  start(link, folder) {
    writeFileSync(
      join(folder, 'gobgpd.toml'),
      `[global.config]
  as = ${receiverAsn}
  router-id = "${link.their4}"
  local-address-list = ["${link.their4}"]
[[neighbors]]
  [neighbors.config]
    neighbor-address = "${link.our4}"
    peer-as = ${blasterAsn}
  [neighbors.timers.config]
    hold-time = 240
  [neighbors.transport.config]
    passive-mode = true
    local-address = "${link.their4}"
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv4-unicast"
`,
    );
    const child = spawnLogged(link, folder, '/usr/bin/gobgpd', [
      ...['-f', join(folder, 'gobgpd.toml'), '--api-hosts=127.0.0.1:50051', '--pprof-disable'],
    ]);
    return {
      child,
      askEveryMs: 100,
      // It counts by walking the table under the lock that receiving needs: 8 s a question.
      askWhenIdle: true,
      async count() {
        const text = await link.inTheirs('gobgp', 'neighbor', link.our4, '-j');
        const peer = JSON.parse(text) as { afi_safis?: { state?: { received?: number } }[] };
        return peer.afi_safis?.[0]?.state?.received ?? 0;
      },
    };
  },
};

export const frr: Receiver = {
  name: 'frr',
  debianPackage: 'frr',
  rounds: 1,
  start(link, folder) {
    writeFileSync(
      join(folder, 'bgpd.conf'),
      `ip prefix-list nothing deny any
router bgp ${receiverAsn}
 bgp router-id ${link.their4}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor ${link.our4} remote-as ${blasterAsn}
 neighbor ${link.our4} timers 80 240
 neighbor ${link.our4} passive
 address-family ipv4 unicast
  neighbor ${link.our4} prefix-list nothing out
 exit-address-family
`,
    );
    // bgpd gives up root and must own its folder.
    const id = (which: string) => Number(execFileSync('id', [which, 'frr'], { encoding: 'utf8' }));
    chmodSync(folder, 0o755);
    chownSync(folder, id('-u'), id('-g'));
    chownSync(join(folder, 'bgpd.conf'), id('-u'), id('-g'));
    const child = spawnLogged(link, folder, '/usr/lib/frr/bgpd', [
      ...['-n', '-Z', '-f', join(folder, 'bgpd.conf'), '-i', join(folder, 'bgpd.pid')],
      ...['--vty_socket', folder, '-P', '0', '-l', link.their4],
    ]);
    return {
      child,
      askEveryMs: 50,
      async count() {
        const text = await link.inTheirs(
          ...(['vtysh', '--vty_socket', folder, '-c', 'show bgp ipv4 summary json'] as const),
        );
        const summary = JSON.parse(text) as {
          ipv4Unicast?: { peers?: Record<string, { pfxRcd?: number }> };
        };
        return summary.ipv4Unicast?.peers?.[link.our4]?.pfxRcd ?? 0;
      },
    };
  },
};

export const exabgp: Receiver = {
  name: 'exabgp',
  debianPackage: 'exabgp',
  rounds: 1,
  start(link, folder) {
    const counted = join(folder, 'count');
    // ExaBGP keeps no table to ask; its process counts the routes it receives.
    // Python, because ExaBGP brings it; awk sits on the last line of a pipe.
    const script = `#!/usr/bin/python3
import os, sys
total = 0
for line in iter(sys.stdin.readline, ''):
    total += line.count('"nlri"')
    with open('${counted}.new', 'w') as out: out.write(str(total))
    os.rename('${counted}.new', '${counted}')
`;
    writeFileSync(join(folder, 'counter'), script);
    chmodSync(join(folder, 'counter'), 0o755);
    chmodSync(folder, 0o755);
    writeFileSync(
      join(folder, 'exabgp.conf'),
      `process counter { run ${join(folder, 'counter')}; encoder json; }
neighbor ${link.our4} {
  router-id ${link.their4};
  local-address ${link.their4};
  local-as ${receiverAsn};
  peer-as ${blasterAsn};
  hold-time 240;
  passive true;
  adj-rib-in true;
  family { ipv4 unicast; }
  api { processes [ counter ]; receive { parsed; update; } }
}
`,
    );
    const child = spawnLogged(link, folder, 'exabgp', [join(folder, 'exabgp.conf')], {
      'exabgp.daemon.user': 'root',
      'exabgp.tcp.bind': link.their4,
      'exabgp.tcp.port': '179',
      'exabgp.api.cli': 'false',
      'exabgp.daemon.drop': 'false',
      'exabgp.api.ack': 'false',
    });
    return {
      child,
      askEveryMs: 50,
      count: async () =>
        existsSync(counted) ? Number(readFileSync(counted, 'utf8').trim() || 0) : 0,
    };
  },
};
