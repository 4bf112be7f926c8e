/** The commands in the documentation: each is one that exists, with flags that exist; those of the run book are run. */
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { wholeProgram } from '../../src/cli/program.ts';
import { fencesOf, pages, textOf } from '../docs-text.ts';
import { commandsOf, wordsOf } from '../shell-lines.ts';
import { runBuilt } from './built-command.ts';
import { collectingTerminal } from './collecting-terminal.ts';

const program = await wholeProgram(collectingTerminal('').terminal);

/** The words after `cadastre`, of every command in a page: in shell blocks, and in its text. */
const linesOf = (page: string) => [
  ...fencesOf(page).flatMap(commandsOf),
  ...[...textOf(page).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!),
];
const called = (line: string) =>
  /^(?:sudo )?(?:kubectl |bin\/|(?:\.\.\/)+bin\/)?cadastre (?=[a-z-])([^|<>;]+)/.exec(line)?.[1];

/** What is wrong with a command line, if anything is. */
function problemOf(line: string): string | undefined {
  let command: Command = program;
  const words = wordsOf(line.replaceAll('…', ''));
  while (words.length > 0) {
    const below = command.commands.find((one) => one.name() === words[0]);
    if (below === undefined) break;
    command = below;
    words.shift();
  }
  if (command === program && !words[0]?.startsWith('-')) return `no command ${words[0]}`;
  const known = (flag: string) => {
    const name = flag.split('=')[0]!;
    for (let at: Command | null = command; at !== null; at = at.parent) {
      if (at.options.some(({ short, long }) => short === name || long === name)) return true;
    }
    return ['--help', '-h', '--version', '-V', '--debug'].includes(name);
  };
  const end = words.indexOf('--');
  const flags = (end < 0 ? words : words.slice(0, end)).filter((word) => /^--?[a-z]/i.test(word));
  const unknown = flags.filter((flag) => !known(flag));
  return unknown.length === 0 ? undefined : `${command.name()} has no ${unknown.join(', ')}`;
}

test('a command or a flag that does not exist would be seen', () => {
  expect(problemOf('doctor --rib a=b')).toBeUndefined();
  expect(problemOf('doctro')).toBe('no command doctro');
  expect(problemOf('bgp peers --nod master1')).toBe('peers has no --nod');
});

test.each(pages)('%s: the commands and flags of cadastre exist', (page) => {
  const lines = linesOf(page).flatMap((line) => called(line) ?? []);
  const problems = lines.flatMap((line) => {
    const problem = problemOf(line);
    return problem === undefined ? [] : `cadastre ${line.trim()}: ${problem}`;
  });
  expect(problems).toEqual([]);
});

/** What the words in capitals stand for in the files that the commands are run on. */
const values: Record<string, string> = {
  NODE: 'master1',
  CIDR: '10.5.113.0/24',
  ADDRESS: '10.5.113.7',
  POOL: 'pods',
  ROUTER: 'tor1',
  FILE: 'test/doctor/fixtures/incident/after-tor1.dump',
};

describe('docs/runbook.md', () => {
  const commands = fencesOf('docs/runbook.md')
    .flatMap(commandsOf)
    .flatMap((line) => called(line) ?? []);
  /** Those that look at a cluster can look at files instead. */
  const onFiles = [...new Set(commands)].filter((line) => {
    const [first = '', second = ''] = line.split(' ');
    const command = program.commands.find((one) => one.name() === first);
    const below = command?.commands.find((one) => one.name() === second);
    return (below ?? command)?.options.some(({ long }) => long === '--from');
  });

  test('has many that can be run on files', () => {
    expect(onFiles.length).toBeGreaterThan(12);
  });

  test.each(onFiles)('cadastre %s', async (line) => {
    const words = wordsOf(line).map((word) =>
      word.replace(/\b[A-Z]{4,}\b/g, (name) => values[name] ?? name),
    );
    const { code, stdout, stderr } = await runBuilt([
      ...words,
      ...['--from', 'test/cli/fixtures/sessions'],
    ]);
    expect(stderr).not.toContain('cadastre: ');
    // A list of nothing is a word on stderr.
    expect(stdout + stderr).not.toBe('');
    expect(code).toBeLessThan(2);
  });
});
