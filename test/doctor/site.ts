/**
 * The incident's network on one machine: four nodes in one network namespace,
 * four real routers in another, one wire between them, each with an address of
 * its own. A node is one of our speakers; FRR, BIRD, GoBGP and OpenBGPD are what
 * users run.
 */
import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, type Link, spawnIn } from '../interop/link.ts';
import { SpeakerProcess } from '../interop/speaker-process.ts';

const run = promisify(execFile);

export const siteNodes = {
  master1: '10.4.94.32',
  master2: '10.4.94.21',
  master3: '10.4.94.31',
  node1: '10.4.94.23',
} as const;
export type SiteNode = keyof typeof siteNodes;

/** The IPv6 address beside an IPv4 one: fd00:94::32 beside 10.4.94.32. */
export const ipv6Of = (address: string) => `fd00:94::${address.split('.').at(-1)}`;

export const nodeAsn = 64513;
export const routerAsn = 64524;

export const routerAddresses = {
  frr: '10.4.94.250',
  bird: '10.4.94.251',
  gobgp: '10.4.94.252',
  openbgpd: '10.4.94.253',
} as const;
/** Where a doctor may take part as a BGP speaker of its own. */
export const doctorAddress = '10.4.94.254';
export type RouterName = keyof typeof routerAddresses;

/** How each prints its table: of both families, and of one. */
export interface SiteRouter {
  dump(...how: string[]): Promise<string>;
}

export interface Site {
  namespace: string;
  routers: Record<RouterName, SiteRouter>;
  /** What a node announces from now on, to every router. */
  announce(node: SiteNode, prefixes: readonly string[]): Promise<void>;
  /** The node's sessions end. */
  takeOut(node: SiteNode): Promise<void>;
  /** A command inside the namespace. */
  inside(command: string, ...args: string[]): Promise<string>;
  spawn(command: string, args: readonly string[]): ChildProcess;
  close(): Promise<void>;
}

let counter = 0;

export async function startSite(
  options: { routers?: readonly RouterName[]; bmpPort?: number; bgpPort?: number } = {},
): Promise<Site> {
  const prefix = `cad-${process.pid}-${80 + counter++}`;
  const [nodeSpace, namespace] = [`${prefix}u`, `${prefix}r`];
  const folder = mkdtempSync(join(tmpdir(), 'cad-doctor-'));
  const wanted = options.routers ?? (Object.keys(routerAddresses) as RouterName[]);
  const ip = (line: string) => run('ip', line.split(' '));
  await ip(`netns add ${nodeSpace}`);
  await ip(`netns add ${namespace}`);
  await ip(`-n ${nodeSpace} link add eth0 type veth peer name eth0 netns ${namespace}`);
  for (const [space, addresses] of [
    [nodeSpace, Object.values(siteNodes)],
    [namespace, [...Object.values(routerAddresses), doctorAddress]],
  ] as const) {
    for (const address of addresses) {
      await ip(`-n ${space} addr add ${address}/24 dev eth0`);
      await ip(`-n ${space} addr add ${ipv6Of(address)}/64 dev eth0 nodad`);
    }
    await ip(`-n ${space} link set lo up`);
    await ip(`-n ${space} link set eth0 up`);
  }
  const children: ChildProcess[] = [];
  const inside = async (command: string, ...args: string[]) => {
    const options = { maxBuffer: 256 << 20 };
    return (await run('ip', ['netns', 'exec', namespace, command, ...args], options)).stdout;
  };
  const spawn = (command: string, args: readonly string[]) => {
    const log = openSync(join(folder, 'log'), 'a');
    const child = spawnIn(namespace, command, args, { logFd: log });
    children.push(child);
    return child;
  };
  const link = { ours: nodeSpace, theirs: namespace } as Link;
  const routers = {} as Record<RouterName, SiteRouter>;
  for (const name of wanted) {
    const place = join(folder, name);
    mkdirSync(place);
    routers[name] = starters[name]({
      place,
      inside,
      spawn,
      bmpPort: options.bmpPort,
      bgpPort: options.bgpPort,
    });
  }
  const speakers = new Map<SiteNode, SpeakerProcess>();
  for (const [name, address] of Object.entries(siteNodes)) {
    const speaker = await SpeakerProcess.start(link, { listen: false });
    speakers.set(name as SiteNode, speaker);
    await speaker.call(
      'setPeers',
      wanted.map((router) => ({
        name: router,
        address: routerAddresses[router],
        asn: routerAsn,
        localAsn: nodeAsn,
        routerId: address,
        localAddress: address,
        connectRetrySeconds: 1,
        idleSeconds: 1,
        maxIdleSeconds: 1,
        holdSeconds: 30,
        nextHop: { ipv6: ipv6Of(address) },
      })),
    );
  }
  return {
    namespace,
    routers,
    inside,
    spawn,
    async announce(node, prefixes) {
      const speaker = speakers.get(node)!;
      await speaker.call(
        'set',
        prefixes.map((prefix) => ({ prefix })),
      );
      await eventually(`${node} has told every router`, async () => {
        const peers = await speaker.call('peers');
        return peers.every(({ state }) => state === 'Established');
      });
    },
    async takeOut(node) {
      await speakers.get(node)?.leave('drain');
      speakers.delete(node);
    },
    async close() {
      for (const speaker of speakers.values()) await speaker.kill();
      for (const space of [nodeSpace, namespace]) await removeNamespace(space);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function removeNamespace(name: string): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'pids', name]).catch(() => ({ stdout: '' }));
  for (const pid of stdout.split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended between the list and the signal.
    }
  }
  await run('ip', ['netns', 'del', name]).catch(() => undefined);
}

