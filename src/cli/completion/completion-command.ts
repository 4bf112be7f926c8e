import { type Command, Option } from 'commander';
import { printable } from '../../base/printable.ts';
import type { Terminal } from '../terminal.ts';
import { namesOf } from './names-of.ts';
import { completionScripts, type Shell, shells } from './shell-scripts.ts';
import { whatFollows } from './what-follows.ts';

/** As kubectl reads it from a plugin (cobra's ShellCompDirective): 0 paths too, 4 no paths. */
const directives = { paths: ':0', noPaths: ':4' };

/** A cluster that does not answer must not keep whoever pressed Tab. */
const deadlineMs = 4000;

/**
 * `cadastre completion SHELL` prints a script that asks `cadastre __complete -- WORDS…` at
 * every Tab. kubectl asks the same through a program named kubectl_complete-cadastre.
 */
export function registerCompletion(program: Command, terminal: Terminal): void {
  const command = program
    .command('completion')
    .summary('completion of commands, flags and names of the cluster, for a shell')
    .description(
      'Prints a script that completes commands, flags, and the names of nodes, pools, blocks and peers, which it asks the cluster for.',
    )
    .addHelpText(
      'after',
      `
Examples:
  In this bash, and in every new one:
    $ source <(cadastre completion bash)
    $ echo 'source <(cadastre completion bash)' >> ~/.bashrc

  zsh, in a folder of $fpath:
    $ cadastre completion zsh > ~/.zsh/_cadastre

  fish:
    $ cadastre completion fish > ~/.config/fish/completions/cadastre.fish

\`kubectl cadastre\` is completed by kubectl's own completion: it finds the program
kubectl_complete-cadastre, which the package brings.`,
    )
    .action((shell: Shell) => terminal.write(completionScripts[shell]));
  command.addArgument(command.createArgument('<shell>', 'which shell').choices([...shells]));

  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .addOption(new Option('--debug').hideHelp())
    .action(async (words: string[]) => {
      const deadline = setTimeout(() => process.exit(0), deadlineMs);
      await complete(program, words, terminal);
      clearTimeout(deadline);
    });
}

async function complete(
  program: Command,
  words: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const current = words.at(-1) ?? '';
  const next = whatFollows(program, words);
  const found = [...next.candidates];
  for (const kind of next.names) {
    try {
      const names = await namesOf(kind, next.cluster, terminal);
      found.push(...names.map((name) => printable(`${next.prefix}${name}`)));
    } catch {
      // Without a cluster there are no names of it; words in the middle of a line help nobody.
    }
  }
  const directive = next.isPath ? directives.paths : directives.noPaths;
  const lines = found.filter((word) => word.startsWith(current));
  terminal.write([...lines, directive, ''].join('\n'));
}
