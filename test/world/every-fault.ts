import type { Faults } from '../parts/fault-proxy.ts';

/** Every fault there is, each often enough to be met within a minute, none so often that nothing gets through. */
export const everyFault: Faults = {
  conflict: 0.03,
  throttled: 0.01,
  throttledBare: 0.02,
  errorBefore: 0.03,
  closeBefore: 0.03,
  closeAfterWrite: 0.03,
  errorAfterWrite: 0.03,
  goneWatch: 0.1,
  dropWatch: 0.005,
  goneContinue: 0.7,
  staleList: 0.4,
  delay: 0.01,
  freeze: 0.0005,
};
