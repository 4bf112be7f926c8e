/** The ground itself: what runs the tests is tested too, on a made-up checkout. */
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { withLock } from '../scripts/lock.mjs';
import { failedFiles, mergeSecondTry, readReport } from '../scripts/report.mjs';
import { suites, testFiles } from '../scripts/suites.mjs';

const root = join(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'scripts-test-'));
afterAll(() => rmSync(scratch, { recursive: true }));

describe('the suites', () => {
  test('every test file in the checkout belongs to exactly one of them', () => {
    const inSuites = suites.flatMap(testFiles).map((path) => relative(root, path));
    const onDisk = ['src', 'test', 'bench', 'scripts'].flatMap((dir) =>
      existsSync(join(root, dir))
        ? readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' })
            .filter((path) => /\.(test|spec)\.[cm]?[jt]sx?$/.test(path))
            .map((path) => join(dir, path))
        : [],
    );
    expect(onDisk.length).toBeGreaterThan(5);
    expect(inSuites.sort()).toEqual(onDisk.sort());
  });
});

test('the lock file holds every optional package of every platform: npm ci refuses one that does not', () => {
  interface Locked {
    optionalDependencies?: Record<string, string>;
    resolved?: string;
  }
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const absent = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        !(`node_modules/${name}` in lock.packages) &&
        !(`${path}/node_modules/${name}` in lock.packages),
    ),
  );
  expect(absent).toEqual([]);
  // Where a package comes from is the machine's business.
  const fixed = Object.entries(lock.packages).filter(([, entry]) => entry.resolved !== undefined);
  expect(fixed.map(([path]) => path)).toEqual([]);
});

describe('a vitest report', () => {
  const report = (files: object[]) => readReport(JSON.stringify({ testResults: files }));

  test('is counted test by test, with the names of what did not pass', () => {
    const tests = ['passed', 'failed', 'skipped', 'todo', 'passed'].map((status, i) => ({
      status,
      fullName: `t${i}`,
    }));
    expect(report([{ name: 'a', status: 'failed', assertionResults: tests }])).toEqual({
      passed: 2,
      failed: 1,
      skipped: 2,
      notes: ['failed: t1', 'skipped: t2', 'skipped: t3'],
    });
  });

  test('a file that could not be loaded is a failure', () => {
    const broken = { name: 'b', status: 'failed', message: 'no x\nat y', assertionResults: [] };
    expect(report([broken])).toMatchObject({ failed: 1, notes: ['failed: b: no x'] });
  });

  test('of a second try replaces the files that were run again, and names what was unsteady', () => {
    const file = (name: string, tests: Record<string, string>) => ({
      name,
      status: Object.values(tests).includes('failed') ? 'failed' : 'passed',
      assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
    });
    const text = (...files: object[]) => JSON.stringify({ testResults: files });
    const first = text(
      file('a', { steady: 'passed', shaky: 'failed', broken: 'failed' }),
      file('b', { other: 'passed' }),
    );
    expect(failedFiles(first)).toEqual(['a']);
    const second = text(file('a', { steady: 'passed', shaky: 'passed', broken: 'failed' }));
    const merged = mergeSecondTry(first, second);
    expect(merged.unsteady).toEqual(['shaky']);
    expect(readReport(merged.text)).toEqual({
      passed: 3,
      failed: 1,
      skipped: 0,
      notes: ['failed: broken'],
    });
  });
});

