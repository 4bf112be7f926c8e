import { setMaxListeners } from 'node:events';

/**
 * Calls back once when the signal aborts; the answer takes it back. One signal
 * stops a whole operator, hundreds of requests among it, and Node 20 takes
 * more than ten listeners for a leak and says so on stderr.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  setMaxListeners(0, signal);
  signal.addEventListener('abort', callback, { once: true });
  return () => signal.removeEventListener('abort', callback);
}

export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => void onAbort(signal, resolve));
}
