import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { programName } from './program-name.ts';

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cadastre-name-')));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const place = (...files: string[]) => {
  for (const file of files) {
    mkdirSync(join(dir, file, '..'), { recursive: true });
    writeFileSync(join(dir, file), '');
  }
};

test('a checkout is called by its path, an installed program by its name', () => {
  place('checkout/bin/cadastre', 'checkout/dist/cadastre.mjs', 'lib/cadastre/dist/cadastre.mjs');
  const checkout = join(dir, 'checkout');
  expect(programName(join(checkout, 'dist/cadastre.mjs'), checkout)).toBe('bin/cadastre');
  expect(programName(join(checkout, 'bin/cadastre'), checkout)).toBe('bin/cadastre');
  expect(programName(join(checkout, 'bin/cadastre'), dir)).toBe('checkout/bin/cadastre');
  expect(programName(join(checkout, 'bin/cadastre'), '/')).toBe(
    join(dir, 'checkout/bin/cadastre').slice(1),
  );
  mkdirSync(join(dir, 'elsewhere'));
  expect(programName(join(checkout, 'bin/cadastre'), join(dir, 'elsewhere'))).toBe(
    join(checkout, 'bin/cadastre'),
  );
  expect(programName(join(dir, 'lib/cadastre/dist/cadastre.mjs'), dir)).toBe('cadastre');
  expect(programName('/nowhere/at/all', dir)).toBe('cadastre');
});
