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