interface Place {
  place: string;
  inside: Site['inside'];
  spawn: Site['spawn'];
  bmpPort: number | undefined;
  bgpPort: number | undefined;
}

const neighbours = Object.values(siteNodes);

const starters: Record<RouterName, (at: Place) => SiteRouter> = {
  frr({ place, inside, spawn, bmpPort }) {
    const config = join(place, 'bgpd.conf');
    const each = (line: (address: string) => string) => neighbours.map(line).join('\n');
    writeFileSync(
      config,
      `hostname tor-frr
router bgp ${routerAsn}
 bgp router-id ${routerAddresses.frr}
 no bgp ebgp-requires-policy
 no bgp network import-check
${each((a) => ` neighbor ${a} remote-as ${nodeAsn}\n neighbor ${a} passive`)}
 address-family ipv6 unicast
${each((a) => `  neighbor ${a} activate`)}
 exit-address-family
${
  bmpPort === undefined
    ? ''
    : ` bmp targets station
  bmp monitor ipv4 unicast post-policy
  bmp monitor ipv6 unicast post-policy
  bmp connect ${routerAddresses.frr} port ${bmpPort} min-retry 100 max-retry 500
`
}`,
    );
    const id = (flag: string) => Number(execFileSync('id', [flag, 'frr'], { encoding: 'utf8' }));
    for (const path of [place, config]) chownSync(path, id('-u'), id('-g'));
    chmodSync(join(place, '..'), 0o755);
    chmodSync(place, 0o755);
    spawn('/usr/lib/frr/bgpd', [
      ...(bmpPort === undefined ? [] : ['-M', 'bmp']),
      ...['-n', '-Z', '-f', config, '-i', join(place, 'pid')],
      ...['--vty_socket', place, '-P', '0', '-l', routerAddresses.frr],
    ]);
    const vtysh = (command: string) => inside('vtysh', '--vty_socket', place, '-c', command);
    return {
      async dump(how = 'show bgp ipv4 unicast json') {
        return vtysh(how);
      },
    };
  },
  bird({ place, inside, spawn, bgpPort }) {
    const socket = join(place, 'ctl');
    const protocols = Object.entries(siteNodes).map(
      ([name, address]) => `protocol bgp ${name} {
  local ${routerAddresses.bird} as ${routerAsn};
  neighbor ${address} as ${nodeAsn};
  passive on; strict bind on;
  ipv4 { import all; export none; };
  ipv6 { import all; export none; };
}`,
    );
    writeFileSync(
      join(place, 'bird.conf'),
      `log stderr all;
router id ${routerAddresses.bird};
protocol device {}
protocol direct { ipv4; ipv6; }
${protocols.join('\n')}
${
  bgpPort === undefined
    ? ''
    : `protocol bgp doctor {
  local ${routerAddresses.bird} as ${routerAsn};
  neighbor ${doctorAddress} port ${bgpPort} as ${routerAsn};
  strict bind on; multihop;
  connect delay time 1; connect retry time 1; error wait time 1, 2;
  ipv4 { import none; export where source = RTS_BGP; };
  ipv6 { import none; export where source = RTS_BGP; };
}`
}
`,
    );
    spawn('/usr/sbin/bird', [
      '-f',
      '-c',
      join(place, 'bird.conf'),
      '-s',
      socket,
      '-P',
      join(place, 'pid'),
    ]);
    return {
      dump: (...how) =>
        inside('birdc', '-s', socket, ...(how.length > 0 ? how : ['show route all'])),
    };
  },
  gobgp({ place, inside, spawn }) {
    const config = join(place, 'gobgpd.toml');
    const api = `${routerAddresses.gobgp}:50051`;
    writeFileSync(
      config,
      `[global.config]
  as = ${routerAsn}
  router-id = "${routerAddresses.gobgp}"
  local-address-list = ["${routerAddresses.gobgp}"]
${neighbours
  .map(
    (address) => `[[neighbors]]
  [neighbors.config]
    neighbor-address = "${address}"
    peer-as = ${nodeAsn}
  [neighbors.transport.config]
    passive-mode = true
    local-address = "${routerAddresses.gobgp}"
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv4-unicast"
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv6-unicast"`,
  )
  .join('\n')}
`,
    );
    spawn('/usr/bin/gobgpd', ['-f', config, `--api-hosts=${api}`, '--pprof-disable', '-p']);
    return {
      dump: (...how) =>
        inside(
          'gobgp',
          '-u',
          routerAddresses.gobgp,
          ...(how.length > 0 ? how : ['global', 'rib', '-j']),
        ),
    };
  },
  openbgpd({ place, inside, spawn }) {
    const socket = join(place, 'ctl');
    const config = join(place, 'bgpd.conf');
    mkdirSync('/run/openbgpd', { recursive: true });
    writeFileSync(
      config,
      `AS ${routerAsn}
router-id ${routerAddresses.openbgpd}
socket "${socket}"
listen on ${routerAddresses.openbgpd}
fib-update no
${neighbours
  .map(
    (address) => `neighbor ${address} {
  remote-as ${nodeAsn}
  local-address ${routerAddresses.openbgpd}
  passive
  announce IPv4 unicast
  announce IPv6 unicast
}`,
  )
  .join('\n')}
allow from any
allow to any
`,
    );
    chmodSync(config, 0o600);
    spawn('/usr/sbin/bgpd', ['-d', '-v', '-f', config]);
    return {
      dump: (...how) =>
        inside('bgpctl', '-j', '-s', socket, ...(how.length > 0 ? how : ['show', 'rib'])),
    };
  },
};
