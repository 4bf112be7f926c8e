import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cureNames, notTried } from '../src/model/cures.ts';
import type { MigrationPlan, NodeMove } from '../src/plan/migration/migration-plan.ts';
import { moveSteps, preparation } from '../src/plan/migration/migration-steps.ts';
import { missingTests, namedTests } from './named-tests.ts';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/cures.md'), 'utf8');

/** The rows of a section's table: the name, and its last cell. */
function rowsOf(heading: string): Array<{ name: string; executed: string }> {
  const section = page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;
  return section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map((cells) => ({ name: cells[1]!.replaceAll('`', ''), executed: cells.at(-2)! }));
}

const sources = ['plan', 'operator', 'migrate', 'model', 'doctor', 'agent'].flatMap((room) =>
  readdirSync(join(root, 'src', room), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => ({
      file: `src/${room}/${file}`,
      text: readFileSync(join(root, 'src', room, file), 'utf8'),
    })),
);

describe('docs/cures.md', () => {
  const rows = rowsOf('Cures');

  test('has a row for every cure, in their order, and no other', () => {
    expect(rows.map(({ name }) => name)).toEqual([...cureNames]);
  });

  test.each(rows)(
    '$name is executed by a test that is there, or says that it is not tried',
    (row) => {
      if (row.executed !== '–') {
        expect(missingTests(namedTests(row.executed))).toEqual([]);
        return;
      }
      const printed = sources.filter(({ text }) => text.includes(`'${row.name}'`));
      const says = printed.filter(({ text, file }) => {
        if (file.endsWith('cures.ts')) return false;
        const at = text.indexOf(`'${row.name}'`);
        return text.slice(Math.max(0, at - 300), at + 300).includes('notTried');
      });
      expect(says, `${row.name} must say ${notTried}`).toHaveLength(1);
    },
  );

  test('every name is printed somewhere', () => {
    const unused = cureNames.filter(
      (name) =>
        !sources.some(({ file, text }) => !file.endsWith('cures.ts') && text.includes(`'${name}'`)),
    );
    expect(unused).toEqual([]);
  });

  test('a command that people are told to type is a cure', () => {
    const told = /[`'][^`'\n]*\bkubectl (?:-n \S+ )?[a-z]+ /g;
    const loose = sources.flatMap(({ file, text }) =>
      [...text.matchAll(told)]
        .filter(({ index }) => !isComment(text, index))
        .filter(({ index }) => !text.slice(Math.max(0, index - 400), index + 200).includes('cure('))
        .map(({ 0: words }) => `${file}: ${words}`),
    );
    expect(loose).toEqual([]);
  });
});

describe('the steps of a migration', () => {
  const rows = rowsOf('Steps of a migration');

  test('are all those that are planned', () => {
    const planned = new Set<string>();
    const plan = { from: ['spec', 'ciliumnode'], adopt: [], fresh: [] } as unknown as MigrationPlan;
    for (const { step } of preparation(plan, 'ip-pool')) planned.add(step);
    for (const method of ['release', 'recreate'] as const) {
      for (const hasCiliumAgent of [true, false]) {
        const blast = { withdrawn: [], announced: [], others: [] };
        const move = { node: 'n', from: [], to: [], method, hasCiliumAgent, blast };
        for (const { step } of moveSteps(move as unknown as NodeMove)) planned.add(step);
      }
    }
    expect(rows.map(({ name }) => name).sort()).toEqual([...planned].sort());
  });

  test.each(rows)('$name is taken by a test that is there', ({ executed }) => {
    expect(missingTests(namedTests(executed))).toEqual([]);
  });
});

function isComment(text: string, at: number): boolean {
  const line = text.slice(text.lastIndexOf('\n', at) + 1, at);
  return /^\s*(\*|\/\/|\/\*)/.test(line);
}
