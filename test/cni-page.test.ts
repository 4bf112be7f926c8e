import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerSeconds } from '../src/agent/cni/cni-call.ts';
import { cniCodes } from '../src/agent/cni/cni-error.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/cni.md'), 'utf8');

test('docs/cni.md explains every error code', () => {
  const rows = [...page.matchAll(/^\| (\d+) +\| (\w+) +\| \S/gm)];
  expect(Object.fromEntries(rows.map(([, code, name]) => [name, Number(code)]))).toEqual(cniCodes);
});

test('its configurations are JSON', () => {
  const blocks = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text!));
  expect(blocks).toHaveLength(3);
});

test('the plugin, the agent and the page say the same limit', () => {
  const source = readFileSync(join(import.meta.dirname, '../cni/shim/cadastre-cni.c'), 'utf8');
  expect(source).toContain(`#define ANSWER_SECONDS ${answerSeconds}\n`);
  expect(page).toContain(`The plugin waits ${answerSeconds} s\nin all`);
  const [, most] = /#define MOST_ANSWER_SECONDS (\d+)/.exec(source)!;
  expect(page).toContain(`\`CADASTRE_CNI_SECONDS\` (1 to ${most})`);
});
