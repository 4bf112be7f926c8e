/**
 * Asks again until the check passes: the world here is other processes, which
 * answer when they answer. What it says in the end is the last complaint, so a
 * story that fails tells what was still wrong.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<T> {
  const { withinMs = 60_000, everyMs = 100 } = options;
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
    }
    await pause(everyMs);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Runs work for every item, so many at once; the first failure ends it. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const item = items[next] as T;
      next += 1;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
}
