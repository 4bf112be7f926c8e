import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identityIn } from './folder.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'identity-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('an identity is made once, and is the same over restarts', () => {
  const first = identityIn(dir, '127.0.0.1', '10.96.0.1');
  expect(identityIn(dir, '127.0.0.1', '10.96.0.1')).toMatchObject(first);
  // As version 0.1.0 wrote it.
  const path = join(dir, 'identity.json');
  const { checksum, ...old } = JSON.parse(readFileSync(path, 'utf8'));
  expect(checksum).toMatch(/^[0-9a-f]{8}$/);
  writeFileSync(path, JSON.stringify(old));
  expect(identityIn(dir, '127.0.0.1', '10.96.0.1')).toMatchObject(first);
});

test.each([
  ['empty', () => '', 'is empty'],
  ['short', (text: string) => text.slice(0, 50), 'is not JSON: '],
  ['something else', () => '{"token":7}', 'has no host'],
  [
    'changed',
    (text: string) => text.replace(/"token":"./, '"token":"x'),
    'does not have the checksum',
  ],
])(
  'an identity that is %s is refused with the file and what to do, and kept',
  (_, damage, what) => {
    identityIn(dir, '127.0.0.1', '10.96.0.1');
    const path = join(dir, 'identity.json');
    writeFileSync(path, damage(readFileSync(path, 'utf8')));
    const damaged = readFileSync(path, 'utf8');
    expect(() => identityIn(dir, '127.0.0.1', '10.96.0.1')).toThrow(`${path} ${what}`);
    expect(() => identityIn(dir, '127.0.0.1', '10.96.0.1')).toThrow(
      expect.objectContaining({ code: 'STATE_DAMAGED' }),
    );
    expect(readFileSync(path, 'utf8')).toBe(damaged);
  },
);
