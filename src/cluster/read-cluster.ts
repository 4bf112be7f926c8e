/**
 * The room's essay. `cluster` fills in what a cluster is (model/cluster-state),
 * in one of three ways:
 *
 *   read-files      objects in files that somebody saved or sent
 *   list-cluster    one list of each kind from an API server
 *   cluster-caches  list and watch: caches that follow the API server
 *   surroundings    kinds that change rarely, listed every now and then
 *
 * All read by the same table (model/cluster-kinds). What was asked for and could
 * not be read is named in `unread`; nothing is dropped in silence.
 */
import { type ClusterItems, type ClusterKind, clusterKinds } from '../model/cluster-kinds.ts';
import type { ItemLists, MalformedObject } from '../model/cluster-state.ts';
import { apiVersion } from '../model/keys.ts';
import type { KubeObject } from '../model/object.ts';
import { shapeProblems } from '../model/schema/shape-problems.ts';

/** A cluster as it was read once, from files or by lists. */
export interface ReadCluster {
  /** For messages: `context "prod" of …`, or `3 files`. */
  origin: string;
  from: 'cluster' | 'files';
  items: ItemLists;
  malformed: readonly MalformedObject[];
  /** How old objects of a kind are, in seconds; null: nobody knows. */
  ageOf(kind: ClusterKind): number | null;
  /** Kinds that were asked for and could not be read, with the reason. */
  unread: ReadonlyMap<ClusterKind, string>;
}

/** Items while they are being read. */
export class ItemCollector {
  readonly malformed: MalformedObject[] = [];
  readonly #lists: { [K in ClusterKind]?: Array<ClusterItems[K]> } = {};

  get items(): ItemLists {
    return this.#lists;
  }

  of<K extends ClusterKind>(kind: K): Array<ClusterItems[K]> {
    const known = this.#lists[kind] as Array<ClusterItems[K]> | undefined;
    if (known !== undefined) return known;
    const made: Array<ClusterItems[K]> = [];
    Object.assign(this.#lists, { [kind]: made });
    return made;
  }

  /** A list that had to begin again does not count twice. */
  clear(kind: ClusterKind): void {
    delete this.#lists[kind];
    this.of(kind);
    const { kind: name } = clusterKinds[kind].resource;
    const others = this.malformed.filter((one) => one.kind !== name);
    this.malformed.splice(0, this.malformed.length, ...others);
  }

  /** Reads one object. What cannot be understood goes to `malformed`; its problems are returned. */
  put<K extends ClusterKind>(kind: K, object: KubeObject): readonly string[] {
    const { resource, read } = clusterKinds[kind];
    const problems: string[] = [...versionProblems(kind, object)];
    let item: ClusterItems[K] | undefined;
    if (problems.length === 0) {
      problems.push(...shapeProblems(resource.kind, object));
      // A pool is read whatever its shape: all that is wrong with it is said at once.
      if (problems.length === 0 || kind === 'pools') {
        const found = read(object);
        item = found.item;
        for (const one of found.problems) if (!problems.includes(one)) problems.push(one);
      }
    }
    if (problems.length > 0) {
      this.malformed.push({ kind: resource.kind, name: object.metadata?.name ?? '', problems });
    } else if (item !== undefined) this.of(kind).push(item);
    return problems;
  }
}

function versionProblems(kind: ClusterKind, object: KubeObject): string[] {
  const { group, version } = clusterKinds[kind].resource;
  if (`${group}/${version}` !== apiVersion || object.apiVersion === apiVersion) return [];
  return [`apiVersion is ${JSON.stringify(object.apiVersion)}, not "${apiVersion}"`];
}