describe('npm test', () => {
  /** A checkout with our scripts, one test file a suite, and tools that do as told. */
  function checkout(tools: {
    lint?: number;
    types?: number;
    tests?: string[];
    vitest?: number;
    /** What vitest does before it ends. */
    work?: string;
  }) {
    const dir = mkdtempSync(join(scratch, 'checkout-'));
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    };
    cpSync(join(root, 'scripts'), join(dir, 'scripts'), { recursive: true });
    cpSync(join(root, 'test/parts/go/go.mod'), join(dir, 'test/parts/go/go.mod'));
    write('package.json', '{"type":"module"}');
    write('package-lock.json', '{}');
    write('test/x.test.ts', '');
    write('test/world/x.test.ts', '');
    const tool = (name: string, body: string) => {
      write(`node_modules/.bin/${name}`, `#!/bin/sh\n${body}\n`);
      chmodSync(join(dir, 'node_modules/.bin', name), 0o755);
    };
    tool('biome', `exit ${tools.lint ?? 0}`);
    tool('tsc', `exit ${tools.types ?? 0}`);
    const results = (tools.tests ?? ['passed']).map((status) => ({ status, fullName: status }));
    const text = JSON.stringify({
      testResults: [{ name: 'x', status: 'passed', assertionResults: results }],
    });
    const save = `for a; do case $a in --outputFile.json=*) echo '${text}' > "\${a#*=}";; esac; done`;
    tool('vitest', `${tools.work ?? ''}\n${save}\nexit ${tools.vitest ?? 0}`);
    symlinkSync(join(root, 'node_modules/esbuild'), join(dir, 'node_modules/esbuild'));
    write('node_modules/.package-lock.json', '{}');
    return dir;
  }

  function envOf(dir: string, more: Record<string, string> = {}) {
    const { CI: _, ...rest } = process.env;
    return { ...rest, CADASTRE_CACHE: join(dir, 'cache'), KUBEBUILDER_ASSETS: '/none', ...more };
  }

  /** A folder in which the parts of the suite `world` are found. */
  function someParts(): string {
    const dir = mkdtempSync(join(scratch, 'parts-'));
    for (const name of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])
      writeFileSync(join(dir, name), '');
    return dir;
  }

  function run(dir: string, args: string[], env: Record<string, string> = {}) {
    const answer = spawnSync(process.execPath, ['scripts/test.mjs', ...args], {
      cwd: dir,
      env: envOf(dir, env),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const lines = answer.stdout.trimEnd().split('\n');
    return { status: answer.status, last: lines.at(-1), lines, stderr: answer.stderr };
  }

  test('counts lint and types as one each, and a skipped suite as skipped, with its reason', () => {
    const got = run(checkout({ tests: ['passed', 'passed', 'skipped'] }), []);
    expect(got.status).toBe(0);
    expect(got.last).toBe('4 passed, 0 failed, 2 skipped');
    expect(got.lines.join('\n')).toMatch(
      /^SKIPPED {2}world {5}0 passed, 0 failed, 1 skipped \([\d.]+ s\)\n +skipped: KUBEBUILDER_ASSETS=\/none has no etcd/m,
    );
  });

  test('what could have been installed is a failure under CI=true', () => {
    const got = run(checkout({}), [], { CI: 'true' });
    expect([got.status, got.last]).toEqual([1, '3 passed, 1 failed, 0 skipped']);
    expect(got.lines.join('\n')).toContain('could not run, which CI=true does not forgive');
  });

  test('a failing command, test, or vitest is a failure', () => {
    const quick = (tools: Parameters<typeof checkout>[0]) => {
      const got = run(checkout(tools), ['--quick']);
      return [got.status, got.last];
    };
    expect(quick({ types: 1 })).toEqual([1, '2 passed, 1 failed, 0 skipped']);
    expect(quick({ tests: ['passed', 'failed'], vitest: 1 })).toEqual([
      1,
      '3 passed, 1 failed, 0 skipped',
    ]);
    expect(quick({ vitest: 1 })).toEqual([1, '3 passed, 1 failed, 0 skipped']);
  });

  test('a suite that ran nothing although it has files is a failure', () => {
    const got = run(checkout({ tests: [] }), ['--only', 'unit']);
    expect([got.status, got.last]).toEqual([1, '0 passed, 1 failed, 0 skipped']);
  });

  test('of two suites at a time each line has the name of its suite, one alone has its lines as they are', () => {
    const dir = checkout({ work: 'echo one; echo; echo two >&2' });
    const both = run(dir, ['--only', 'unit', '--only', 'world'], {
      KUBEBUILDER_ASSETS: someParts(),
    });
    expect([both.status, both.last]).toEqual([0, '2 passed, 0 failed, 0 skipped']);
    expect(both.lines).toEqual(expect.arrayContaining(['unit      | one', 'world     | one']));
    expect(both.stderr).toMatch(/^unit {6}\| two\n/m);
    expect(both.stderr).toMatch(/^world {5}\| === world: stories/m);
    const alone = run(dir, ['--only', 'unit']);
    expect(alone.lines).toContain('one');
    expect(alone.stderr).toMatch(/^two$/m);
  });

  test.runIf(process.platform === 'linux')('says how much of its time a suite computed', () => {
    const work = 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done';
    const { lines } = run(checkout({ work }), ['--only', 'unit']);
    expect(lines.join('\n')).toMatch(/^ok {7}unit {6}.* \([\d.]+ s, \d+ s of CPU\)$/m);
  });

  test('an interruption ends every suite that runs, starts no other, and is no success', async () => {
    const started = mkdtempSync(join(scratch, 'started-'));
    const work = `for a; do case $a in --project=*) touch "${started}/\${a#*=}";; esac; done; exec sleep 600`;
    const dir = checkout({ work });
    mkdirSync(join(dir, 'test/up'), { recursive: true });
    writeFileSync(join(dir, 'test/up/x.test.ts'), '');
    const only = ['unit', 'world', 'up'].flatMap((name) => ['--only', name]);
    const child = spawn(process.execPath, ['scripts/test.mjs', ...only], {
      cwd: dir,
      env: envOf(dir, { KUBEBUILDER_ASSETS: someParts() }),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    await vi.waitFor(() => expect(readdirSync(started).sort()).toEqual(['unit', 'world']), 50_000);
    child.kill('SIGINT');
    expect(await ended).toBe(1);
    expect(readdirSync(started).sort()).toEqual(['unit', 'world']);
    expect(said.trimEnd().split('\n').at(-1)).toBe('0 passed, 2 failed, 0 skipped');
  });

  test('an unknown suite is refused with the names there are', () => {
    const got = run(checkout({}), ['--only', 'wrold']);
    expect(got.status).toBe(2);
    expect(got.stderr).toContain('no suite "wrold"; there are: lint, types, unit');
  });
});

test('set-up of a checkout whose packages are a link leaves those of the other checkout alone', () => {
  const dir = mkdtempSync(join(scratch, 'linked-'));
  const other = mkdtempSync(join(scratch, 'other-'));
  writeFileSync(join(other, '.package-lock.json'), '{}');
  cpSync(join(root, 'scripts'), join(dir, 'scripts'), { recursive: true });
  symlinkSync(other, join(dir, 'node_modules'));
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  writeFileSync(join(dir, 'package-lock.json'), '{"newer":true}');
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(dir, 'package-lock.json'), later, later);
  // In place of npm, which empties the folder and fills it.
  const npm = `const fs = require('fs');
for (const name of fs.existsSync('node_modules') ? fs.readdirSync('node_modules') : []) fs.rmSync('node_modules/' + name);
fs.mkdirSync('node_modules', { recursive: true });
fs.symlinkSync(${JSON.stringify(join(root, 'node_modules/esbuild'))}, 'node_modules/esbuild');`;
  writeFileSync(join(scratch, 'npm.cjs.js'), npm);
  writeFileSync(join(scratch, 'package.json'), '{"type":"commonjs"}');
  const env = { CADASTRE_CACHE: join(dir, 'cache'), npm_execpath: join(scratch, 'npm.cjs.js') };
  const answer = spawnSync(process.execPath, ['scripts/setup.mjs'], {
    cwd: dir,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  expect([answer.status, answer.stderr]).toEqual([0, expect.stringContaining('installed in')]);
  expect(readdirSync(other)).toEqual(['.package-lock.json']);
  expect(readdirSync(join(dir, 'node_modules')).sort()).toEqual(['.cadastre-setup', 'esbuild']);
});

describe('the lock', () => {
  const never = () => {
    throw new Error('nobody should wait');
  };

  test('lets one in at a time', async () => {
    const path = join(scratch, 'one.lock');
    const order: string[] = [];
    const first = withLock(path, never, async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      order.push('first');
    });
    let waits = 0;
    const second = withLock(
      path,
      (_waitedMs, owner) => {
        waits++;
        expect(owner).toBe(process.pid);
      },
      async () => void order.push('second'),
    );
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
    expect(waits).toBe(1);
    expect(existsSync(path)).toBe(false);
  });

  test('is taken over from an owner that is gone, and freed when the work throws', async () => {
    const path = join(scratch, 'dead.lock');
    const gone = spawnSync('true').pid;
    writeFileSync(path, String(gone));
    const work = withLock(path, never, async () => {
      expect(readFileSync(path, 'utf8')).toBe(String(process.pid));
      throw new Error('broken');
    });
    await expect(work).rejects.toThrow('broken');
    expect(existsSync(path)).toBe(false);
  });
});
