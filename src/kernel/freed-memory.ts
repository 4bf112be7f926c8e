import { createRequire } from 'node:module';

/**
 * Freed memory goes back to the system now and then: the C library keeps what
 * lies between two pieces in use, eight megabytes after a start alone. On a
 * thread of its own, a quarter of a millisecond. Where the library has no such call, or
 * koffi is absent, everything stays as it is.
 */
export function giveBackFreedMemory(everyMs = 1_000): () => void {
  let trim: { async(pad: number, done: () => void): void };
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    trim = koffi.load(null).func('int malloc_trim(size_t)');
  } catch {
    return () => undefined;
  }
  const timer = setInterval(() => trim.async(0, () => undefined), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
