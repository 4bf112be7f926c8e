import { type Clock, systemClock } from '../base/clock.ts';
import { wantsColour } from './colour.ts';

/**
 * What a command has of the world: two streams, and the few things it may ask.
 * Data goes to stdout and words to stderr, so that a pipe carries data alone.
 */
export interface Terminal {
  /** Data, to stdout. */
  write(text: string, paint?: (text: string) => string): void;
  /** A line of words, to stderr. */
  say(line: string): void;
  readStdin(): Promise<Uint8Array>;
  /** Asks a person; absent where none is. */
  ask?(question: string): Promise<string>;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** People look at stdout, and want colour there. */
  readonly hasColour?: boolean;
  /** Puts a line on stderr in the place of the last one; absent where no terminal is. */
  overwrite?(text: string): void;
  /** What the command is at, for who waits. */
  doing?(stage: string): void;
  /** Empties the screen before an answer that is repeated; absent where no terminal is. */
  clearScreen?(): void;
  /** How wide a table may be. */
  readonly columns: number;
  /** 0 fine, 1 failed, 2 wrong usage. */
  exitCode: number;
  /** What a failure exits with; 1 unless a command uses 1 for an answer. */
  failureCode?: number;
}

/** Wide enough for an IPv6 block and a reason, narrow enough for a mail. */
const usualColumns = 100;

export function processTerminal(): Terminal {
  // Whoever reads us may stop early (`| head`): then there is nobody left to tell.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    // A full disk, mostly. Whoever reads the file must not take half an answer for a whole one.
    process.stderr.write(`cadastre: the answer could not be written: ${error.message}\n`);
    process.exit(1);
  });
  // Nobody reads our words: that is no reason to stop in the middle of a deed.
  process.stderr.on('error', () => {});
  return {
    write: (text, paint) => void process.stdout.write(paint === undefined ? text : paint(text)),
    say: (line) => void process.stderr.write(`${line}\n`),
    readStdin,
    ...(process.stdin.isTTY ? { ask } : {}),
    ...(process.stderr.isTTY
      ? { overwrite: (text: string) => void process.stderr.write(`\r\u001b[K${text}`) }
      : {}),
    ...(process.stdout.isTTY
      ? { clearScreen: () => void process.stdout.write('\u001b[H\u001b[2J\u001b[3J') }
      : {}),
    hasColour: wantsColour(process.env, process.stdout.isTTY === true),
    env: process.env,
    clock: systemClock,
    columns: Math.max(process.stdout.columns ?? 0, usualColumns),
    exitCode: 0,
  };
}

async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

async function readStdin(): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
