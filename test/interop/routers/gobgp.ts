import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Router, routerFolder, startDaemon, type TableRoute } from './router.ts';

interface GobgpPath {
  nlri: { prefix: string };
  attrs: {
    type: number;
    nexthop?: string;
    value?: number | string | string[];
    metric?: number;
    as_paths?: { asns: number[] | null }[];
    communities?: number[];
  }[];
}

export const gobgp: Router = {
  name: 'GoBGP',
  debianPackage: 'gobgpd',
  lacks: {
    'route refresh': 'GoBGP rereads its own Adj-RIB-In and never asks for a refresh',
    'silent death': 'GoBGP keeps the routes for the restart time after its hold timer has expired',
    'no AS4 capability': 'GoBGP always offers 4-octet AS numbers',
  },
  async start(link, settings) {
    const folder = routerFolder('gobgp');
    const hold = settings.holdSeconds ?? 30;
    const family = (name: string) => `
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "${name}"
    [neighbors.afi-safis.mp-graceful-restart.config]
      enabled = true`;
    const families = `${family('ipv4-unicast')}\n${family('ipv6-unicast')}`;
    const second = `[[neighbors]]
  [neighbors.config]
    neighbor-address = "${settings.secondNeighbor}"
    peer-as = ${settings.neighborAsn}
  [neighbors.transport.config]
    passive-mode = true
${families}`;
    writeFileSync(
      join(folder, 'gobgpd.toml'),
      `
[global.config]
  as = ${settings.asn}
  router-id = "${settings.routerId}"
  local-address-list = ["${settings.localAddress}"]
[[neighbors]]
  [neighbors.config]
    neighbor-address = "${settings.neighborAddress}"
    peer-as = ${settings.neighborAsn}
    ${settings.password ? `auth-password = "${settings.password}"` : ''}
  [neighbors.timers.config]
    connect-retry = 1
    hold-time = ${hold}
    keepalive-interval = ${Math.floor(hold / 3)}
    idle-hold-time-after-reset = 1
  [neighbors.transport.config]
    passive-mode = ${settings.isPassive}
    local-address = "${settings.localAddress}"
  ${settings.hasGtsm ? '[neighbors.ttl-security.config]\n    enabled = true\n    ttl-min = 255' : ''}
  [neighbors.graceful-restart.config]
    enabled = true
    notification-enabled = true
    restart-time = 60
${families}
${settings.secondNeighbor === undefined ? '' : second}
`,
    );
    const { control } = startDaemon(link, folder, '/usr/bin/gobgpd', [
      ...[
        '-f',
        join(folder, 'gobgpd.toml'),
        '--api-hosts=127.0.0.1:50051',
        '--pprof-disable',
        '-p',
      ],
      '--log-level=debug',
    ]);
    const cli = (...args: string[]) => link.inTheirs('gobgp', ...args);
    return {
      ...control,
      async isEstablished() {
        const peer = JSON.parse(await cli('neighbor', settings.neighborAddress, '-j'));
        return peer.state?.session_state === 6 || peer.state?.session_state === 'ESTABLISHED';
      },
      async routes(wanted) {
        const text = await cli('global', 'rib', '-a', wanted, '-j');
        const table = JSON.parse(text || '{}') as Record<string, GobgpPath[]>;
        return Object.values(table).flat().map(toTableRoute);
      },
      async requestRefresh() {
        await cli('neighbor', settings.neighborAddress, 'softresetin', '-a', 'ipv4');
      },
    };
  },
};

function toTableRoute(path: GobgpPath): TableRoute {
  const held: TableRoute = {
    prefix: path.nlri.prefix,
    nextHop: '',
    asPath: [],
    communities: [],
    largeCommunities: [],
  };
  for (const attribute of path.attrs) {
    switch (attribute.type) {
      case 2:
        held.asPath = (attribute.as_paths ?? []).flatMap((segment) => segment.asns ?? []);
        break;
      case 3:
      case 14:
        held.nextHop = attribute.nexthop ?? '';
        break;
      case 4:
        held.med = attribute.metric;
        break;
      case 5:
        held.localPref = Number(attribute.value);
        break;
      case 8:
        held.communities = (attribute.communities ?? []).map((c) => `${c >>> 16}:${c & 0xffff}`);
        break;
      case 32:
        held.largeCommunities = (
          (attribute.value ?? []) as unknown as Record<string, number>[]
        ).map((c) => Object.values(c).join(':'));
        break;
    }
  }
  return held;
}
