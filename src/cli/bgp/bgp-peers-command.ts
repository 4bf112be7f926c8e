import type { Command } from 'commander';
import { ageText } from '../../base/age-text.ts';
import { apiVersion } from '../../model/keys.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import {
  addNodeStateFlags,
  type NodeState,
  type NodeStateFlags,
  readNodeStates,
} from '../view/node-states.ts';

const headings = [
  'NODE',
  'LOCAL AS',
  'PEER AS',
  'PEER ADDRESS',
  'SESSION STATE',
  'UPTIME',
  'FAMILY',
  'RECEIVED',
  'ADVERTISED',
];

/** `cadastre bgp peers`: the sessions, in the columns of `cilium bgp peers`. */
export function registerBgpPeers(bgp: Command, terminal: Terminal): void {
  const command = bgp
    .command('peers')
    .summary('sessions with routers, of this node or of all')
    .description(
      'Lists the BGP sessions: node and router, state, uptime, and prefixes received and advertised.',
    );
  addNodeStateFlags(command)
    .addHelpText(
      'after',
      `
Exit code 1 if a session is not established.

Examples:
  On a node, its own; elsewhere, those of all nodes:
    $ cadastre bgp peers
    $ cadastre bgp peers --node master1
    $ cadastre bgp peers -o json`,
    )
    .action(async (flags: NodeStateFlags) => {
      const states = await readNodeStates(flags, terminal);
      const sessions = states.flatMap(({ node, sessions: all }) =>
        all.map(({ announced: _, ...session }) => ({ node, ...session })),
      );
      if (sessions.length === 0) terminal.say('No node has a BGP session.');
      if (sessions.some(({ state }) => state !== 'Established')) terminal.exitCode = 1;
      await printAnswer(terminal, flags.output, {
        data: { apiVersion, kind: 'BGPSessions', sessions },
        names: sessions.map(({ node, peer }) => `${node}/${peer}`),
        table: (columns, isWide) =>
          sessions.length === 0 ? '' : peerTable(states, columns, isWide, terminal.clock.wallMs()),
      });
    });
}

function peerTable(
  states: readonly NodeState[],
  columns: number,
  isWide: boolean,
  nowMs: number,
): string {
  const rows = states.flatMap(({ node, sessions }) =>
    sessions.flatMap((session, at) => {
      const { peer, address, asn, localAsn, state, establishedAt, lastError } = session;
      const uptime = establishedAt === undefined ? '-' : ageText(nowMs - Date.parse(establishedAt));
      const families = session.families ?? [];
      const lines = families.map(({ family, received, advertised }) => [
        `${family}/unicast`,
        String(received),
        String(advertised),
      ]);
      // As Cilium has it: what belongs to the session is printed once, and each family has a line.
      return (lines.length === 0 ? [['-', '-', '-']] : lines).map((line, nth) => {
        const own = [String(localAsn ?? '-'), String(asn), address, state, uptime];
        const start = nth === 0 ? [at === 0 ? node : '', ...own] : ['', '', '', '', '', ''];
        const end = nth === 0 ? [peer, lastError ?? ''] : ['', ''];
        return [...start, ...line, ...(isWide ? end : [nth === 0 ? (lastError ?? '') : ''])];
      });
    }),
  );
  const more = isWide ? ['PEER', 'LAST ERROR'] : ['LAST ERROR'];
  return renderTable([...headings, ...more], rows, columns);
}
