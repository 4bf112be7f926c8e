/**
 * When the agent could last serve pods: the time of a file beside the socket,
 * /run/cadastre/agent.sock.ready. A kubelet whose network is not ready for a moment makes
 * its node NotReady and takes all its pods out of their Services; an agent is restarted
 * within seconds, and nothing that runs needs it meanwhile. So STATUS is well for a grace
 * after the agent could serve. The plugin on the host reads the same file while no agent
 * answers, which is why it is a file, and why it has the time of day.
 */
import { closeSync, constants, futimesSync, openSync, statSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';

/** As in cni/shim/cadastre-cni.c. A restart takes 2 s; a DaemonSet's new pod up to half a minute. */
export const readyGraceMs = 60_000;
/** So old the mark of a living agent is at most. */
export const markEveryMs = 5_000;

const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;

export class ReadyMark {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'wallMs'>;

  constructor(socketPath: string, clock: Pick<Clock, 'wallMs'>) {
    this.#path = `${socketPath}.ready`;
    this.#clock = clock;
  }

  /** Best effort: without the mark a restart is a moment of NotReady, and nothing worse. */
  touch(): void {
    try {
      const seconds = this.#clock.wallMs() / 1000;
      // Neither a link elsewhere is followed, nor a FIFO waited for.
      const fd = openSync(this.#path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
      futimesSync(fd, seconds, seconds);
      closeSync(fd);
    } catch {
      // The folder is gone, or full.
    }
  }

  /** Whether it could serve within the grace. A time in the future says nothing. */
  get isFresh(): boolean {
    const mark = statSync(this.#path, { throwIfNoEntry: false });
    const ageMs = this.#clock.wallMs() - (mark?.mtimeMs ?? Number.NEGATIVE_INFINITY);
    return ageMs > -1_000 && ageMs < readyGraceMs;
  }
}
