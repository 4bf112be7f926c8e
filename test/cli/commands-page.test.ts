/** docs/commands.md shows real output: every example is run, and must print what the page says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
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
