/** bin/cadastre in a made-up checkout with a command line of three lines. */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';

// Many processes one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000 });

const root = join(import.meta.dirname, '..');
const dir = mkdtempSync(join(tmpdir(), 'bin-test-'));
afterAll(() => rmSync(dir, { recursive: true }));

for (const path of ['scripts', 'bin'])
  cpSync(join(root, path), join(dir, path), { recursive: true });
mkdirSync(join(dir, 'src/cli'), { recursive: true });
mkdirSync(join(dir, 'node_modules'));
for (const name of ['esbuild', 'yaml']) {
  symlinkSync(join(root, 'node_modules', name), join(dir, 'node_modules', name));
}
writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
writeFileSync(join(dir, 'package-lock.json'), '{}');
writeFileSync(join(dir, 'node_modules/.package-lock.json'), '{}');

const bundle = join(dir, 'dist/cadastre.mjs');
const env = { ...process.env, CADASTRE_CACHE: join(dir, 'cache') };

function writeMain(text: string): void {
  const path = join(dir, 'src/cli/main.ts');
  writeFileSync(path, text);
  touch(path);
}

/** Times are compared; a test may write twice within one tick of the disk's clock. */
function touch(path: string): void {
  const later = new Date(Date.now() + 5);
  utimesSync(path, later, later);
}

function cadastre(args: string[], input = '') {
  const answer = spawnSync(join(dir, 'bin/cadastre'), args, { env, encoding: 'utf8', input });
  // A build that takes long on a busy machine says so; it is no output of the command.
  const err = answer.stderr.replace(/^build: .*\n/gm, '');
  return { code: answer.status, out: answer.stdout, err };
}

test('without a command line it says so', () => {
  expect(cadastre([])).toEqual({
    code: 1,
    out: '',
    err: 'cadastre: there is no command line in this checkout yet\n',
  });
});

test('builds when stale and only then; arguments, stdin and exit code are the command line’s own', async () => {
  writeMain(`import { text } from 'node:stream/consumers';
const words: string[] = process.argv.slice(2);
console.log(JSON.stringify([words, await text(process.stdin)]));
process.exitCode = 3;`);
  expect(cadastre(['a', '-b'], 'in')).toEqual({ code: 3, out: '[["a","-b"],"in"]\n', err: '' });
  const built = statSync(bundle).ino;
  expect(cadastre([]).out).toBe('[[],""]\n');
  expect(statSync(bundle).ino).toBe(built);
  await new Promise((resolve) => setTimeout(resolve, 20));
  writeMain("console.log('changed');");
  expect(cadastre([])).toEqual({ code: 0, out: 'changed\n', err: '' });
  expect(statSync(bundle).ino).not.toBe(built);
});

test('the bundle runs alone, with its CommonJS packages in it', () => {
  writeMain("import { parse } from 'yaml';\nconsole.log(parse('a: [1]'));");
  expect(cadastre([]).out).toBe('{ a: [ 1 ] }\n');
  const elsewhere = join(dir, 'elsewhere');
  mkdirSync(elsewhere);
  cpSync(bundle, join(elsewhere, 'cadastre.mjs'));
  const answer = spawnSync(join(elsewhere, 'cadastre.mjs'), { encoding: 'utf8' });
  expect([answer.status, answer.stdout]).toEqual([0, '{ a: [ 1 ] }\n']);
});

test('what is loaded late is a part of its own, also next to an older build; all of it moves together', () => {
  writeMain(`if (process.argv[2] === 'late') await import('./late.ts');
else console.log('early');`);
  writeFileSync(join(dir, 'src/cli/late.ts'), "console.log('late', import.meta.dirname);");
  expect(cadastre(['late']).out).toBe(`late ${join(dir, 'dist')}\n`);
  expect(readFileSync(bundle, 'utf8')).not.toContain("'late', ");
  const elsewhere = join(dir, 'moved');
  cpSync(join(dir, 'dist'), elsewhere, { recursive: true });
  const run = (word: string) =>
    spawnSync(join(elsewhere, 'cadastre.mjs'), [word], { encoding: 'utf8' }).stdout;
  expect([run('early'), run('late')]).toEqual(['early\n', `late ${elsewhere}\n`]);

  const old = readdirSync(join(dir, 'dist')).filter((name) => name.startsWith('part-late-'));
  writeFileSync(join(dir, 'src/cli/late.ts'), "console.log('later');");
  touch(join(dir, 'src/cli/late.ts'));
  expect(cadastre(['late']).out).toBe('later\n');
  // A process of the older build may still want it.
  expect(readdirSync(join(dir, 'dist'))).toEqual(expect.arrayContaining(old));
  const longAgo = new Date(Date.now() - 2 * 86_400_000);
  for (const name of old) utimesSync(join(dir, 'dist', name), longAgo, longAgo);
  touch(join(dir, 'src/cli/late.ts'));
  expect(cadastre(['late']).out).toBe('later\n');
  expect(readdirSync(join(dir, 'dist'))).not.toEqual(expect.arrayContaining(old));
});

test('an error is told with its place in the source', () => {
  writeMain(`process.setSourceMapsEnabled(true);
await import('./late.ts');`);
  writeFileSync(join(dir, 'src/cli/late.ts'), "\n\nthrow new Error('oh');");
  touch(join(dir, 'src/cli/late.ts'));
  expect(cadastre([]).err).toContain(`${join(dir, 'src/cli/late.ts')}:3:7`);
});

test('source that cannot be built is an error with its place, and the old build is not run', () => {
  writeMain('const x = ;');
  const got = cadastre([]);
  expect([got.code, got.out]).toEqual([1, '']);
  expect(got.err).toContain('src/cli/main.ts:1:10');
});

test('a signal reaches the command line itself', async () => {
  writeMain(`process.on('SIGTERM', () => { console.log('asked to stop'); process.exit(7); });
console.log('up');
setInterval(() => {}, 1000);`);
  const child = spawn(join(dir, 'bin/cadastre'), [], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  await expect.poll(() => out).toBe('up\n');
  child.kill('SIGTERM');
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect([code, out]).toEqual([7, 'up\nasked to stop\n']);
});
