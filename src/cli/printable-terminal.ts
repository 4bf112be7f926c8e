import { printableLines } from '../base/printable.ts';
import type { Terminal } from './terminal.ts';

/**
 * The terminal that every command gets: whatever a router, an object or a file
 * says, no control code of theirs reaches the screen. Tables and `key: value` views
 * escape line breaks too, before they come here.
 */
export function printableTerminal(terminal: Terminal): Terminal {
  const { ask } = terminal;
  return {
    ...terminal,
    write: (text, paint) => terminal.write(printableLines(text), paint),
    say: (line) => terminal.say(printableLines(line)),
    ...(ask === undefined ? {} : { ask: (question) => ask(printableLines(question)) }),
  };
}
