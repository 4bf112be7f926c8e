/** Who depends on whom, by uid: kept in step with every change. */
import type { Change, Collection, Entry } from '../store/collection.ts';

interface Dependent {
  collection: Collection;
  key: string;
}

export class Owners {
  readonly #alive = new Map<string, Dependent>();
  readonly #dependents = new Map<string, Map<string, Dependent>>();

  isAlive(uid: string): boolean {
    return this.#alive.has(uid);
  }

  /** Where the object of that uid is. */
  find(uid: string): Dependent | undefined {
    return this.#alive.get(uid);
  }

  dependentsOf(uid: string): Dependent[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  add(collection: Collection, entry: Entry): void {
    const { uid, ownerReferences } = entry.object.metadata;
    if (uid !== undefined) this.#alive.set(uid, { collection, key: entry.key });
    for (const owner of ownerReferences ?? []) {
      let held = this.#dependents.get(owner.uid);
      if (held === undefined) {
        held = new Map();
        this.#dependents.set(owner.uid, held);
      }
      held.set(`${collection.name} ${entry.key}`, { collection, key: entry.key });
    }
  }

  #drop(collection: Collection, entry: Entry): void {
    const { uid, ownerReferences } = entry.object.metadata;
    if (uid !== undefined) this.#alive.delete(uid);
    for (const owner of ownerReferences ?? []) {
      const held = this.#dependents.get(owner.uid);
      held?.delete(`${collection.name} ${entry.key}`);
      if (held?.size === 0) this.#dependents.delete(owner.uid);
    }
  }

  follow(collection: Collection, { before, after }: Change): void {
    if (before !== undefined) this.#drop(collection, before);
    if (after !== undefined) this.add(collection, after);
  }
}
