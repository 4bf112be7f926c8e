import { Command } from 'commander';
import { registerBlocks } from './blocks-command.ts';
import type { Door } from './door.ts';
import { registerExplain } from './explain-command.ts';
import { tellFailure } from './failure.ts';
import { registerNodes } from './nodes-command.ts';
import { registerPlan } from './plan-command.ts';
import { registerPools } from './pools-command.ts';
import { readVersion } from './version.ts';

/** Runs one command line and gives its exit code. */
export async function runCommandLine(argv: readonly string[], door: Door): Promise<number> {
  const isDebug = argv.includes('--debug') || Boolean(door.env.CADASTRE_DEBUG);
  try {
    await makeProgram(door).parseAsync(argv, { from: 'user' });
    return door.exitCode;
  } catch (error) {
    return tellFailure(error, door, isDebug);
  }
}

function makeProgram(door: Door): Command {
  const program = new Command('cadastre')
    .description(
      'Every Kubernetes node its own block of pod addresses: who holds which, why, and what would happen.',
    )
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--debug', 'show where a failure came from (also: CADASTRE_DEBUG=1)')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .configureOutput({
      writeOut: (text) => door.write(text),
      writeErr: (text) => door.say(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error: /, 'cadastre: ')),
      getOutHelpWidth: () => door.columns,
      getErrHelpWidth: () => door.columns,
    })
    .showHelpAfterError('See cadastre --help, or --help after the command.')
    .exitOverride();
  registerNodes(program, door);
  registerPools(program, door);
  registerBlocks(program, door);
  registerPlan(program, door);
  registerExplain(program, door);
  return program;
}
