/**
 * Time is passed in. `wallMs` is for timestamps people read; `monotonicMs` is
 * for measuring, because it never jumps and goes on while a process is frozen.
 */
export interface Clock {
  wallMs(): number;
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
