/** Memory before speed, for what runs on every node of a cluster. */
import { setFlagsFromString } from 'node:v8';

/**
 * Before the rest of a command is loaded: what the larger compiler has touched
 * of itself by then, it keeps.
 *
 * `--optimize-for-size` collects garbage sooner and closes the gaps in the heap;
 * without TurboFan the middle compiler, Maglev, does what is asked often, and
 * the parser of HTTP answers, which is WebAssembly, stays as compiled first.
 */
export function preferMemory(): void {
  for (const flag of ['--optimize-for-size', '--no-turbofan', '--liftoff-only']) {
    setFlagsFromString(flag);
  }
}
