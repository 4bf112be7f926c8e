/**
 * What `ping -O` prints, counted. What is lost is known by sequence number: one
 * that was sent and never answered. An answer that comes late is an answer.
 */
export interface PingCount {
  readonly sent: number;
  readonly lost: number;
  /** The longest run of lost ones, as seconds. */
  readonly longestSeconds: number;
}

export const pingIntervalMs = 50;

export class PingTally {
  readonly #answered = new Set<number>();
  #highest = 0;
  #lastAnswerMs: number | undefined;

  /** One line; `no answer yet` is said when the next one is sent. */
  read(line: string, nowMs: number): void {
    const seq = Number(/icmp_seq=(\d+)/.exec(line)?.[1]);
    if (Number.isNaN(seq)) return;
    // The number on the wire has 16 bits, and begins anew after an hour.
    const full = seq + Math.max(0, Math.round((this.#highest - seq) / 65536)) * 65536;
    this.#highest = Math.max(this.#highest, full);
    if (!/bytes from /.test(line)) return;
    this.#answered.add(full);
    this.#lastAnswerMs = nowMs;
  }

  /** The number of the last one that is known to be sent. */
  get mark(): number {
    return this.#highest;
  }

  /** Undefined if there never was an answer. */
  silentMs(nowMs: number): number | undefined {
    return this.#lastAnswerMs === undefined ? undefined : nowMs - this.#lastAnswerMs;
  }

  /** Sent after `from`, up to and with `to`. */
  count(from: number, to: number): PingCount {
    let [lost, run, longest] = [0, 0, 0];
    for (let seq = from + 1; seq <= to; seq++) {
      run = this.#answered.has(seq) ? 0 : run + 1;
      if (run > 0) lost++;
      longest = Math.max(longest, run);
    }
    const longestSeconds = (longest * pingIntervalMs) / 1000;
    return { sent: Math.max(to - from, 0), lost, longestSeconds };
  }
}
