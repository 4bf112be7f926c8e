import { readFileSync } from 'node:fs';

/** This boot of the machine, and how long it has lasted: no jump of the wall clock changes either. */
export interface BootClock {
  readonly bootId: string;
  sinceBootMs(): number;
}

export const bootClock: BootClock = {
  bootId: readBootId(),
  // CLOCK_MONOTONIC: the same for every process.
  sinceBootMs: () => Number(process.hrtime.bigint() / 1_000_000n),
};

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '-';
  }
}
