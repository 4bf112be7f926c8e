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

export interface ResourceType extends Named {
  version: string;
  singular: string;
  listKind: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  isCustom: boolean;
  /** Objects are kept in this version; others differ in `apiVersion` alone. */
  storageVersion: string;
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

export function collectionNameOf({ group, plural }: { group: string; plural: string }): string {
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
