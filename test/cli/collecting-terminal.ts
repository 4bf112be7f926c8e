import { vi } from 'vitest';
import { runCommandLine } from '../../src/cli/program.ts';
import type { Terminal } from '../../src/cli/terminal.ts';

export interface Told {
  code: number;
  stdout: string;
  stderr: string;
}

// The first command loads the operator with all it needs, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 });

/** The moment at which tests in the same process look: noon of a winter's day. */
export const nowText = '2026-02-01T12:00:00Z';

/** Runs a command line in this process, with a fixed clock and nothing of the environment. */
export async function run(argv: readonly string[], stdin = ''): Promise<Told> {
  let stdout = '';
  let stderr = '';
  const terminal: Terminal = {
    write: (text) => {
      stdout += text;
    },
    say: (line) => {
      stderr += `${line}\n`;
    },
    readStdin: async () => Buffer.from(stdin),
    env: {},
    clock: { wallMs: () => Date.parse(nowText), monotonicMs: () => 0 },
    columns: 100,
    exitCode: 0,
  };
  const code = await runCommandLine(argv, terminal);
  return { code, stdout, stderr };
}

/** The path of a folder of fixtures. */
export const fixture = (name: string) => new URL(`./fixtures/${name}`, import.meta.url).pathname;
