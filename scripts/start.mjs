/**
 * `npm start`: set-up, then the whole system on embedded parts (`cadastre up`).
 * As long as there is no such command it shows what there is.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { say } from './checkout.mjs';
import { setUp } from './setup.mjs';
import { cliBundle } from './stale.mjs';

try {
  await setUp();
} catch (error) {
  say(`start: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
if (!existsSync(cliBundle)) {
  say('start: there is no command line to run yet');
  process.exit(1);
}
const help = spawnSync(process.execPath, [cliBundle, '--help'], {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (/^ {2}up\b/m.test(help.stdout)) {
  process.argv.splice(1, 1, cliBundle, 'up');
  await import(cliBundle);
} else {
  say('start: the system as a whole cannot be started yet (no `cadastre up`); what there is:\n');
  process.stdout.write(help.stdout);
  say('\nRun it as bin/cadastre COMMAND.');
  process.exitCode = help.status ?? 1;
}
