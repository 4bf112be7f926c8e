import { join } from 'node:path';
import { type HeldRoute, holdSeconds, type RouterPlan, type RouterSoftware } from './router.ts';

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
  readTable,
};

function bgpdConfig({ router, asn, neighbours, families, subnets, med }: RouterPlan): string {
  const lines = [
    'log stdout informational',
    `router bgp ${asn}`,
    ` bgp router-id ${router.address}`,
    ' no bgp ebgp-requires-policy',
    ' no bgp network import-check',
    ' no bgp default ipv4-unicast',
  ];
  for (const { name, address, asn: remote, kind } of neighbours) {
    lines.push(
      ` neighbor ${address} remote-as ${remote}`,
      ` neighbor ${address} description ${name}`,
      ` neighbor ${address} update-source ${router.address}`,
      ` neighbor ${address} timers ${Math.floor(holdSeconds / 3)} ${holdSeconds}`,
      ` neighbor ${address} timers connect 1`,
      ` neighbor ${address} advertisement-interval 0`,
      ...(remote === asn ? [] : [` neighbor ${address} ebgp-multihop 4`]),
      ...(kind === 'node' ? [` neighbor ${address} passive`] : []),
    );
  }
  for (const family of families) {
    lines.push(` address-family ${family} unicast`, '  maximum-paths 1');
    for (const cidr of subnets[family]) lines.push(`  network ${cidr}`);
    for (const { address, kind } of neighbours) {
      // Sessions between routers are IPv4, and have no IPv6 next hop to offer.
      if (kind === 'router' && family === 'ipv6') continue;
      lines.push(
        `  neighbor ${address} activate`,
        kind === 'node'
          ? `  neighbor ${address} route-map NOTHING out`
          : `  neighbor ${address} next-hop-self`,
        ...(kind === 'router'
          ? [
              `  neighbor ${address} route-map NO-TRANSIT in`,
              `  neighbor ${address} route-map TO-ROUTER out`,
            ]
          : []),
      );
    }
    lines.push(' exit-address-family');
  }
  lines.push('exit', 'route-map NOTHING deny 10', 'exit');
  // What another router said is not passed on: it says so itself to everybody.
  lines.push('route-map NO-TRANSIT permit 10', ' set community no-advertise additive', 'exit');
  lines.push('route-map TO-ROUTER permit 10', ` set metric ${med}`);
  return `${lines.join('\n')}\n`;
}

interface FrrPath {
  readonly bestpath?: boolean;
  readonly nexthops?: ReadonlyArray<{ readonly ip: string; readonly scope?: string }>;
}

function readTable(text: string): HeldRoute[] {
  const { routes = {} } = JSON.parse(text) as { routes?: Record<string, readonly FrrPath[]> };
  return Object.entries(routes).flatMap(([prefix, paths]) => {
    const best = paths.find(({ bestpath }) => bestpath === true);
    const hops = best?.nexthops ?? [];
    const hop = hops.find(({ scope }) => scope !== 'link-local') ?? hops[0];
    return hop === undefined ? [] : [{ prefix, nextHop: hop.ip }];
  });
}
