import { say } from './checkout.mjs';
import { runProgram } from './program.mjs';

try {
  process.exitCode = await runProgram('bench', 'bench');
} catch (error) {
  say(`bench: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
