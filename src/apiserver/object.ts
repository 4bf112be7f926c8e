/** A Kubernetes object as it is stored and sent: never changed once stored. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: ApiObjectMeta;
  [field: string]: unknown;
}

export interface ApiObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFields[];
  [field: string]: unknown;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFields {
  manager?: string;
  operation?: 'Apply' | 'Update';
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy that may be changed; what JSON can say, and nothing else. */
export function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T;
  if (typeof value !== 'object' || value === null) return value;
  const copy: Fields = {};
  for (const [key, each] of Object.entries(value))
    if (each !== undefined) put(copy, key, copyOf(each));
  return copy as T;
}

/** As an own field even when it is called `__proto__`: names come from clients. */
export function put(fields: Fields, key: string, value: unknown): void {
  if (key !== '__proto__') fields[key] = value;
  else
    Object.defineProperty(fields, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

/** Equal as JSON, whatever the order of the fields; an undefined field is no field. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((each, at) => isEqual(each, b[at]));
  }
  if (!isFields(a) || !isFields(b)) return false;
  for (const key of Object.keys(a)) if (!isEqual(a[key], b[key])) return false;
  for (const key of Object.keys(b)) if (a[key] === undefined && b[key] !== undefined) return false;
  return true;
}

/** `namespace/name`, or the name alone: also the order of lists. */
export function keyOf(object: { metadata: { name: string; namespace?: string } }): string {
  const { name, namespace } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The end of 9999: no later time can be written. */
const lastMs = 253_402_300_799_000;

/** Seconds, as metav1.Time is written. */
export function timestamp(ms: number): string {
  return `${new Date(Math.min(ms, lastMs)).toISOString().slice(0, 19)}Z`;
}
