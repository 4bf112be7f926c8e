/** The outline of any Kubernetes object, as far as every reader here needs it. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
  [field: string]: unknown;
}

export interface ObjectMeta {
  name?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string | null;
  labels?: Record<string, string> | null;
  annotations?: Record<string, string> | null;
  finalizers?: string[] | null;
  ownerReferences?: unknown[] | null;
}

/** What a list-watch keeps of every object, whatever its kind. */
export interface Identity {
  name: string;
  uid: string;
  resourceVersion: string;
}

export function identityOf(object: KubeObject): Identity {
  const meta = object.metadata ?? {};
  return {
    name: meta.name ?? '',
    uid: meta.uid ?? '',
    resourceVersion: meta.resourceVersion ?? '',
  };
}

/** Milliseconds of an RFC 3339 timestamp; 0 when there is none, as in files. */
export function timestampMs(text: string | null | undefined): number {
  const ms = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? 0 : ms;
}

/** A list of strings from a file that may hold anything; what is not a string is kept as it prints. */
export function textList(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.map((one) => (typeof one === 'string' ? one : (JSON.stringify(one) ?? '')));
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration?: number;
  lastTransitionTime?: string;
}
