import type { Command } from 'commander';
import { runCommandLine, wholeProgram } from '../../src/cli/program.ts';
import type { Terminal } from '../../src/cli/terminal.ts';

export interface Told {
  code: number;
  stdout: string;
  stderr: string;
}

/** The moment at which tests in the same process look: noon of a winter's day. */
export const nowText = '2026-02-01T12:00:00Z';

/** Every command that does something, as the words that call it. */
export async function everyCommand(): Promise<Array<{ words: string[]; command: Command }>> {
  const found: Array<{ words: string[]; command: Command }> = [];
  const visit = (command: Command, words: string[]) => {
    if (command.commands.length === 0 || command.name() === 'blocks') {
      found.push({ words, command });
    }
    for (const below of command.commands) {
      if (below.name() !== 'help') visit(below, [...words, below.name()]);
    }
  };
  visit(await wholeProgram(collectingTerminal('').terminal), []);
  return found;
}

const usualArguments: Record<string, string> = { cidr: '10.0.0.0/24', count: '1', label: 'a=b' };

/** The arguments and flags without which a command is wrong usage. */
export function neededWords(command: Command): string[] {
  const needed = command.registeredArguments.filter(({ required }) => required);
  const flags = command.options.filter(({ mandatory }) => mandatory);
  return [
    ...needed.map((argument) => usualArguments[argument.name()] ?? 'node1'),
    ...flags.flatMap(({ long, argChoices }) => [long!, argChoices?.[0] ?? 'x']),
  ];
}

/** Runs a command line in this process, with a fixed clock and nothing of the environment. */
export async function run(argv: readonly string[], stdin = ''): Promise<Told> {
  const { terminal, told } = collectingTerminal(stdin);
  const code = await runCommandLine(argv, terminal);
  return { code, ...told };
}

export function collectingTerminal(stdin: string) {
  const told = { stdout: '', stderr: '' };
  const terminal: Terminal = {
    write: (text) => {
      told.stdout += text;
    },
    say: (line) => {
      told.stderr += `${line}\n`;
    },
    readStdin: async () => Buffer.from(stdin),
    env: {},
    clock: { wallMs: () => Date.parse(nowText), monotonicMs: () => 0 },
    columns: 100,
    exitCode: 0,
  };
  return { terminal, told };
}

/** The path of a folder of fixtures. */
export const fixture = (name: string) => new URL(`./fixtures/${name}`, import.meta.url).pathname;
