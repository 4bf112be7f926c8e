/** One at a time for each owner; different owners do not wait for each other. */
export class OwnerTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(owner) ?? Promise.resolve();
    const turn = before.then(work, work);
    const settled = turn.catch(() => undefined);
    this.#last.set(owner, settled);
    try {
      return await turn;
    } finally {
      if (this.#last.get(owner) === settled) this.#last.delete(owner);
    }
  }

  isBusy(owner: string): boolean {
    return this.#last.has(owner);
  }
}
