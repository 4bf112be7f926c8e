import { type Command, Option } from 'commander';
import { ageText } from '../../base/age-text.ts';
import { apiVersion } from '../../model/keys.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { addNodeStateFlags, type NodeStateFlags, readNodeStates } from '../view/node-states.ts';

interface RouteFlags extends NodeStateFlags {
  peer?: string;
  family?: 'ipv4' | 'ipv6';
}

/** `cadastre bgp routes`: what is advertised to the routers, in the columns of `cilium bgp routes`. */
export function registerBgpRoutes(bgp: Command, terminal: Terminal): void {
  const command = bgp
    .command('routes')
    .argument('[prefix...]', 'only these prefixes')
    .summary('routes advertised to the routers, of this node or of all')
    .description('Lists every prefix that is advertised to a router, by which node and since when.')
    .option('--peer <name>', 'only what is advertised to this peer: its name or address')
    .addOption(new Option('--family <family>', 'only this family').choices(['ipv4', 'ipv6']));
  addNodeStateFlags(command)
    .addHelpText(
      'after',
      `
Examples:
  On a node, its own; elsewhere, those of all nodes:
    $ cadastre bgp routes
    $ cadastre bgp routes --node master1 --peer 10.4.94.248
    $ cadastre bgp routes 10.5.113.0/24 -o json`,
    )
    .action(async (prefixes: string[], flags: RouteFlags) => {
      const wanted = new Set(prefixes.map((text) => parsePrefix(text)?.toString() ?? text));
      const states = await readNodeStates(flags, terminal);
      const routes = states.flatMap(({ node, sessions }) =>
        sessions
          .filter(({ peer, address }) => [undefined, peer, address].includes(flags.peer))
          .flatMap(({ peer, address, localAsn, announced }) =>
            announced.map((route) => ({ node, peer, address, localAsn, ...route })),
          )
          .filter(({ prefix }) => wanted.size === 0 || wanted.has(prefix))
          .filter(({ prefix }) => isOf(flags.family, prefix)),
      );
      if (routes.length === 0) terminal.say('No such route is advertised to any router.');
      const nowMs = terminal.clock.wallMs();
      await printAnswer(terminal, flags.output, {
        data: { apiVersion, kind: 'BGPRoutes', routes },
        names: [...new Set(routes.map(({ prefix }) => prefix))],
        table: (columns) =>
          routes.length === 0
            ? ''
            : renderTable(
                ['NODE', 'VROUTER', 'PEER', 'PREFIX', 'NEXTHOP', 'AGE', 'ATTRS'],
                routes.map((route) => [
                  route.node,
                  String(route.localAsn ?? '-'),
                  route.address,
                  route.prefix,
                  route.nextHop,
                  route.since === undefined ? '-' : ageText(nowMs - Date.parse(route.since)),
                  route.attributes ?? '',
                ]),
                columns,
              ),
      });
    });
}

function isOf(family: 'ipv4' | 'ipv6' | undefined, prefix: string): boolean {
  return family === undefined || (family === 'ipv6') === prefix.includes(':');
}
