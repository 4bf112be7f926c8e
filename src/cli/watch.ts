import { type Command, Option } from 'commander';
import { CadastreError } from '../base/errors.ts';
import { readSeconds } from './numbers.ts';
import type { Terminal } from './terminal.ts';

/** `--watch` of the commands that look: the same answer again and again, until somebody ends it. */
export interface WatchFlags {
  watch?: boolean;
  every?: string;
}

const usualSeconds = 2;

export function addWatchFlags(command: Command): Command {
  return command
    .addOption(new Option('-w, --watch', 'look again and again, until Ctrl-C'))
    .addOption(
      new Option('--every <seconds>', 'with --watch: how often').default(`${usualSeconds}`),
    );
}

/** How long to wait between two looks; undefined: one look is wanted. */
export function watchMs(flags: Record<string, unknown>): number | undefined {
  const { watch, every = `${usualSeconds}` } = flags as WatchFlags;
  if (watch !== true) return undefined;
  const { from, rib, fix, output } = flags as {
    from?: string[];
    rib?: { path: string }[];
    fix?: boolean;
    output?: string;
  };
  const refuse = (what: string) => {
    throw new CadastreError('BAD_USAGE', `--watch cannot be combined with ${what}`);
  };
  if (from?.includes('-') || rib?.some(({ path }) => path === '-')) refuse('standard input');
  if (fix === true) refuse('--fix');
  if (output === 'html') refuse('-o html');
  return readSeconds('--every', every, 0.1, 3600) * 1000;
}

/** One answer, kept back until it is whole. */
export function heldBack(terminal: Terminal): { terminal: Terminal; show(last: string): string } {
  const pieces: Array<() => void> = [];
  let text = '';
  return {
    terminal: {
      ...terminal,
      write: (piece, paint) => {
        text += piece;
        pieces.push(() => terminal.write(piece, paint));
      },
      say: (line) => {
        text += `${line}\n`;
        pieces.push(() => terminal.say(line));
      },
      exitCode: 0,
    },
    /** On a terminal the screen is replaced; elsewhere an answer is printed when it is another one. */
    show(last) {
      const isNew = text !== last;
      if (!isNew) return text;
      terminal.clearScreen?.();
      for (const piece of pieces) piece();
      return text;
    },
  };
}
