/** A process that locks a folder, says so, and keeps it until it is killed. */
import { spawn } from 'node:child_process';
import { describeError } from '../../src/base/errors.ts';
import { lockFolder } from '../../src/base/folder-lock.ts';

const [folder = '', child] = process.argv.slice(2);
try {
  await lockFolder(folder);
  if (child !== undefined) spawn('sleep', [child], { stdio: 'ignore', detached: true }).unref();
  process.stdout.write(`locked ${process.version}\n`);
  setInterval(() => undefined, 60_000);
} catch (error) {
  process.stdout.write(`refused: ${describeError(error)}\n`);
}
