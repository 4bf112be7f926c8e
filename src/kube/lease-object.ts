import { ApiError } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { ifFound, ifNew } from './get-if-there.ts';
import type { Resource, StoredObject } from './resource.ts';
import { silenceGraceMs, usualWatchSeconds } from './watch-times.ts';

/** The coordination.k8s.io/v1 Lease, and the four things done with it. */
export const leaseResource: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

export interface LeaseSpec {
  holderIdentity?: string | null;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

export interface Lease extends StoredObject {
  spec?: LeaseSpec;
}

export class LeaseObject {
  readonly #o: { client: KubeClient; namespace: string; name: string };

  constructor(options: { client: KubeClient; namespace: string; name: string }) {
    this.#o = options;
  }

  async read(timeoutMs: number): Promise<Lease | undefined> {
    return ifFound(this.#o.client.get<Lease>(leaseResource, this.#o.name, this.#once(timeoutMs)));
  }

  /** Undefined when somebody else was quicker. */
  async create(spec: LeaseSpec, timeoutMs: number): Promise<Lease | undefined> {
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: this.#o.name, namespace: this.#o.namespace },
      spec,
    };
    return ifNew(this.#o.client.create<Lease>(leaseResource, lease, this.#once(timeoutMs)));
  }

  /** Undefined when the record is not what we saw any more. */
  async replace(seen: Lease, spec: LeaseSpec, timeoutMs: number): Promise<Lease | undefined> {
    const next = { ...seen, spec: { ...seen.spec, ...spec } };
    try {
      return await this.#o.client.replace<Lease>(
        leaseResource,
        this.#o.name,
        next,
        this.#once(timeoutMs),
      );
    } catch (error) {
      if (error instanceof ApiError && (error.isConflict || error.isNotFound)) return undefined;
      throw error;
    }
  }

  /** Until it ends or fails; the callback gets undefined when the Lease is deleted. */
  watch(
    resourceVersion: string,
    signal: AbortSignal,
    onChange: (lease: Lease | undefined) => void,
  ): Promise<void> {
    return this.#o.client.watch(
      leaseResource,
      {
        namespace: this.#o.namespace,
        fieldSelector: `metadata.name=${this.#o.name}`,
        resourceVersion,
        timeoutSeconds: usualWatchSeconds,
        silenceMs: usualWatchSeconds * 1_000 + silenceGraceMs,
        signal,
      },
      (event) => {
        if (event.type === 'DELETED') onChange(undefined);
        else if (event.type !== 'BOOKMARK') onChange(event.object as Lease);
      },
    );
  }

  /** No hidden retries: an attempt that comes late is worth nothing. */
  #once(timeoutMs: number) {
    return { namespace: this.#o.namespace, timeoutMs, retries: 0 };
  }
}

export function holderOf(lease: Lease): string {
  return lease.spec?.holderIdentity ?? '';
}

/** metav1.MicroTime: exactly six digits. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
