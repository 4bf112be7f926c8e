/**
 * Runs one of the programs of a folder by name: `npm run bench -- NAME`,
 * `npm run soak -- NAME`. A program is a .ts file directly in the folder;
 * what programs share lies in folders below.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir, say } from './checkout.mjs';
import { setUp } from './setup.mjs';

/**
 * @param {string} kind the word of the npm script
 * @param {string} folder from the checkout
 * @returns {Promise<number>} the exit code
 */
export async function runProgram(kind, folder) {
  const [name, ...args] = process.argv.slice(2);
  const names = programsIn(folder);
  if (name === undefined || !names.includes(name)) {
    if (name !== undefined) say(`${kind}: there is no ${folder}/${name}.ts`);
    say(`usage: npm run ${kind} -- NAME [ARGUMENT…]`);
    say(names.length === 0 ? 'There are none yet.' : `NAME is one of: ${names.join(', ')}`);
    return 2;
  }
  await setUp({ quiet: true });
  const { buildProgram } = await import('./build.mjs');
  const { ensureNode24 } = await import('./node24.mjs');
  const program = join(checkoutDir, 'dist', kind, `${name}.mjs`);
  await buildProgram(join(checkoutDir, folder, `${name}.ts`), program);
  const node = await ensureNode24();
  const child = spawn(node, ['--enable-source-maps', program, ...args], {
    cwd: checkoutDir,
    stdio: 'inherit',
  });
  // A terminal signals the whole group by itself; others signal only us.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

/** @param {string} folder */
function programsIn(folder) {
  const dir = join(checkoutDir, folder);
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.test|\.d)\.ts$/.test(entry.name))
    .map((entry) => entry.name.slice(0, -'.ts'.length))
    .sort();
}
