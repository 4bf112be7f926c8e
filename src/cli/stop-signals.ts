/** Waits for the end. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Aborts on SIGTERM or SIGINT; a second signal finds no handler of ours and ends the process. */
export function stopOnSignals(): { signal: AbortSignal; done: () => void } {
  const controller = new AbortController();
  const done = () => void process.off('SIGTERM', stop).off('SIGINT', stop);
  const stop = () => {
    done();
    controller.abort();
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  return { signal: controller.signal, done };
}
