/** Colour, where it is asked for and nowhere else. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { root, runBuilt } from './built-command.ts';

const doctor = ['doctor', '--from', 'test/doctor/fixtures/incident/after'];

async function doctorWith(env: Record<string, string>, ...flags: string[]): Promise<string> {
  await runBuilt(['--version']);
  const { PATH = '' } = process.env;
  const { stdout } = spawnSync(
    process.execPath,
    [`${root}/dist/cadastre.mjs`, ...doctor, ...flags],
    { cwd: root, encoding: 'utf8', env: { PATH, ...env } },
  );
  return stdout;
}

const start = '\u001b[';

test('a pipe has none, unless it is forced', async () => {
  expect(await doctorWith({})).not.toContain(start);
  expect(await doctorWith({ FORCE_COLOR: '1' })).toContain(`${start}1;31m[critical]`);
  expect(await doctorWith({ NO_COLOR: '1' })).not.toContain(start);
});

test.each(['json', 'yaml', 'name', 'html'])('-o %s never has any', async (format) => {
  const forced = await doctorWith({ FORCE_COLOR: '1' }, '-o', format);
  expect(forced).not.toBe('');
  expect(forced).not.toContain(start);
});
