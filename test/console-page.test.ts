import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { views } from '../src/console/views.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/console.md'), 'utf8');

test.each(views)('docs/console.md says what the view %s shows', (view) => {
  const [, section = ''] = page.split(/^## The views$/m);
  // By its address, or by a title that begins with its name.
  expect(section).toMatch(new RegExp(`^- \\*\\*(${view}\\b|.*\\(\`/${view}\`\\))`, 'im'));
});
