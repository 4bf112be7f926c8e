/** `--watch`: the same answer again and again, as a person runs it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../world/eventually.ts';
import { root, runBuilt } from './built-command.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-watch-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('an answer is printed when it has changed, until the process is told to end', async () => {
  await runBuilt(['--version']);
  cpSync(`${root}/test/cli/fixtures/racks`, dir, { recursive: true });
  const child: ChildProcess = spawn(
    process.execPath,
    [
      `${root}/dist/cadastre.mjs`,
      'nodes',
      '--from',
      dir,
      '-o',
      'name',
      '--watch',
      '--every',
      '0.1',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  child.stdout?.on('data', (piece: Buffer) => {
    said += piece.toString();
  });
  const whole = () => said.split('node/c2\n').length - 1;
  await eventually(() => expect(whole()).toBe(1), { withinMs: 30_000 });
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'later' }, spec: {} };
  writeFileSync(join(dir, 'later.json'), JSON.stringify(node));
  await eventually(() => expect(said).toContain('node/later\n'), { withinMs: 30_000 });
  expect(whole()).toBe(2);
  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});

test.each([
  [['nodes', '-w', '--from', '-'], 'standard input'],
  [['doctor', '-w', '--fix'], '--fix'],
  [['doctor', '-w', '-o', 'html', '--from', 'x'], '-o html'],
])('%j is refused', async (argv, what) => {
  const { code, stderr } = await runBuilt(argv);
  expect([code, stderr]).toEqual([2, `cadastre: --watch cannot be combined with ${what}\n`]);
});

test('a command that does not look has no --watch', async () => {
  const { code, stderr } = await runBuilt(['drain', 'node1', '--watch']);
  expect(code).toBe(2);
  expect(stderr).toContain("unknown option '--watch'");
});
