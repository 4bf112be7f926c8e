import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { everyCommand, run } from './collecting-terminal.ts';

test('the manual page has every command with its help, and what holds for all of them', async () => {
  const { code, stdout, stderr } = await run(['man']);
  expect([code, stderr]).toEqual([0, '']);
  const headings = [...stdout.matchAll(/^\.SS cadastre (.+)$/gm)].map(([, words]) =>
    words!.replaceAll('\\-', '-'),
  );
  const shown = (await everyCommand())
    .map(({ words }) => words.join(' '))
    .filter((name) => !/^(__complete|lab (cluster )?(router|api-server|forward))$/.test(name));
  expect(headings.sort()).toEqual(shown.sort());
  for (const title of ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'ENVIRONMENT', 'FILES', 'SEE ALSO']) {
    expect(stdout).toContain(`\n.SH ${title}\n`);
  }
  expect(stdout).toContain('$ cadastre drain node1 \\-\\-undo');
});

test.skipIf(spawnSync('groff', ['--version']).error !== undefined)(
  'groff finds nothing wrong with it',
  async () => {
    const { stdout } = await run(['man']);
    const made = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-rLL=120n'], {
      input: stdout,
      encoding: 'utf8',
    });
    expect([made.status, made.stderr]).toEqual([0, '']);
    expect(made.stdout).toContain('--release-by-time-seconds');
  },
);
