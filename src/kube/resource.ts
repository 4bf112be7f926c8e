/**
 * How the API server calls things: a kind of object, the path it lives under,
 * and the few metadata fields every object carries.
 */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface StoredMeta {
  name: string;
  uid?: string;
  namespace?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
}

/** The part of every object this room reads; the rest is the caller's. */
export interface StoredObject {
  apiVersion?: string;
  kind?: string;
  metadata: StoredMeta;
}

interface ResourceAddress {
  namespace?: string | undefined;
  name?: string | undefined;
  subresource?: string | undefined;
}

/** `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cadastre`. */
export function resourcePath(resource: Resource, address: ResourceAddress = {}): string {
  let path =
    resource.group === ''
      ? `/api/${resource.version}`
      : `/apis/${resource.group}/${resource.version}`;
  if (resource.namespaced && address.namespace !== undefined) {
    path += `/namespaces/${encodeURIComponent(address.namespace)}`;
  }
  path += `/${resource.plural}`;
  if (address.name !== undefined) path += `/${encodeURIComponent(address.name)}`;
  if (address.subresource !== undefined) path += `/${address.subresource}`;
  return path;
}

/** `nodeblocks.cadastre.dev`, as `kubectl` and people say it. */
export function resourceName(resource: Resource): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

/** `cadastre.dev/v1alpha1`, the value of an object's `apiVersion`. */
export function groupVersion(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** The key of an object in a cache or queue: `name`, or `namespace/name`. */
export function objectKey(object: { name: string; namespace?: string | undefined }): string {
  return object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
}
