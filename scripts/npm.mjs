import { spawn } from 'node:child_process';

/**
 * Runs npm: the one that runs us, if any, so that `npx npm@X test` stays with X.
 * Its words go to stderr, and into the error if it fails.
 * @param {string[]} args
 * @param {{ cwd: string; quiet?: boolean }} options
 */
export async function runNpm(args, options) {
  const self = process.env.npm_execpath;
  const [command, ...first] = self?.endsWith('.js') ? [process.execPath, self] : ['npm'];
  const child = spawn(/** @type {string} */ (command), [...first, ...args], {
    cwd: options.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  /** @type {Buffer[]} */
  const words = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      words.push(chunk);
      if (!options.quiet) process.stderr.write(chunk);
    });
  }
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code === 0) return;
  const said = options.quiet ? `:\n${Buffer.concat(words).toString().trimEnd()}` : '';
  throw new Error(`npm ${args[0]} failed (exit ${code})${said}`);
}
