import { Option } from 'commander';
import { printable } from '../base/printable.ts';
import { colourised } from './colour.ts';
import type { Terminal } from './terminal.ts';

export const formats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
/** `html`: of the doctor alone. */
export type Format = (typeof formats)[number] | 'html';

/** `-o` of the commands whose answer has no names and no wide form. */
export function plainOutputFlag(): Option {
  return new Option('-o, --output <format>', 'table, json or yaml')
    .choices(['table', 'json', 'yaml'])
    .default('table');
}

/** One answer in every form it can be asked for. */
export interface CommandAnswer {
  /** What -o json and -o yaml print. */
  data: unknown;
  /** What -o name prints: `node/master1`, as kubectl says it. */
  names: readonly string[];
  /** What a person reads, within that many columns. */
  table(columns: number, isWide: boolean): string;
  /** One file to send around, where there is such a form. */
  html?(): Promise<string>;
}

export async function printAnswer(
  terminal: Terminal,
  format: Format,
  answer: CommandAnswer,
): Promise<void> {
  if (format === 'json') terminal.write(`${JSON.stringify(answer.data, null, 2)}\n`);
  else if (format === 'html' && answer.html !== undefined) terminal.write(await answer.html());
  else if (format === 'yaml') {
    const { yamlText } = await import('./yaml-text.ts');
    terminal.write(yamlText(answer.data));
  } else if (format === 'name')
    terminal.write(answer.names.map((name) => `${printable(name)}\n`).join(''));
  else {
    const isWide = format === 'wide';
    const text = answer.table(isWide ? Number.MAX_SAFE_INTEGER : terminal.columns, isWide);
    terminal.write(text, terminal.hasColour === true ? colourised : undefined);
  }
}
