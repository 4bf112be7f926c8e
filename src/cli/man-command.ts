import type { Command } from 'commander';
import { generalHelp } from './general-help.ts';
import type { Terminal } from './terminal.ts';
import { readVersion } from './version.ts';

/** `cadastre man`: the manual page, made of the help of every command. */
export function registerMan(program: Command, terminal: Terminal): void {
  program
    .command('man')
    .summary('the manual page: cadastre man | man -l -')
    .description('Prints the manual page, made of the help of every command.')
    .addHelpText('after', '\nExamples:\n  $ cadastre man | man -l -')
    .action(() => terminal.write(manualPage(program)));
}

/** In the macros of man(7). Help texts are kept as they are laid out. */
function manualPage(program: Command): string {
  const lines = [
    `.TH CADASTRE 1 "" "cadastre ${readVersion()}" "User Commands"`,
    '.SH NAME',
    'cadastre \\- IPAM and BGP for Kubernetes on bare metal',
    '.SH SYNOPSIS',
    '.B cadastre',
    '.I COMMAND',
    '.RI [ OPTION ...]',
    '.br',
    '.B kubectl cadastre',
    '.I COMMAND',
    '.RI [ OPTION ...]',
    '.SH DESCRIPTION',
    escaped(program.description()),
    '.SH COMMANDS',
    ...everyLeaf(program).flatMap(({ words, command }) => [
      `.SS ${escaped(words.join(' '))}`,
      ...asItIs(helpOf(command)),
    ]),
    ...generalHelp.flatMap(({ title, text }) => [`.SH ${title.toUpperCase()}`, ...asItIs(text)]),
  ];
  return `${lines.join('\n')}\n`;
}

function everyLeaf(
  command: Command,
  words = ['cadastre'],
): { words: string[]; command: Command }[] {
  const below = command.createHelp().visibleCommands(command);
  const own = command.parent !== null && !isGroup(command) ? [{ words, command }] : [];
  return [
    ...own,
    ...below
      .filter((one) => one.name() !== 'help')
      .flatMap((one) => everyLeaf(one, [...words, one.name()])),
  ];
}

/** A group such as `bgp` does nothing by itself; `blocks` lists, and has `release` below it. */
function isGroup(command: Command): boolean {
  return command.commands.length > 0 && command.registeredArguments.length === 0;
}

/** With the examples, which Commander prints and does not return. */
function helpOf(command: Command): string {
  let text = '';
  const usual = { ...command.configureOutput() };
  command.configureOutput({
    writeOut: (more) => {
      text += more;
    },
    getOutHelpWidth: () => 78,
  });
  command.outputHelp();
  command.configureOutput(usual);
  return text;
}

function asItIs(text: string): string[] {
  return ['.nf', ...text.trim().split('\n').map(escaped), '.fi'];
}

/**
 * A backslash and a dash mean something to roff; so do a dot and a quote that begin a line.
 * groff reads ASCII, and other letters by number.
 */
function escaped(line: string): string {
  return line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&')
    .replace(
      /[^\p{ASCII}]/gu,
      (letter) => `\\[u${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}
