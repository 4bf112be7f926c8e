import { say } from './checkout.mjs';
import { runProgram } from './program.mjs';

try {
  process.exitCode = await runProgram('soak', 'test/soak');
} catch (error) {
  say(`soak: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
