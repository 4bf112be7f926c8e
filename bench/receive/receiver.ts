import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Link } from '../../test/interop/link.ts';

/** Somebody who takes a million routes from the blaster. */
export interface Receiver {
  readonly name: string;
  /** The Debian package it comes from; none for ourselves. */
  readonly debianPackage?: string;
  /** How often a fresh process takes the table; slow ones once. */
  readonly rounds: number;
  start(link: Link, folder: string): RunningReceiver;
}

export interface RunningReceiver {
  readonly child: ChildProcess;
  /** Routes held now, by its own account. */
  count(): Promise<number>;
  /** Pause between two questions: small against the time measured, large against the question. */
  readonly askEveryMs: number;
  /**
   * Being asked costs the receiver so much that it would be measured with it:
   * ask only once it has gone quiet, and take the moment it went quiet.
   */
  readonly askWhenIdle?: true;
}

export const receiverAsn = 64524;

/** Peak resident memory of all processes of a namespace, in MB of 10^6. */
export function peakMemoryMb(namespace: string): number {
  const pids = execFileSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' });
  let kilobytes = 0;
  for (const pid of pids.split('\n').filter(Boolean)) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      kilobytes += Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
    } catch {
      // It ended between the list and the look.
    }
  }
  return (kilobytes * 1024) / 1e6;
}

/** Processor time used so far by all processes of a namespace, in seconds. */
export function cpuSeconds(namespace: string): number {
  const pids = execFileSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' });
  let ticks = 0;
  for (const pid of pids.split('\n').filter(Boolean)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // Fields after the command's name, which may hold blanks: utime and stime are 14 and 15.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It ended between the list and the look.
    }
  }
  return ticks / 100;
}
