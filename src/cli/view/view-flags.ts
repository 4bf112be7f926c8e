import { type Command, Option } from 'commander';
import type { ReadCluster } from '../../cluster/read-cluster.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { ClusterKind } from '../../model/cluster-kinds.ts';
import { type Format, formats } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import { addWatchFlags } from '../watch.ts';

/** Which cluster to look at, or which files in place of one, and how to print it. */
export interface ViewFlagValues {
  from?: string[];
  kubeconfig?: string;
  context?: string;
  verbose?: boolean;
  output: Format;
}

export type ClusterFlags = Pick<ViewFlagValues, 'from' | 'kubeconfig' | 'context' | 'verbose'>;

export function fromOption(): Option {
  return new Option(
    '--from <path>',
    'look at files instead of a cluster: a file or folder of Kubernetes objects in JSON or YAML, or - for stdin; repeatable',
  )
    .conflicts(['kubeconfig', 'context'])
    .argParser((path: string, before: string[] | undefined) => [...(before ?? []), path]);
}

export function addViewFlags(command: Command): Command {
  const group = 'What to look at:';
  command
    .addOption(fromOption().helpGroup(group))
    .addOption(new Option('--kubeconfig <path>', 'the kubeconfig of the cluster').helpGroup(group))
    .addOption(new Option('--context <name>', 'the context in the kubeconfig').helpGroup(group))
    .addOption(
      new Option('-o, --output <format>', 'how to print it').choices(formats).default('table'),
    )
    .option('-v, --verbose', 'say on stderr what was read and what was ignored');
  return addWatchFlags(command);
}

/** Which cluster, for commands that act on one. */
export function addClusterFlags(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'the cluster (default: $KUBECONFIG, the pod, ~/.kube/config)')
    .option('--context <name>', 'the context of the kubeconfig');
}

/** What every command looks at; nodes come last, see list-cluster.ts. */
const usualKinds = [
  'operatorReports',
  'pools',
  'blocks',
  'reports',
  'ciliumNodes',
  'serviceCidrs',
  'nodes',
] as const satisfies readonly ClusterKind[];

/** The cluster or the files; `more` are kinds that only few commands ask for. */
export async function readCluster(
  flags: ClusterFlags,
  terminal: Terminal,
  more: readonly ClusterKind[] = [],
): Promise<ReadCluster> {
  if (flags.from !== undefined) return readFilesOf(flags.from, flags, terminal);
  return withClient(flags, terminal, async (client, origin) => {
    const { ClusterList } = await import('../../cluster/list-cluster.ts');
    const list = new ClusterList(client, { origin, isLenient: false });
    for (const kind of [...more, ...usualKinds]) {
      terminal.doing?.(`reading ${kind}`);
      await list.read(kind);
    }
    if (flags.verbose) terminal.say(`read ${origin}: ${list.summary}`);
    return list.result();
  });
}

export async function readFilesOf(
  paths: readonly string[],
  { verbose }: ClusterFlags,
  terminal: Terminal,
): Promise<ReadCluster> {
  const { readFiles } = await import('../../cluster/read-files.ts');
  terminal.doing?.(`reading ${paths.join(', ')}`);
  return readFiles(paths, {
    readStdin: () => terminal.readStdin(),
    nowMs: terminal.clock.wallMs(),
    say: verbose ? (line) => terminal.say(line) : undefined,
  });
}

/** With a client of the cluster that the flags name, and where that is, for messages. */
export async function withClient<T>(
  { kubeconfig, context }: ClusterFlags,
  terminal: Terminal,
  use: (client: KubeClient, origin: string) => Promise<T>,
  connections?: number,
): Promise<T> {
  const { loadKubeConfig } = await import('../../kube/kubeconfig.ts');
  const { KubeClient } = await import('../../kube/client.ts');
  const { env, clock } = terminal;
  const access = await loadKubeConfig({ kubeconfig, context, env, clock });
  const client = new KubeClient(access, { userAgent: `cadastre/${readVersion()}`, connections });
  try {
    return await use(client, access.origin);
  } finally {
    await client.close();
  }
}
