import { type Command, Option } from 'commander';
import { askAgent } from '../../agent/ask-agent.ts';
import { CadastreError, describeError } from '../../base/errors.ts';
import { type LogLevel, logLevels } from '../../base/log.ts';
import { agentOperations } from '../../model/agent-api.ts';
import { agentSocketPath } from '../../model/keys.ts';
import { readWhole } from '../numbers.ts';
import type { Terminal } from '../terminal.ts';

interface LogLevelFlags {
  socket: string;
  pid?: string;
}

/** `cadastre log-level debug`: of a program that runs, until it ends. */
export function registerLogLevel(program: Command, terminal: Terminal): void {
  program
    .command('log-level')
    .argument('[level]', logLevels.join(', '))
    .summary('the log level of a running agent, operator or console, without a restart')
    .description(
      "Says the log level of the agent of this machine, or changes it until the agent ends. With --pid: an operator or console, which switches between debug and the level it was started with. Whoever may open the agent's socket, or send the process a signal, may do that: root, and the process' own user.",
    )
    .addOption(
      new Option('--socket <path>', "the agent's socket (also: CADASTRE_SOCKET)").default(
        terminal.env.CADASTRE_SOCKET || agentSocketPath,
      ),
    )
    .option('--pid <n>', 'an operator or console, by its process id: 1 in its own container')
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre log-level
  $ cadastre log-level debug
  $ cadastre log-level --pid 1         # in the container of the operator; again: back`,
    )
    .action(async (level: string | undefined, flags: LogLevelFlags) => {
      if (flags.pid !== undefined) return switchProcess(level, flags.pid, terminal);
      const { logLevel, setLogLevel } = agentOperations;
      const answer =
        level === undefined
          ? await askAgent(flags.socket, logLevel.method, logLevel.path)
          : await askAgent(flags.socket, setLogLevel.method, setLogLevel.path, {
              level: readLevel(level),
            });
      terminal.write(`${(answer as { level: LogLevel }).level}\n`);
    });
}

function readLevel(text: string): LogLevel {
  const known = logLevels.find((level) => level === text);
  if (known !== undefined) return known;
  throw new CadastreError('BAD_FLAG', `"${text}" is not a log level`, {
    remedy: `Use one of: ${logLevels.join(', ')}.`,
  });
}

function switchProcess(level: string | undefined, text: string, terminal: Terminal): void {
  if (level !== undefined) {
    throw new CadastreError('BAD_FLAG', 'a level has no meaning with --pid', {
      remedy: 'Leave it out: the process switches between debug and the level it was started with.',
    });
  }
  const pid = readWhole('--pid', text, 1, 2 ** 22);
  try {
    process.kill(pid, 'SIGUSR2');
  } catch (cause) {
    throw new CadastreError(
      'BAD_INPUT',
      `process ${pid} cannot be asked: ${describeError(cause)}`,
      { cause, remedy: 'Run this as root or as the user of that process, on its machine.' },
    );
  }
  terminal.say(`process ${pid} was asked to switch its log level; its log says which it has now`);
}
