import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { modeNames } from '../src/model/modes.ts';
import { reasons } from '../src/model/reasons.ts';
import { doctorReasons } from '../src/plan/doctor/finding.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/doctor.md'), 'utf8');

test('docs/doctor.md explains every reason, in the order and words of the source', () => {
  const [, after = ''] = page.split(/^## The findings$/m);
  const [part = ''] = after.split(/^## /m);
  const sections = part.split(/^### /m).slice(1);
  const told = sections.map((section) => {
    const [reason = '', sentence = '', ...more] = section.split(/\n\n/);
    const text = more.join('\n\n');
    for (const word of ['**Hurts:**', '**Cure:**']) expect(text, reason).toContain(word);
    return [reason, sentence] as const;
  });
  expect(told.map(([reason]) => reason)).toEqual([...doctorReasons]);
  for (const [reason, sentence] of told) {
    expect(sentence, reason).toBe(reasons[reason as keyof typeof reasons]);
  }
});

test('docs/doctor.md says for every mode which record is the truth', () => {
  const [, after = ''] = page.split(/^## Which record counts$/m);
  for (const mode of modeNames) expect(after).toContain(`\`${mode}\``);
});
