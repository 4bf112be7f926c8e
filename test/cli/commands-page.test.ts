/** docs/commands.md and README.md show real output: every example is run, and must print what the page says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fencesOf } from '../docs-text.ts';
import { root, runBuilt } from './built-command.ts';

const page = readFileSync(join(root, 'docs/commands.md'), 'utf8');
const examples = [
  ...page.matchAll(/```console\n\$ bin\/cadastre ((?:[^\n\\]|\\\n)*)\n([\s\S]*?)```/g),
].map(([, line = '', output = '']) => [line.replace(/\\\n\s*/g, ''), output] as const);

test('there are examples', () => {
  expect(examples.length).toBeGreaterThan(8);
  expect(page.match(/```console/g)).toHaveLength(examples.length);
});

test.each(examples)('cadastre %s', async (line, output) => {
  const { stdout, stderr } = await runBuilt(line.split(/\s+/));
  expect(stdout + stderr).toBe(output);
});

test('the table names every command of the help page', async () => {
  const { stdout } = await runBuilt(['--help']);
  const [, commands = ''] = stdout.split('\nCommands:\n');
  const names = [...commands.split('\n\n')[0]!.matchAll(/^ {2}([a-z-]+)/gm)].map(
    ([, name]) => name!,
  );
  const [table = ''] = page.split('\n## ');
  const rows = [...table.matchAll(/^\| (`.+?`) +\|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([a-z-]+)/g)].map(([, name]) => name!),
  );
  expect([...new Set(rows)].sort()).toEqual(names.filter((name) => name !== 'help').sort());
});

/** Both READMEs have the same examples (test/translations.test.ts). */
const shown = fencesOf('README.md')
  .filter(({ language }) => language === 'console')
  .map(({ text }) => {
    const [, line = '', output = ''] = /^\$ bin\/cadastre ((?:[^\n\\]|\\\n)*)\n([\s\S]*)$/.exec(
      text,
    )!;
    return { line: line.replace(/\\\n\s*/g, ''), output };
  });

test('the README has examples that run without a cluster', () => {
  expect(shown.map(({ line }) => line.split(' ')[0])).toEqual(['doctor', 'whatif']);
});

test.each(shown)('README: cadastre $line', async ({ line, output }) => {
  const { stdout, stderr } = await runBuilt(line.split(/\s+/));
  // What the page leaves out it marks.
  for (const part of output.split('…\n')) expect(stdout + stderr).toContain(part);
});
