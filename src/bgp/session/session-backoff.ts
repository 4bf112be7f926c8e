/** RFC 4271 §8.1.1 DampPeerOscillations: the wait doubles with each failure in a row. */
export class SessionBackoff {
  #failures = 0;

  /** Seconds to wait after an end; a refusal makes the next wait longer. */
  next(wasRefused: boolean, firstSeconds: number, maxSeconds: number): number {
    const seconds = Math.min(firstSeconds * 2 ** this.#failures, maxSeconds);
    if (wasRefused) this.#failures = Math.min(this.#failures + 1, 16);
    return seconds;
  }

  /** A session was stable, or the operator began anew. */
  reset(): void {
    this.#failures = 0;
  }

  /** We have refused each other so often that even a connection from the peer has to wait. */
  get isOutOfPatience(): boolean {
    return this.#failures >= 3;
  }
}
