/**
 * The API server as far as the register depends on it, in memory and without
 * time: objects by kind and name, a uid per object, one resourceVersion that
 * counts every write, and a log per kind that watches are read from. A create of
 * a name that exists is refused; a change or a delete can be fenced by uid and
 * resourceVersion. Objects are never altered in place.
 */
import type { KubeObject } from '../../src/model/object.ts';
import type { PatchOperation } from '../../src/plan/blocks/projection.ts';

export const kinds = ['IPPool', 'Node', 'NodeBlock', 'CiliumNode', 'NodeReport'] as const;
export type Kind = (typeof kinds)[number];

export interface Fence {
  uid?: string;
  resourceVersion?: string;
}

/** What a watch says: the object as it is now, or that it is gone. */
export interface WatchEvent {
  name: string;
  version: number;
  object: KubeObject | undefined;
}

export type Answer =
  | { kind: 'done'; object: KubeObject; version: number }
  | { kind: 'exists' | 'conflict'; object: KubeObject }
  | { kind: 'missing' };

export class ApiModel {
  nowMs = 1_700_000_000_000;
  /** Sees every write at its moment; `object` is undefined for a delete. */
  onWrite:
    | ((kind: Kind, before: KubeObject | undefined, object: KubeObject | undefined) => void)
    | undefined;
  readonly #objects = perKind(() => new Map<string, KubeObject>());
  readonly #log = perKind(() => [] as WatchEvent[]);
  #version = 0;

  get(kind: Kind, name: string): KubeObject | undefined {
    return this.#objects[kind].get(name);
  }

  list(kind: Kind): Iterable<KubeObject> {
    return this.#objects[kind].values();
  }

  log(kind: Kind): readonly WatchEvent[] {
    return this.#log[kind];
  }

  create(object: KubeObject): Answer {
    const { kind, metadata, spec } = object as {
      kind: Kind;
      metadata: { name: string };
      spec: object;
    };
    const found = this.#objects[kind].get(metadata.name);
    if (found !== undefined) return { kind: 'exists', object: found };
    const creationTimestamp = new Date(this.nowMs).toISOString();
    const uid = `${kind}-${this.#version + 1}`;
    const generation = 1;
    const made = { ...object, metadata: { creationTimestamp, ...metadata, uid, generation } };
    // The CRD's only default that matters here.
    return this.#put(kind === 'NodeBlock' ? withSpec(made, { phase: 'Active', ...spec }) : made);
  }

  /** Changes an object; the change says undefined where the server would refuse it. */
  change(
    kind: Kind,
    name: string,
    fence: Fence,
    change: (object: KubeObject) => KubeObject | undefined,
  ): Answer {
    const found = this.#objects[kind].get(name);
    if (found === undefined) return { kind: 'missing' };
    const changed = keeps(fence, found) ? change(found) : undefined;
    return changed === undefined ? { kind: 'conflict', object: found } : this.#put(changed);
  }

  delete(kind: Kind, name: string, fence: Fence = {}): Answer {
    const found = this.#objects[kind].get(name);
    if (found === undefined) return { kind: 'missing' };
    if (!keeps(fence, found)) return { kind: 'conflict', object: found };
    this.#objects[kind].delete(name);
    this.onWrite?.(kind, found, undefined);
    const version = ++this.#version;
    this.#log[kind].push({ name, version, object: undefined });
    return { kind: 'done', object: found, version };
  }

  #put(object: KubeObject): Answer {
    const version = ++this.#version;
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    const stored: KubeObject = { ...object, metadata };
    const { kind } = object as { kind: Kind };
    const name = metadata.name ?? '';
    this.onWrite?.(kind, this.#objects[kind].get(name), stored);
    this.#objects[kind].set(name, stored);
    this.#log[kind].push({ name, version, object: stored });
    return { kind: 'done', object: stored, version };
  }
}

function perKind<T>(make: () => T): Record<Kind, T> {
  return Object.fromEntries(kinds.map((kind) => [kind, make()])) as Record<Kind, T>;
}

function keeps({ uid, resourceVersion }: Fence, { metadata }: KubeObject): boolean {
  return (
    (uid === undefined || metadata?.uid === uid) &&
    (resourceVersion === undefined || metadata?.resourceVersion === resourceVersion)
  );
}

/** Spec fields laid over those an object has; null takes a field out (RFC 7386, one level). */
export function withSpec(object: KubeObject, fields: Record<string, unknown>): KubeObject {
  const spec = { ...(object.spec as object), ...fields } as Record<string, unknown>;
  for (const [key, value] of Object.entries(fields)) if (value === null) delete spec[key];
  return { ...object, spec };
}

/**
 * RFC 6902, the part that projections use, with the API server's reading of it:
 * a value that is missing tests as null. Undefined if a test fails.
 */
export function jsonPatched(
  object: KubeObject,
  operations: readonly PatchOperation[],
): KubeObject | undefined {
  let patched: Tree = object;
  for (const { op, path, value } of operations) {
    const keys = path
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    if (op === 'test') {
      const found = keys.reduce((at: unknown, key) => (at as Tree | undefined)?.[key], patched);
      if (JSON.stringify(found ?? null) !== JSON.stringify(value)) return undefined;
    } else {
      const changed = changedAt(patched, keys, op === 'add' ? value : undefined);
      if (changed === undefined) return undefined;
      patched = changed;
    }
  }
  return patched as KubeObject;
}

type Tree = Record<string, unknown>;

/** A copy with one value set or (undefined) taken out; undefined if the way to it is missing. */
function changedAt(tree: Tree, [key = '', ...rest]: string[], value: unknown): Tree | undefined {
  if (rest.length === 0) {
    const { [key]: _, ...others } = tree;
    return value === undefined ? others : { ...others, [key]: value };
  }
  const below = tree[key];
  if (typeof below !== 'object' || below === null) return undefined;
  const changed = changedAt(below as Tree, rest, value);
  return changed === undefined ? undefined : { ...tree, [key]: changed };
}
