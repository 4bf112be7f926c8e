import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { modeNames } from '../src/model/modes.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/doctor.md'), 'utf8');

test('docs/doctor.md says for every mode which record is the truth', () => {
  const [, after = ''] = page.split(/^## Which record counts$/m);
  for (const mode of modeNames) expect(after).toContain(`\`${mode}\``);
});
