import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  communityNumbers,
  type Router,
  routerFolder,
  startDaemon,
  type TableRoute,
} from './router.ts';

interface OpenbgpdRoute {
  prefix: string;
  aspath: string;
  exit_nexthop?: string;
  localpref?: number;
  metric?: number;
  attributes?: { type: string; communities?: string[]; large_communities?: string[] }[];
  communities?: string[];
  large_communities?: string[];
}

export const openbgpd: Router = {
  name: 'OpenBGPD',
  debianPackage: 'openbgpd',
  lacks: {
    'extended next hop': 'OpenBGPD 7.7 does not know RFC 8950',
    'TCP-MD5': 'OpenBGPD sets keys through PF_KEY, which it does not find on Linux',
  },
  async start(link, settings) {
    const folder = routerFolder('openbgpd');
    mkdirSync('/run/openbgpd', { recursive: true });
    const socket = join(folder, 'ctl');
    const config = join(folder, 'bgpd.conf');
    writeFileSync(
      config,
      `
AS ${settings.asn}
router-id ${settings.routerId}
socket "${socket}"
listen on ${settings.localAddress}
fib-update no
holdtime ${settings.holdSeconds ?? 30}
holdtime min 3
connect-retry 1
neighbor ${settings.neighborAddress} {
  remote-as ${settings.neighborAsn}
  local-address ${settings.localAddress}
  ${settings.isPassive ? 'passive' : ''}
  ${settings.password ? `tcp md5sig password ${settings.password}` : ''}
  ${settings.hasGtsm ? 'ttl-security yes' : ''}
  ${settings.hasAs4 === false ? 'announce as-4byte no' : ''}
  announce IPv4 unicast
  announce IPv6 unicast
  announce restart yes
}
allow from any
allow to any
`,
    );
    chmodSync(config, 0o600);
    chmodSync(folder, 0o755);
    const { control } = startDaemon(link, folder, '/usr/sbin/bgpd', ['-d', '-v', '-f', config]);
    const ctl = (...args: string[]) => link.inTheirs('bgpctl', '-j', '-s', socket, ...args);
    return {
      ...control,
      async isEstablished() {
        const { neighbors } = JSON.parse(await ctl('show', 'neighbor'));
        return neighbors?.[0]?.state === 'Established';
      },
      async routes(family) {
        const name = family === 'ipv4' ? 'inet' : 'inet6';
        const { rib } = JSON.parse(await ctl('show', 'rib', name, 'detail')) as {
          rib?: OpenbgpdRoute[];
        };
        return (rib ?? []).map(toTableRoute);
      },
      async requestRefresh() {
        await link.inTheirs(
          'bgpctl',
          '-s',
          socket,
          'neighbor',
          settings.neighborAddress,
          'refresh',
        );
      },
    };
  },
};

function toTableRoute(route: OpenbgpdRoute): TableRoute {
  const all = route.attributes ?? [];
  return {
    prefix: route.prefix,
    nextHop: route.exit_nexthop ?? '',
    asPath: route.aspath === '' ? [] : route.aspath.split(' ').map(Number),
    communities: communityNumbers(route.communities ?? all.flatMap((a) => a.communities ?? [])),
    largeCommunities: route.large_communities ?? all.flatMap((a) => a.large_communities ?? []),
    localPref: route.localpref,
    med: route.metric,
  };
}
