import { ClaimIndex } from '../../net/claim-index.ts';
import type { Prefix } from '../../net/prefix.ts';

export interface OwnedPrefix {
  prefix: Prefix;
  owner: string;
}

/**
 * An index of claims that is told, under each key, the whole set of claims there is now: what went is
 * released, what came is recorded. No code path adds or removes a single claim by hand.
 */
export class ClaimSets {
  readonly index = new ClaimIndex<string>();
  readonly #sets = new Map<string, ReadonlyMap<string, OwnedPrefix>>();

  set(key: string, claims: readonly OwnedPrefix[]): void {
    const before = this.#sets.get(key);
    if (before === undefined && claims.length === 0) return;
    const after = new Map(claims.map((claim) => [`${claim.owner} ${claim.prefix}`, claim]));
    for (const [id, { prefix, owner }] of before ?? []) {
      if (!after.has(id)) this.index.release(prefix, owner);
    }
    for (const [id, { prefix, owner }] of after) {
      if (!before?.has(id)) this.index.record(prefix, owner);
    }
    if (after.size > 0) this.#sets.set(key, after);
    else this.#sets.delete(key);
  }
}
