import type { Command } from 'commander';
import { runPlugin } from '../../cni/plugin.ts';
import type { Terminal } from '../terminal.ts';

/** `cadastre cni`: the CNI plugin for machines without the static one; called by a two-line script. */
export function registerCni(program: Command, terminal: Terminal): void {
  program
    .command('cni')
    .description('the CNI plugin: hands CNI_ variables and stdin to the agent, prints its answer')
    .option('--name <type>', 'the `type` under which configurations name it', 'cadastre')
    .addHelpText(
      'after',
      `
A container runtime calls it by the name in its configuration; in /opt/cni/bin/cadastre:
  #!/bin/sh
  exec cadastre cni

Where the agent listens: $CADASTRE_SOCKET (default /run/cadastre/agent.sock).
Where a DEL waits while the agent is away: $CADASTRE_CNI_SPOOL.`,
    )
    .action(async ({ name }: { name: string }) => {
      terminal.exitCode = await runPlugin({
        env: terminal.env,
        name,
        readStdin: () => terminal.readStdin(),
        write: (text) =>
          terminal.write(typeof text === 'string' ? text : Buffer.from(text).toString()),
        say: (line) => terminal.say(line),
      });
    });
}
