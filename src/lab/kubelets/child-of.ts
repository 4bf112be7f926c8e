import { readdirSync, readFileSync } from 'node:fs';

/** The child of a process that has one: `unshare`, `nsenter`, a shell that waits. */
export function childOf(pid: number): number | undefined {
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = statOf(entry);
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(parent) === pid && state !== 'Z') return Number(entry);
  }
  return undefined;
}

/** Empty if it ended while we looked. */
function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}
