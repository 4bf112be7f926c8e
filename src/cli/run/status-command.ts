import { type Command, Option } from 'commander';
import { printable } from '../../base/printable.ts';
import { agentSocketPath } from '../../model/keys.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { addLookFlags, type LookFlagValues } from '../view/look.ts';
import { type LocalStatus, localSocket, readLocal } from '../view/node-states.ts';
import { showClusterStatus } from './cluster-status.ts';

interface StatusFlags extends LookFlagValues {
  cluster?: boolean;
  socket?: string;
}

/** `cadastre status`: what the agent of this machine says about itself, or the whole cluster. */
export function registerStatus(program: Command, terminal: Terminal): void {
  const command = program
    .command('status')
    .summary('this node by its agent, or the whole cluster: health, versions, IPAM, sessions')
    .description(
      "On a node: its agent, blocks, routes and sessions, as the agent's socket says. Elsewhere, or with --cluster, --kubeconfig, --context or --from: the whole cluster, with nodes that are reachable, versions, mode, pools, sessions and findings.",
    )
    .addOption(new Option('--cluster', 'the whole cluster, also on a node').helpGroup(group))
    .addOption(
      new Option(
        '--socket <path>',
        `the agent of this machine (default: $CADASTRE_SOCKET, then ${agentSocketPath} if it is there, else the cluster)`,
      ).helpGroup(group),
    );
  addLookFlags(command)
    .addHelpText(
      'after',
      `
A node is reachable if it is Ready, its agent is ready, and no finding hurts it now.

Exit code: 0 if the agent is ready, or every node reachable and no finding critical; 1 if not.

Examples:
  $ cadastre status
  $ cadastre status --cluster
  $ cadastre status --cluster -o json
  $ cadastre status --socket /run/cadastre/agent.sock`,
    )
    .action(async (flags: StatusFlags) => {
      const socket = flags.cluster ? undefined : localSocket(flags, terminal.env);
      if (socket === undefined) return showClusterStatus(flags, terminal);
      const status = await readLocal(socket);
      if (status.agent?.ready === false) terminal.exitCode = 1;
      await printAnswer(terminal, flags.output, {
        data: status,
        names: [],
        table: (columns) => statusText(status, columns),
      });
    });
}

const group = 'What to look at:';

function statusText(status: LocalStatus, columns: number): string {
  const { agent } = status;
  const lines: [string, string][] = [];
  if (agent !== undefined) {
    lines.push(['Node:', agent.node]);
    lines.push([
      'Agent:',
      `${agent.ready ? 'Ready' : 'Not ready'}  ${agent.reason}: ${agent.detail}`,
    ]);
  }
  const [first = 'no block', ...rest] = status.lines;
  lines.push(['IPAM:', first], ...rest.map((line): [string, string] => ['', line]));
  if (status.shortage !== undefined) lines.push(['', status.shortage]);
  if (agent !== undefined) {
    const { wanted, held, repaired } = agent.kernel;
    const { routing, directRoutes, scope = 'node' } = agent.mode;
    const direct = routing === 'native' && directRoutes ? ', direct node routes' : '';
    if (scope === 'node') {
      lines.push(['Routing:', `${routing}${direct}`]);
      lines.push(['Routes:', `${held} held, ${wanted} wanted, ${repaired} repaired`]);
    } else lines.push(['Routing:', "another program's; this agent changes nothing in the kernel"]);
    for (const { route, reason } of agent.kernel.refused) lines.push(['', `${route}: ${reason}`]);
    const up = agent.sessions.filter(({ state }) => state === 'Established').length;
    lines.push(['BGP:', `${up}/${agent.sessions.length} sessions established`]);
    const { steps = [] } = agent.drain ?? {};
    for (const step of new Set([...steps.slice(0, 1), ...steps.slice(-1)])) {
      lines.push(['Drain:', `${step.step}: ${step.detail}`]);
    }
  }
  const width = Math.max(...lines.map(([name]) => name.length)) + 2;
  let text = lines.map(([name, value]) => `${name.padEnd(width)}${printable(value)}\n`).join('');
  if (agent !== undefined && agent.sessions.length > 0) {
    const rows = agent.sessions.map(({ peer, address, asn, state, announced, lastError }) => [
      peer,
      address,
      String(asn),
      state,
      announced.map(({ prefix }) => prefix).join(','),
      lastError ?? '',
    ]);
    const header = ['PEER', 'ADDRESS', 'AS', 'STATE', 'ANNOUNCED', 'LAST ERROR'];
    text += `\n${renderTable(header, rows, columns)}`;
  }
  const missing = agent?.unannounced ?? [];
  if (missing.length > 0) {
    const rows = missing.map(({ cidr, peer, reason, detail }) => [
      cidr,
      peer ?? '(all)',
      reason,
      detail,
    ]);
    text += `\n${renderTable(['NOT ANNOUNCED', 'TO PEER', 'REASON', 'DETAIL'], rows, columns)}`;
  }
  for (const { reason, detail } of agent?.findings ?? [])
    text += `\n${printable(`${reason}: ${detail}`)}\n`;
  return text;
}
