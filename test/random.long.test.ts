/** The random tests' own ground: a planted bug is found, told with its seed, and found again. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { soakProperties } from './soak/properties/soak-properties.ts';

const root = join(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'random-test-'));
afterAll(() => rmSync(scratch, { recursive: true }));

function checkoutWith(testFile: string): string {
  const dir = mkdtempSync(join(scratch, 'checkout-'));
  for (const path of ['scripts', 'vitest.config.ts', 'package.json', 'src/base/shell-word.ts']) {
    cpSync(join(root, path), join(dir, path), { recursive: true });
  }
  for (const name of ['random.ts', 'random-setup.ts', 'random-seed-notice.ts']) {
    cpSync(join(root, 'test/parts', name), join(dir, 'test/parts', name));
  }
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  mkdirSync(join(dir, 'src/x'), { recursive: true });
  writeFileSync(join(dir, 'src/x/planted.test.ts'), testFile);
  return dir;
}

const planted = (sum: string) => `import fc from 'fast-check';
import { describe, test } from 'vitest';
describe("adding (it's easy)", () => {
  test('a sum is no less than its parts', () => {
    fc.assert(fc.property(fc.nat(), fc.nat(), (a, b) => (${sum}) >= a));
  });
});
test('another one', () => {
  fc.assert(fc.property(fc.nat(), (a) => a >= 0));
});
`;

async function soak(dir: string): Promise<{ hasPassed: boolean; lines: string[] }> {
  const lines: string[] = [];
  const hasPassed = await soakProperties({
    dir,
    minutes: 0,
    factor: 3,
    words: [],
    nextSeed: () => 424_242,
    print: (line) => lines.push(line),
  });
  return { hasPassed, lines };
}

test('the soak counts what it did', async () => {
  const { hasPassed, lines } = await soak(checkoutWith(planted('a + b')));
  expect(hasPassed, lines.join('\n')).toBe(true);
  expect(lines[0]).toBe('seed 424242: passed, 600 runs of 2 properties');
  expect(lines[1]).toMatch(/^600 runs of 2 properties, rounds: 1, minutes: \d+\.\d$/);
});

test('a planted bug fails the soak, with the command that finds the same failure again', async () => {
  // Wrong for about one pair in thirty: most runs see nothing.
  const dir = checkoutWith(planted('a % 31 === 17 ? a - 1 : a + b'));
  const { hasPassed, lines } = await soak(dir);
  expect(hasPassed).toBe(false);
  const counterexample = /Counterexample: .*/.exec(lines.join('\n'))?.[0];
  expect(counterexample).toBeDefined();
  const command = lines.find((line) => line.startsWith('replay: '))?.slice('replay: '.length) ?? '';
  expect(command).toContain('FC_SEED=424242 FC_FACTOR=3 ');
  const { FC_TALLY: _, ...env } = process.env;
  const again = spawnSync('sh', ['-c', command], { cwd: dir, encoding: 'utf8', env });
  const text = again.stdout + again.stderr;
  expect(again.status).toBe(1);
  expect(text).toContain(counterexample);
  expect(text).toContain('random tests: seed 424242');
  expect(text).toContain('1 skipped');
});

test('every property takes the seed and the number of runs that it is given', () => {
  const own = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((path) => join('src', path))
    .concat(
      readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).map((path) =>
        join('test', path),
      ),
    )
    .filter((path) => path.endsWith('.test.ts') && path !== 'test/random.long.test.ts')
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    .filter(({ text }) => text.includes('fc.assert('));
  expect(own.length).toBeGreaterThan(30);
  const fixed = /\bnumRuns: (?!runs\()\w+|\bseed: -?\d+|\bfc\.(?:check|sample)\(/;
  const offenders = own.flatMap(({ path, text }) => {
    const found = fixed.exec(text)?.[0];
    return found === undefined ? [] : [`${path}: ${found}`];
  });
  expect(offenders).toEqual([]);
});
