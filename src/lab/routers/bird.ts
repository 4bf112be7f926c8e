import { join } from 'node:path';
import { type HeldPath, holdSeconds, type RouterPlan, type RouterSoftware } from './router.ts';

/** BIRD 2: one process, its tables and the kernel's side by side. */
export const bird: RouterSoftware = {
  software: 'bird',
  routeProtocol: 'bird',
  program: '/usr/sbin/bird',
  files: (plan) => ({ 'bird.conf': birdConfig(plan) }),
  processes: (folder) => [
    {
      name: 'bird',
      command: [
        ...['/usr/sbin/bird', '-f', '-c', join(folder, 'bird.conf')],
        ...['-s', join(folder, 'bird.ctl'), '-P', join(folder, 'bird.pid')],
      ],
      readyPath: join(folder, 'bird.ctl'),
    },
  ],
  tableCommand: (folder, family) => [
    ...['/usr/sbin/birdc', '-s', join(folder, 'bird.ctl')],
    ...['show', 'route', 'table', family === 'ipv4' ? 'master4' : 'master6'],
    ...['where', 'source', '=', 'RTS_BGP'],
  ],
  readPaths,
};

function birdConfig({
  router,
  asn,
  neighbours,
  families,
  subnets,
  others,
  med,
  stations,
}: RouterPlan): string {
  const own = subnets.ipv4.join(', ');
  const channels = families.map((family) => `  ${family};`).join('\n');
  const protocols = neighbours.map(({ name, address, asn: remote, kind }) => {
    const isNode = kind === 'node';
    const served = families.filter((family) => isNode || family === 'ipv4');
    const tells = isNode
      ? 'export none;'
      : `next hop self; export filter { if source != RTS_BGP && net !~ [ ${own} ] then reject; bgp_med = ${med}; accept; };`;
    // What another router said is not passed on: it says so itself to everybody.
    const hears = isNode
      ? 'import all;'
      : 'import filter { bgp_community.add((65535, 65282)); accept; };';
    return `protocol bgp ${name.replaceAll('-', '_')} {
  local ${router.address} as ${asn};
  neighbor ${address} as ${remote};
  multihop 4;
  hold time ${holdSeconds};
  connect delay time 1; connect retry time 1; error wait time 1, 2;
  ${isNode ? 'passive on;' : ''}
${served.map((family) => `  ${family} { ${hears} ${tells} };`).join('\n')}
}`;
  });
  const reports = stations.map(
    ({ operator, address, bgpPort }) => `protocol bgp operator_${operator} {
  local ${router.address} as ${asn};
  neighbor ${address} port ${bgpPort} as ${asn};
  multihop; rr client;
  connect delay time 1; connect retry time 1; error wait time 1, 2;
${families.map((family) => `  ${family} { import none; export where source = RTS_BGP; };`).join('\n')}
}`,
  );
  return `log stderr all;
router id ${router.address};
protocol device { }
protocol direct {
${channels}
}
protocol static {
  ipv4;
${others.map((other) => `  route ${other}/32 via "core";`).join('\n')}
}
${families.map((family) => `protocol kernel { ${family} { import none; export where source = RTS_BGP; }; }`).join('\n')}
${[...protocols, ...reports].join('\n')}
`;
}

/**
 * A head line for each path, with the prefix if it is the first of it, and a star if it is the one
 * in use; then `via 10.4.94.32 on rack-94`.
 */
function readPaths(text: string): HeldPath[] {
  const held: HeldPath[] = [];
  let prefix: string | undefined;
  let isBest: boolean | undefined;
  for (const line of text.split('\n')) {
    const head = /^(\S*)\s+unicast \[[^\]]*\]( \*)?/.exec(line);
    if (head !== null) {
      prefix = head[1] || prefix;
      isBest = head[2] !== undefined;
    }
    const nextHop = /^\s+via ([0-9a-f.:]+) /.exec(line)?.[1];
    if (prefix === undefined || nextHop === undefined || isBest === undefined) continue;
    held.push({ prefix, nextHop, isBest });
    isBest = undefined;
  }
  return held;
}
