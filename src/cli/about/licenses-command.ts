import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { type Format, plainOutputFlag, printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { type Component, readDelivered } from './components.ts';

const examples = `
Examples:
  Names, versions and licences:
    $ cadastre licenses

  With the text of every licence:
    $ cadastre licenses --full | less`;

export function registerLicenses(program: Command, terminal: Terminal): void {
  program
    .command('licenses')
    .summary('licences of the software of others in this program or image')
    .description(
      'Lists the packages whose code is in this program, with their licences. In an image also Node, and the Debian packages of its libraries.',
    )
    .option('--full', 'print the text of every licence', false)
    .addOption(plainOutputFlag())
    .addHelpText('after', examples)
    .action(async (flags: { full: boolean; output: Format }) => {
      const { components, textFile } = readDelivered();
      if (flags.full) {
        terminal.write(readFileSync(textFile, 'utf8'));
        for (const text of textsOfFiles(components)) terminal.write(text);
        return;
      }
      const data = components.map(({ name, version, license, origin }) => ({
        ...{ name, version, origin, license },
      }));
      await printAnswer(terminal, flags.output, {
        data,
        names: data.map(({ name }) => name),
        table: (columns) =>
          renderTable(
            ['NAME', 'VERSION', 'FROM', 'LICENSE'],
            data.map(({ name, version, origin, license }) => [name, version, origin, license]),
            columns,
          ),
      });
    });
}

/** Of each component its own, then once each that several refer to. */
function textsOfFiles(components: readonly Component[]): string[] {
  const common = new Set<string>();
  const own = components.flatMap(({ name, version, license, textFiles = [] }) => {
    const [first, ...others] = textFiles;
    for (const path of others) common.add(path);
    return first === undefined ? [] : [textOf(`${name} ${version} (${license})`, first)];
  });
  return [...own, ...[...common].sort().map((path) => textOf(path, path))];
}

function textOf(heading: string, path: string): string {
  return `\n${heading}\n${'='.repeat(78)}\n${readFileSync(path, 'utf8').trim()}\n`;
}
