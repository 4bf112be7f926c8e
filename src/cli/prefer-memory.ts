import { setFlagsFromString } from 'node:v8';

/**
 * Memory before speed, for what runs on every node of a cluster. Before the
 * rest of a command is loaded: what the larger compiler has touched of itself
 * by then, it keeps.
 *
 * `--optimize-for-size` collects garbage sooner and closes the gaps in the heap;
 * without TurboFan the middle compiler, Maglev, does what is asked often, and
 * the parser of HTTP answers, which is WebAssembly, stays as compiled first.
 * Node 20 has no Maglev, and so keeps its TurboFan.
 */
export function preferMemory(): void {
  setFlagsFromString('--optimize-for-size');
  const [major = 0] = process.versions.node.split('.').map(Number);
  if (major < 22) return;
  setFlagsFromString('--no-turbofan');
  setFlagsFromString('--liftoff-only');
}
