import { appendFileSync, chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Router, routerFolder, startDaemon, type TableRoute } from './router.ts';

export const exabgp: Router = {
  name: 'ExaBGP',
  debianPackage: 'exabgp',
  onlyConnectsWithGtsm: true,
  lacks: {
    'graceful restart': 'ExaBGP keeps no table through a lost session',
  },
  async start(link, settings) {
    const folder = routerFolder('exabgp');
    const events = join(folder, 'events');
    const commands = join(folder, 'commands');
    writeFileSync(commands, '');
    writeFileSync(
      join(folder, 'watch'),
      // What ExaBGP reports goes to the file of events; it reads what is appended to commands.
      `#!/bin/sh\ntail -n +1 -f ${commands} &\nexec cat >> ${events}\n`,
    );
    chmodSync(join(folder, 'watch'), 0o755);
    chmodSync(folder, 0o755);
    writeFileSync(
      join(folder, 'exabgp.conf'),
      `
process watch { run ${join(folder, 'watch')}; encoder json; }
neighbor ${settings.neighborAddress} {
  router-id ${settings.routerId};
  local-address ${settings.localAddress};
  local-as ${settings.asn};
  peer-as ${settings.neighborAsn};
  hold-time ${settings.holdSeconds ?? 30};
  ${settings.isPassive ? 'passive true;' : ''}
  ${settings.password ? `md5-password ${settings.password};` : ''}
  ${settings.hasGtsm ? 'outgoing-ttl 255; incoming-ttl 255;' : ''}
  capability {
    asn4 ${settings.hasAs4 === false ? 'disable' : 'enable'};
    route-refresh enable;
    graceful-restart 60;
    ${settings.hasExtendedNextHop ? 'nexthop enable;' : ''}
  }
  ${settings.hasExtendedNextHop ? 'nexthop { ipv4 unicast ipv6; }' : ''}
  family { ipv4 unicast; ipv6 unicast; }
  api { processes [ watch ]; neighbor-changes; receive { parsed; update; notification; open; } }
}
`,
    );
    const { control } = startDaemon(link, folder, 'exabgp', [join(folder, 'exabgp.conf')], {
      'exabgp.daemon.user': 'root',
      'exabgp.tcp.bind': settings.localAddress,
      'exabgp.tcp.port': '179',
      'exabgp.api.cli': 'false',
      'exabgp.daemon.drop': 'false',
      'exabgp.api.ack': 'false',
      'exabgp.log.all': 'true',
    });
    const readEvents = () => (existsSync(events) ? readFileSync(events, 'utf8') : '');
    return {
      ...control,
      async isEstablished() {
        return replay(readEvents()).isUp;
      },
      async routes(family) {
        const { table } = replay(readEvents());
        return [...table.values()].filter((r) => r.prefix.includes(':') === (family === 'ipv6'));
      },
      async requestRefresh() {
        appendFileSync(commands, `announce route-refresh ipv4 unicast\n`);
      },
    };
  },
};

/** ExaBGP holds no table to ask for; its account of every UPDATE, replayed in order, is one. */
export function replay(text: string): { isUp: boolean; table: Map<string, TableRoute> } {
  const table = new Map<string, TableRoute>();
  let isUp = false;
  for (const line of text.split('\n')) {
    if (!line.startsWith('{') || !line.endsWith('}')) continue;
    const { type, neighbor } = JSON.parse(line);
    if (type === 'state') {
      isUp = neighbor.state === 'up';
      if (neighbor.state === 'down') table.clear();
    }
    const update = neighbor?.message?.update;
    if (type !== 'update' || !update) continue;
    for (const prefixes of Object.values(update.withdraw ?? {}) as { nlri: string }[][]) {
      for (const { nlri } of prefixes) table.delete(nlri);
    }
    const a = update.attribute ?? {};
    for (const byHop of Object.values(update.announce ?? {}) as Record<
      string,
      { nlri: string }[]
    >[]) {
      for (const [nextHop, prefixes] of Object.entries(byHop)) {
        if (!Array.isArray(prefixes)) continue;
        for (const { nlri } of prefixes) {
          if (nlri === undefined) continue;
          table.set(nlri, {
            prefix: nlri,
            nextHop,
            asPath: a['as-path'] ?? [],
            communities: (a.community ?? []).map((c: number[]) => c.join(':')),
            largeCommunities: (a['large-community'] ?? []).map((c: number[]) => c.join(':')),
            localPref: a['local-preference'],
            med: a.med,
          });
        }
      }
    }
  }
  return { isUp, table };
}
