import { type Command, Option } from 'commander';
import { type Format, formats } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import type { ClusterView } from './cluster-view.ts';
import type { Extra } from './view-from-cluster.ts';

/** Which cluster to look at, or which files in place of one, and how to print it. */
export interface ViewFlagValues {
  from?: string[];
  kubeconfig?: string;
  context?: string;
  verbose?: boolean;
  output: Format;
}

export function addViewFlags(command: Command): Command {
  const group = 'What to look at:';
  return command
    .addOption(
      new Option(
        '--from <path>',
        'look at files instead of a cluster: a file or folder of Kubernetes objects in JSON or YAML, or - for stdin; repeatable',
      )
        .helpGroup(group)
        .conflicts(['kubeconfig', 'context'])
        .argParser((path: string, before: string[] | undefined) => [...(before ?? []), path]),
    )
    .addOption(new Option('--kubeconfig <path>', 'the kubeconfig of the cluster').helpGroup(group))
    .addOption(new Option('--context <name>', 'the context in the kubeconfig').helpGroup(group))
    .addOption(
      new Option('-o, --output <format>', 'how to print it').choices(formats).default('table'),
    )
    .option('-v, --verbose', 'say on stderr what was read and what was ignored');
}

export async function readView(
  flags: ViewFlagValues,
  terminal: Terminal,
  more: readonly Extra[] = [],
): Promise<ClusterView> {
  if (flags.from !== undefined) {
    const { viewFromFiles } = await import('./view-from-files.ts');
    return viewFromFiles(flags.from, terminal, flags.verbose ?? false);
  }
  const { viewFromCluster } = await import('./view-from-cluster.ts');
  return viewFromCluster(flags, terminal, more);
}
