import { type Command, Option } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import { printable } from '../../base/printable.ts';
import { apiVersion } from '../../model/keys.ts';
import { parseAddress } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';
import { type Prefix, parsePrefix, prefixProblem } from '../../net/prefix.ts';
import { dialects } from '../../plan/routers/dialects/all.ts';
import { type Dialect, printRouterSide } from '../../plan/routers/dialects/dialect.ts';
import { type RouterSide, routerSide } from '../../plan/routers/router-side.ts';
import { readWhole } from '../numbers.ts';
import { printAnswer } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { addLookFlags, type LookFlagValues, lookAt } from '../view/look.ts';

const names = dialects.map(({ name }) => name);

const examples = `
What is printed accepts exactly the prefixes of the pools, with their lengths, limits how many a
node may send, and announces nothing to nodes. A password is never printed. FRR and BIRD run it as
it is; for the others the first lines say that nobody ran it.

Examples:
  What the router team is to put into tor1, which runs FRR:
    $ cadastre router-config --router tor1 --for frr

  The same for an Arista switch, from files, and any node of the subnet as a neighbour:
    $ cadastre router-config --router 10.4.94.250 --for arista-eos --from cluster.json \\
        --listen-range 10.4.94.0/24

  A router with a session for each family, which are two BGPPeers:
    $ cadastre router-config --router tor1,tor1-v6 --for junos`;

type RouterConfigFlags = LookFlagValues & {
  router: string;
  for: string;
  listenRange?: string;
  routerId?: string;
  maxPrefixes?: string;
};

/** `cadastre router-config`: the other end of our sessions, in the words of its maker. */
export function registerRouterConfig(program: Command, terminal: Terminal): void {
  const command = program
    .command('router-config')
    .summary('what to configure on a router: neighbours, filters, limits')
    .description(
      'Prints the configuration of a router for its sessions with the nodes, out of BGPPeers (or the ConfigMap), pools and Nodes.',
    )
    .requiredOption(
      '--router <name>',
      'the BGPPeer that is the router, by name or address; several with commas',
    )
    .addOption(
      new Option('--for <software>', 'what the router runs').choices(names).makeOptionMandatory(),
    )
    .option('--listen-range <cidr>', 'accept nodes from a range instead of naming each')
    .option('--router-id <address>', 'print a router id as well')
    .option('--max-prefixes <n>', 'the limit of a session (default: what a node can announce)');
  addLookFlags(command)
    .addHelpText('after', examples)
    .action(async (flags: RouterConfigFlags) => {
      const question = {
        router: flags.router.split(',').map((one) => one.trim()),
        listenRange: readRange(flags.listenRange),
        routerId: readRouterId(flags.routerId),
        maximumPrefixes:
          flags.maxPrefixes === undefined
            ? undefined
            : readWhole('--max-prefixes', flags.maxPrefixes, 1, 0xffffffff),
      };
      const { state } = await lookAt(flags, terminal, [
        'peers',
        'configMaps',
        'servicePools',
        'serviceAddresses',
      ]);
      const answer = routerSide(state, question);
      if (answer.kind === 'refused') {
        throw new CadastreError('BAD_INPUT', answer.problem, { remedy: answer.remedy });
      }
      const { side } = answer;
      for (const note of side.notes) terminal.say(printable(`note: ${note}`));
      const dialect = dialects.find(({ name }) => name === flags.for) as Dialect;
      await printAnswer(terminal, flags.output, {
        data: { apiVersion, kind: 'RouterConfig', software: dialect.name, ...dataOf(side) },
        names: side.groups.flatMap(({ neighbours }) => neighbours.map(({ node }) => node)),
        table: () => printRouterSide(dialect, side),
      });
    });
}

/** Prefixes as people write them. */
function dataOf({ filters, groups, ...rest }: RouterSide) {
  const textOf = (family: Family) =>
    filters[family].map((filter) => ({ ...filter, prefix: filter.prefix.toString() }));
  return {
    ...rest,
    groups: groups.map((group) => ({ ...group, listenRange: group.listenRange?.toString() })),
    filters: { ipv4: textOf('ipv4'), ipv6: textOf('ipv6') },
  };
}

function readRange(text: string | undefined): Prefix | undefined {
  if (text === undefined) return undefined;
  const problem = prefixProblem(text);
  if (problem === undefined) return parsePrefix(text);
  throw new CadastreError('BAD_FLAG', `--listen-range: ${problem}`);
}

function readRouterId(text: string | undefined): string | undefined {
  if (text === undefined || parseAddress(text)?.family === 'ipv4') return text;
  throw new CadastreError('BAD_FLAG', `--router-id=${text} is not an IPv4 address`);
}
