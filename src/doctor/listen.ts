/**
 * Routers that connect to us while we look: what they hold is known (see src/witness) when
 * as many as were asked for have sent everything, or the time is up. What was not complete
 * by then is a source of state `partly`: a route that is missing there means nothing.
 */
import type { SeenRouter } from '../witness/connected-router.ts';
import type { ListenPlan } from '../witness/listener.ts';
import { Witness } from '../witness/witness.ts';

export interface ListenOptions {
  plans: readonly ListenPlan[];
  /** How long at most. */
  seconds: number;
  /** Enough when so many routers are complete; undefined: wait the whole time. */
  routers?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Progress, for people. */
  say(line: string): void;
  now(): number;
  pause(ms: number): Promise<void>;
}

export async function listenToRouters(options: ListenOptions): Promise<SeenRouter[]> {
  const { plans, seconds, routers, signal, say, now, pause } = options;
  const witness = new Witness({ now });
  try {
    await witness.listen(plans, '--listen');
    for (const { what } of witness.listeners) say(`listening for ${what}`);
    const end = now() + seconds * 1000;
    let lastLine = '';
    for (;;) {
      const seen = witness.seen();
      const complete = seen.filter(({ source }) => source.state === 'seen').length;
      const connected = seen.filter(({ source }) => source.ageSeconds === 0);
      const line = connected.map(({ source }) => `${source.name}: ${source.holds}`).join('; ');
      if (line !== lastLine && line !== '') say(line);
      lastLine = line;
      const isEnough = routers !== undefined && complete >= routers;
      if (isEnough || now() >= end || signal?.aborted === true) return seen;
      await pause(Math.min(100, Math.max(1, end - now())));
    }
  } finally {
    await witness.close();
  }
}
