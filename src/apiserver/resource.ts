/** What the server knows about one resource in one version: a built-in kind or a custom one. */
import type { ApiObject } from './object.ts';
import type { Resolve, Schema } from './schema/schema.ts';
import type { Fault, Named } from './status.ts';

export interface Column {
  name: string;
  type: string;
  format?: string;
  description?: string;
  priority?: number;
}

/** Cells of one object, in the order of the columns. */
export type Cells = (object: ApiObject, nowMs: number) => unknown[];

/** A part of an object with a path of its own, beside its status. */
export interface Subresource {
  name: string;
  verbs: readonly string[];
  /** What is sent and answered, if it is no object of the resource's own kind. */
  kind?: { group: string; version: string; kind: string };
  /** Of a write of the object's own kind: keeps what this part may not change. */
  prepare?: (object: ApiObject, old: ApiObject) => void;
  /** Of `scale`. */
  paths?: ScalePaths;
}

/** Where an object keeps how many there shall be and are, and what selects them. */
export interface ScalePaths {
  spec: string[];
  status: string[];
  selector: string[] | undefined;
}

export function scaleBy(paths: ScalePaths): Subresource {
  const kind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
  return { name: 'scale', verbs: ['get', 'patch', 'update'], kind, paths };
}

/** Between a version that is served and the one that is kept. */
export interface Conversion {
  /** The collection, if it is another resource's. */
  collection?: string;
  toStored(object: ApiObject): ApiObject;
  fromStored(object: ApiObject): ApiObject;
}

export interface ResourceType extends Named {
  version: string;
  singular: string;
  listKind: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  isCustom: boolean;
  /** Objects are kept in this version. */
  storageVersion: string;
  /** Where more than `apiVersion` differs. */
  conversion?: Conversion;
  /** A `/status` of its own: a write to one leaves the other alone. */
  hasStatus: boolean;
  hasGeneration: boolean;
  /** PUT may create (leases, events). */
  createsOnUpdate: boolean;
  /** PUT without a resourceVersion overwrites. */
  updatesUnconditionally: boolean;
  /** DELETE answers with the object instead of a Status. */
  returnsDeleted: boolean;
  /** Paths a field selector may name. */
  selectableFields: string[];
  schema: Schema;
  resolve: Resolve;
  hasRules: boolean;
  /** Beside the status. */
  subresources: readonly Subresource[];
  columns: Column[];
  cells: Cells;
  kindRules: KindRules;
}

/** What a kind does beyond its schema. All may change the object they are given. */
export interface KindRules {
  /** Fills in what creation decides. */
  prepareCreate?: (object: ApiObject) => void;
  prepareUpdate?: (object: ApiObject, old: ApiObject) => void;
  prepareStatus?: (object: ApiObject, old: ApiObject) => void;
  /** What makes a body unreadable beyond its schema: a bad request, whatever else is wrong. */
  readFaults?: (object: ApiObject) => Fault[];
  /** `old` is undefined at creation. */
  validate?: (object: ApiObject, old: ApiObject | undefined) => Fault[];
  nameFaults?: (name: string, isPrefix: boolean) => string[];
  /** Why it may not be deleted. */
  refuseDelete?: (object: ApiObject) => string | undefined;
  /** How long a delete waits for whoever runs it. */
  graceSeconds?: (object: ApiObject, asked: number | undefined) => number;
  /** Finalizers that a delete puts on before anything else. */
  deleteFinalizers?: string[];
  warnings?: (object: ApiObject) => string[];
}

export function apiVersionOf({ group, version }: { group: string; version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

export function collectionNameOf({
  group,
  plural,
  conversion,
}: Pick<ResourceType, 'group' | 'plural' | 'conversion'>): string {
  if (conversion?.collection !== undefined) return conversion.collection;
  return group === '' ? plural : `${plural}.${group}`;
}

/** What may be done with it; the order is the real one's. */
export function verbsOf({ isCustom, kind }: ResourceType): string[] {
  if (isCustom) {
    return ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
  }
  const all = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
  // All namespaces at once would be everything.
  return kind === 'Namespace' ? all.filter((verb) => verb !== 'deletecollection') : all;
}

/** A write of the status alone, for kinds whose status stands beside a spec. */
export function keepSpec(object: ApiObject, old: ApiObject): void {
  object.spec = old.spec;
}
