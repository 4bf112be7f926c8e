import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { AgentStatusJson } from '../../agent/agent-status.ts';
import { askAgent } from '../../agent/ask-agent.ts';
import { CadastreError } from '../../base/errors.ts';
import type { AddressStatusJson } from '../../model/agent-api.ts';
import { agentSocketPath } from '../../model/keys.ts';
import type { ReportedSession } from '../../model/node-report-status.ts';
import type { Terminal } from '../terminal.ts';
import { addViewFlags, readCluster, type ViewFlagValues } from './view-flags.ts';

/** What agents say of their nodes: the one of this machine, or all of them by their NodeReports. */
export interface NodeState {
  node: string;
  sessions: readonly ReportedSession[];
}

export interface NodeStateFlags extends ViewFlagValues {
  socket?: string;
  node?: string;
}

export function addNodeStateFlags(command: Command): Command {
  const group = 'What to look at:';
  command
    .addOption(new Option('--node <name>', 'only this node, by its NodeReport').helpGroup(group))
    .addOption(
      new Option(
        '--socket <path>',
        `the agent of this machine (default: $CADASTRE_SOCKET, then ${agentSocketPath} if it is there, else the cluster)`,
      ).helpGroup(group),
    );
  return addViewFlags(command);
}

/** Whoever names a cluster, files or a node does not mean this machine. */
export function localSocket(flags: NodeStateFlags, env: NodeJS.ProcessEnv): string | undefined {
  if (flags.socket !== undefined) return flags.socket;
  const isElsewhere = [flags.node, flags.from, flags.kubeconfig, flags.context].some(
    (one) => one !== undefined,
  );
  if (isElsewhere) return undefined;
  return [env.CADASTRE_SOCKET, agentSocketPath].find((path) => path && existsSync(path));
}

export type LocalStatus = AddressStatusJson & { agent?: AgentStatusJson };

export async function readLocal(socket: string): Promise<LocalStatus> {
  return (await askAgent(socket, 'GET', '/v1/status')) as LocalStatus;
}

export async function readNodeStates(
  flags: NodeStateFlags,
  terminal: Terminal,
): Promise<NodeState[]> {
  const socket = localSocket(flags, terminal.env);
  if (socket !== undefined) {
    const { agent } = await readLocal(socket);
    const local = { node: agent?.node ?? '', sessions: agent?.sessions ?? [] };
    return flags.node === undefined || flags.node === local.node ? [local] : noSuch(flags.node);
  }
  const { items } = await readCluster(flags, terminal);
  const states = [...(items.reports ?? [])]
    .map(({ name, status }) => ({ node: name, sessions: status?.sessions ?? [] }))
    .filter(({ node }) => flags.node === undefined || node === flags.node)
    .sort((a, b) => (a.node < b.node ? -1 : 1));
  return flags.node === undefined || states.length > 0 ? states : noSuch(flags.node);
}

function noSuch(node: string): never {
  throw new CadastreError('BAD_INPUT', `there is no NodeReport of a node called "${node}"`, {
    remedy: 'Its agent writes it; see cadastre nodes for the names.',
  });
}
