import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  communityNumbers,
  type Router,
  routerFolder,
  startDaemon,
  type TableRoute,
} from './router.ts';

interface FrrPath {
  path?: string;
  nexthops?: { ip: string; scope?: string }[];
  localPref?: number;
  locPrf?: number;
  metric?: number;
  med?: number;
  community?: { string: string };
  largeCommunity?: { string: string };
  aspath?: { string: string };
}

export const frr: Router = {
  name: 'FRR',
  debianPackage: 'frr',
  lacks: {
    'no AS4 capability': 'FRR always offers 4-octet AS numbers',
  },
  async start(link, settings) {
    const folder = routerFolder('frr');
    const uid = Number(execFileSync('id', ['-u', 'frr'], { encoding: 'utf8' }));
    const gid = Number(execFileSync('id', ['-g', 'frr'], { encoding: 'utf8' }));
    const a = settings.neighborAddress;
    const hold = settings.holdSeconds ?? 30;
    const second = settings.secondNeighbor;
    const lines = [
      'log stdout',
      'debug bgp neighbor-events',
      `router bgp ${settings.asn}`,
      ` bgp router-id ${settings.routerId}`,
      ' no bgp ebgp-requires-policy',
      ' no bgp network import-check',
      ' no bgp default ipv4-unicast',
      ' bgp graceful-restart notification',
      ` neighbor ${a} remote-as ${settings.neighborAsn}`,
      ` neighbor ${a} timers ${Math.floor(hold / 3)} ${hold}`,
      ` neighbor ${a} timers connect 1`,
      ` neighbor ${a} graceful-restart-helper`,
      ...(settings.isPassive ? [` neighbor ${a} passive`] : []),
      ...(settings.password ? [` neighbor ${a} password ${settings.password}`] : []),
      ...(settings.hasGtsm ? [` neighbor ${a} ttl-security hops 1`] : []),
      ...(settings.hasExtendedNextHop ? [` neighbor ${a} capability extended-nexthop`] : []),
      ` neighbor ${a} update-source ${settings.localAddress}`,
      ...(second ? [` neighbor ${second} remote-as ${settings.neighborAsn}`] : []),
      ...(second ? [` neighbor ${second} passive`] : []),
      ...['ipv4', 'ipv6'].flatMap((family) => [
        ` address-family ${family} unicast`,
        `  neighbor ${a} activate`,
        ...(second ? [`  neighbor ${second} activate`] : []),
        ' exit-address-family',
      ]),
    ];
    writeFileSync(join(folder, 'bgpd.conf'), `${lines.join('\n')}\n`);
    chmodSync(folder, 0o755);
    for (const path of [folder, join(folder, 'bgpd.conf')]) chownSync(path, uid, gid);
    const { control } = startDaemon(link, folder, '/usr/lib/frr/bgpd', [
      ...['-n', '-Z', '-f', join(folder, 'bgpd.conf'), '-i', join(folder, 'bgpd.pid')],
      ...['--vty_socket', folder, '-P', '0'],
    ]);
    const vtysh = (command: string) =>
      link.inTheirs('vtysh', '--vty_socket', folder, '-c', command);
    return {
      ...control,
      async isEstablished() {
        const all = JSON.parse(await vtysh(`show bgp neighbors ${a} json`));
        return all[a]?.bgpState === 'Established';
      },
      async routes(family) {
        const table = JSON.parse(await vtysh(`show bgp ${family} unicast json detail`));
        const held: TableRoute[] = [];
        for (const [prefix, value] of Object.entries(table.routes ?? {})) {
          const paths = (
            Array.isArray(value) ? value : (value as { paths: FrrPath[] }).paths
          ) as FrrPath[];
          // The first entry is about the prefix, not about a path.
          for (const path of paths) if (path.nexthops) held.push(toTableRoute(prefix, path));
        }
        return held;
      },
      async requestRefresh() {
        await vtysh(`clear bgp ${a} soft in`);
      },
    };
  },
};

function toTableRoute(prefix: string, path: FrrPath): TableRoute {
  const text = path.aspath?.string ?? path.path ?? '';
  return {
    prefix,
    nextHop:
      (path.nexthops?.find((hop) => hop.scope !== 'link-local') ?? path.nexthops?.[0])?.ip ?? '',
    asPath: text === 'Local' || text === '' ? [] : text.split(' ').map(Number),
    communities: communityNumbers(path.community?.string.split(' ') ?? []),
    largeCommunities: path.largeCommunity?.string.split(' ') ?? [],
    localPref: path.locPrf ?? path.localPref,
    med: path.metric ?? path.med,
  };
}
