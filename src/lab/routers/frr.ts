import { join } from 'node:path';
import {
  type HeldPath,
  holdSeconds,
  type Neighbour,
  type RouterPlan,
  type RouterSoftware,
} from './router.ts';

/** FRR: zebra keeps the kernel's routes, bgpd tells it which. */
export const frr: RouterSoftware = {
  software: 'frr',
  routeProtocol: 'bgp',
  program: '/usr/lib/frr/bgpd',
  user: 'frr',
  files: (plan) => ({ 'zebra.conf': 'log stdout\n', 'bgpd.conf': bgpdConfig(plan) }),
  processes(folder) {
    const common = (name: string) => [
      ...[`/usr/lib/frr/${name}`, '-f', join(folder, `${name}.conf`)],
      ...['-i', join(folder, `${name}.pid`), '--vty_socket', folder, '-P', '0'],
      ...['-z', join(folder, 'zserv.api')],
    ];
    return [
      { name: 'zebra', command: common('zebra'), readyPath: join(folder, 'zserv.api') },
      // With BMP at hand: whoever wants to listen asks for it with vtysh.
      {
        name: 'bgpd',
        command: [...common('bgpd'), '-M', 'bmp'],
        readyPath: join(folder, 'bgpd.vty'),
      },
    ];
  },
  tableCommand: (folder, family) => [
    ...['vtysh', '--vty_socket', folder, '-c', `show bgp ${family} unicast json`],
  ],
  readPaths,
};

/**
 * Everything is said of groups, and neighbours join them last: bgpd starts a
 * neighbour with the first line that names it.
 */
function bgpdConfig(plan: RouterPlan): string {
  const { router, asn, neighbours, families, subnets, med, stations } = plan;
  const groups = new Map<string, { asn: number; kind: Neighbour['kind'] }>();
  const groupOf = ({ kind, asn: remote }: Neighbour) => `${kind}s-${remote}`;
  for (const one of neighbours) groups.set(groupOf(one), one);
  const lines = [
    'log stdout informational',
    `hostname ${router.name}`,
    'route-map NOTHING deny 10',
    'exit',
    // What another router said is not passed on: it says so itself to everybody.
    'route-map NO-TRANSIT permit 10',
    ' set community no-advertise additive',
    'exit',
    'route-map TO-ROUTER permit 10',
    ` set metric ${med}`,
    'exit',
    `router bgp ${asn}`,
    ` bgp router-id ${router.address}`,
    ' no bgp ebgp-requires-policy',
    ' no bgp network import-check',
    ' no bgp default ipv4-unicast',
    // Now and then FRR 8.4 looks up the address of a peer whose connection comes in before it
    // knows of its multihop, and then holds it to be unreachable unless connected, for ever
    // (`show bgp nexthop`: must be Connected).
    ' bgp disable-ebgp-connected-route-check',
  ];
  for (const [group, { asn: remote, kind }] of groups) {
    lines.push(
      ` neighbor ${group} peer-group`,
      ` neighbor ${group} remote-as ${remote}`,
      ` neighbor ${group} update-source ${router.address}`,
      ` neighbor ${group} timers ${Math.floor(holdSeconds / 3)} ${holdSeconds}`,
      ` neighbor ${group} timers connect 1`,
      ` neighbor ${group} advertisement-interval 0`,
      ...(remote === asn ? [] : [` neighbor ${group} ebgp-multihop 4`]),
      ...(kind === 'node' ? [` neighbor ${group} passive`] : []),
    );
  }
  for (const family of families) {
    lines.push(` address-family ${family} unicast`, '  maximum-paths 1');
    for (const cidr of subnets[family]) lines.push(`  network ${cidr}`);
    for (const [group, { kind }] of groups) {
      // Sessions between routers are IPv4, and have no IPv6 next hop to offer.
      if (kind === 'router' && family === 'ipv6') continue;
      lines.push(`  neighbor ${group} activate`);
      if (kind === 'node') lines.push(`  neighbor ${group} route-map NOTHING out`);
      else {
        lines.push(
          `  neighbor ${group} next-hop-self`,
          `  neighbor ${group} route-map NO-TRANSIT in`,
          `  neighbor ${group} route-map TO-ROUTER out`,
        );
      }
    }
    lines.push(' exit-address-family');
  }
  for (const one of neighbours) {
    lines.push(` neighbor ${one.address} peer-group ${groupOf(one)}`);
    lines.push(` neighbor ${one.address} description ${one.name}`);
  }
  for (const { operator, address, bmpPort } of stations) {
    lines.push(
      ` bmp targets operator-${operator}`,
      '  bmp stats interval 1000',
      ...families.map((family) => `  bmp monitor ${family} unicast post-policy`),
      `  bmp connect ${address} port ${bmpPort} min-retry 100 max-retry 1000`,
      ' exit',
    );
  }
  return `${lines.join('\n')}\n`;
}

interface FrrPath {
  readonly bestpath?: boolean;
  readonly nexthops?: ReadonlyArray<{ readonly ip: string; readonly scope?: string }>;
}

function readPaths(text: string): HeldPath[] {
  const { routes = {} } = JSON.parse(text) as { routes?: Record<string, readonly FrrPath[]> };
  return Object.entries(routes).flatMap(([prefix, paths]) =>
    paths.flatMap(({ nexthops = [], bestpath: isBest = false }) => {
      const hop = nexthops.find(({ scope }) => scope !== 'link-local') ?? nexthops[0];
      return hop === undefined ? [] : [{ prefix, nextHop: hop.ip, isBest }];
    }),
  );
}
