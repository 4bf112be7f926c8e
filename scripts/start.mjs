/**
 * `npm start`: set-up, then the whole system on embedded parts (`cadastre up`).
 * What stands after `npm start --` goes to it.
 */
import { say } from './checkout.mjs';
import { setUp } from './setup.mjs';
import { cliBundle } from './stale.mjs';

try {
  await setUp({ quiet: true });
} catch (error) {
  say(`start: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
process.argv.splice(1, 1, cliBundle, 'up');
await import(cliBundle);
