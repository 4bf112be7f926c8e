import type { Command } from 'commander';
import { printable } from '../../base/printable.ts';
import { agentSocketPath } from '../../model/keys.ts';
import { type Format, plainOutputFlag, printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { type LocalStatus, readLocal } from '../view/node-states.ts';

/** `cadastre status`: what the agent of this machine says about itself. */
export function registerStatus(program: Command, terminal: Terminal): void {
  program
    .command('status')
    .description("this node: its agent, blocks, routes and sessions (asks the agent's socket)")
    .option(
      '--socket <path>',
      "the agent's socket (also: CADASTRE_SOCKET)",
      terminal.env.CADASTRE_SOCKET || agentSocketPath,
    )
    .addOption(plainOutputFlag())
    .addHelpText(
      'after',
      `
Exit code: 0 if the agent is ready, 1 if not.

Examples:
  $ cadastre status
  $ cadastre status -o json
  $ cadastre status --socket /run/cadastre/agent.sock`,
    )
    .action(async (flags: { socket: string; output: Format }) => {
      const status = await readLocal(flags.socket);
      if (status.agent?.ready === false) terminal.exitCode = 1;
      await printAnswer(terminal, flags.output, {
        data: status,
        names: [],
        table: (columns) => statusText(status, columns),
      });
    });
}

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
