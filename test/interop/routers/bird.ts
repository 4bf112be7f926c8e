import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Router, routerFolder, startDaemon, type TableRoute } from './router.ts';

export const bird: Router = {
  name: 'BIRD',
  debianPackage: 'bird2',
  lacks: {},
  async start(link, settings) {
    const folder = routerFolder('bird');
    const control4 = join(folder, 'ctl');
    const hold = settings.holdSeconds ?? 30;
    const { secondNeighbor } = settings;
    const exported = secondNeighbor === undefined ? 'none' : 'where source = RTS_BGP';
    const second = `
protocol bgp second {
  local ${settings.localAddress} as ${settings.asn};
  neighbor ${secondNeighbor} as ${settings.neighborAsn};
  passive on;
  ipv4 { import all; export none; };
  ipv6 { import all; export none; };
}`;
    writeFileSync(
      join(folder, 'bird.conf'),
      `
log stderr all;
router id ${settings.routerId};
protocol device {}
protocol direct { ipv4; ipv6; interface "cad-down"; }
protocol bgp node {
  debug { states, events };
  local ${settings.localAddress} as ${settings.asn};
  neighbor ${settings.neighborAddress} as ${settings.neighborAsn};
  ${settings.isPassive ? 'passive on;' : ''}
  ${settings.password ? `password "${settings.password}";` : ''}
  ${settings.hasGtsm ? 'ttl security on;' : ''}
  ${settings.hasAs4 === false ? 'enable as4 off;' : ''}
  hold time ${hold};
  connect delay time 1; connect retry time 1; error wait time 1, 2;
  graceful restart on; graceful restart time 60;
  ipv4 { import all; export ${exported}; ${settings.hasExtendedNextHop ? 'extended next hop on;' : ''} };
  ipv6 { import all; export ${exported}; };
}
${secondNeighbor === undefined ? '' : second}
`,
    );
    const { control } = startDaemon(link, folder, '/usr/sbin/bird', [
      ...['-f', '-c', join(folder, 'bird.conf'), '-s', control4, '-P', join(folder, 'pid')],
    ]);
    const birdc = (command: string) =>
      link.inTheirs('birdc', '-s', control4, ...command.split(' '));
    return {
      ...control,
      async isEstablished() {
        return (await birdc('show protocols node')).includes('Established');
      },
      async routes(family) {
        const table = family === 'ipv4' ? 'master4' : 'master6';
        return parseBird(await birdc(`show route all protocol node table ${table}`));
      },
      async requestRefresh() {
        await birdc('reload in node');
      },
    };
  },
};

/** `show route all`: a head line per prefix, then one indented attribute a line. */
export function parseBird(text: string): TableRoute[] {
  const held: TableRoute[] = [];
  for (const line of text.split('\n')) {
    const head = /^([0-9a-f.:]+\/\d+)\s/.exec(line);
    if (head) {
      held.push({
        prefix: head[1]!,
        nextHop: '',
        asPath: [],
        communities: [],
        largeCommunities: [],
      });
      continue;
    }
    const route = held.at(-1);
    const attribute = /^\s+BGP\.(\w+): (.*)$/.exec(line);
    if (!route || !attribute) continue;
    const [, name, value = ''] = attribute;
    const tuples = (open: RegExp) =>
      [...value.matchAll(open)].map((m) => m[1]!.replaceAll(/\s/g, '').replaceAll(',', ':'));
    if (name === 'as_path')
      route.asPath = value.trim() === '' ? [] : value.trim().split(' ').map(Number);
    if (name === 'next_hop') route.nextHop = value.trim().split(' ')[0]!;
    if (name === 'local_pref') route.localPref = Number(value);
    if (name === 'med') route.med = Number(value);
    if (name === 'community') route.communities = tuples(/\((\d+,\d+)\)/g);
    if (name === 'large_community') route.largeCommunities = tuples(/\((\d+, \d+, \d+)\)/g);
  }
  return held;
}
