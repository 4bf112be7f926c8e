/** Which resources there are right now: the built-in ones, and a set of custom ones that changes. */
import { apiVersionOf, type ResourceType } from './resource.ts';

export class Registry {
  readonly #types = new Map<string, ResourceType>();
  readonly #listeners = new Set<() => void>();
  #revision = 0;

  constructor(types: ResourceType[]) {
    for (const type of types) this.#types.set(idOf(type), type);
  }

  /** Counts the changes, for whatever is derived from the whole. */
  get revision(): number {
    return this.#revision;
  }

  find(group: string, version: string, plural: string): ResourceType | undefined {
    return this.#types.get(idOf({ group, version, plural }));
  }

  findKind(apiVersion: string, kind: string): ResourceType | undefined {
    return this.all().find((type) => apiVersionOf(type) === apiVersion && type.kind === kind);
  }

  all(): ResourceType[] {
    return [...this.#types.values()];
  }

  /** One of each resource: the version its objects are kept in. */
  stored(): ResourceType[] {
    return this.all().filter((type) => type.version === type.storageVersion);
  }

  /** Puts these in place of whatever the resource had. */
  replace(group: string, plural: string, types: ResourceType[]): void {
    for (const [id, type] of this.#types) {
      if (type.group === group && type.plural === plural) this.#types.delete(id);
    }
    for (const type of types) this.#types.set(idOf(type), type);
    this.#revision += 1;
    for (const tell of this.#listeners) tell();
  }

  onChange(tell: () => void): void {
    this.#listeners.add(tell);
  }
}

function idOf({
  group,
  version,
  plural,
}: {
  group: string;
  version: string;
  plural: string;
}): string {
  return `${group}/${version}/${plural}`;
}
