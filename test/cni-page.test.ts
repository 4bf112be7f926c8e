import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cniCodes } from '../src/agent/cni/cni-error.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/cni.md'), 'utf8');

test('docs/cni.md explains every error code', () => {
  const rows = [...page.matchAll(/^\| (\d+) +\| (\w+) +\| \S/gm)];
  expect(Object.fromEntries(rows.map(([, code, name]) => [name, Number(code)]))).toEqual(cniCodes);
});

test('its configurations are JSON', () => {
  const blocks = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text!));
  expect(blocks).toHaveLength(2);
});
