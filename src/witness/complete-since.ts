import { type Family, families } from '../net/family.ts';

/** Since when everything of a family is received; whatever is missing for a moment begins anew. */
export class CompleteSince {
  #sinceMs: Partial<Record<Family, number>> = {};

  get sinceMs(): Readonly<Partial<Record<Family, number>>> {
    return this.#sinceMs;
  }

  get families(): ReadonlySet<Family> {
    return new Set(families.filter((family) => this.#sinceMs[family] !== undefined));
  }

  set(complete: readonly Family[], nowMs: number): void {
    const next: Partial<Record<Family, number>> = {};
    for (const family of complete) next[family] = this.#sinceMs[family] ?? nowMs;
    this.#sinceMs = next;
  }

  reset(): void {
    this.#sinceMs = {};
  }
}
