import { CadastreError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from './api-error.ts';
import { pause } from './backoff.ts';
import type { KubeClient } from './client.ts';
import { getIfThere } from './get-if-there.ts';
import type { Resource, StoredObject } from './resource.ts';

export const crdResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
}

interface Crd extends StoredObject {
  spec: {
    group: string;
    scope: string;
    names: { plural: string; kind: string };
    versions: CrdVersion[];
  };
  status?: {
    conditions?: { type: string; status: string; message?: string }[];
    storedVersions?: string[];
  };
}

interface EnsureCrdsOptions {
  signal?: AbortSignal | undefined;
  /** How long to wait until the server serves them. */
  timeoutMs?: number | undefined;
  /**
   * An annotation that numbers our schema. A definition whose number is higher
   * than ours is left alone: during a rolling upgrade the old replicas must
   * not undo what the new one did.
   */
  revisionAnnotation?: string | undefined;
  /** Called for each that was not there, and was created by this very call. */
  onCreated?: ((uid: string) => void) | undefined;
  /** Nothing is written: somebody else registers and upgrades them, and is waited for. */
  isReadOnly?: boolean | undefined;
}

/**
 * Registers custom resources, or upgrades them in place (with `isReadOnly` neither), and
 * waits until they are served. Any number of replicas may do it at once: a create that comes
 * second and an update that lost its race just look again. Whether anything
 * differs is the server's to say: a replace that changes nothing after its
 * defaulting keeps the resourceVersion and is not written.
 */
export async function ensureCrds(
  client: KubeClient,
  crds: readonly object[],
  log: Log,
  options: EnsureCrdsOptions = {},
): Promise<void> {
  const deadlineMs = performance.now() + (options.timeoutMs ?? 30_000);
  await Promise.all(
    crds.map(async (crd) => {
      if (options.isReadOnly !== true) await ensureOne(client, crd as Crd, log, options);
      await waitUntilServed(client, crd as Crd, deadlineMs, options);
    }),
  );
}

async function ensureOne(
  client: KubeClient,
  wanted: Crd,
  log: Log,
  options: EnsureCrdsOptions,
): Promise<void> {
  const name = wanted.metadata.name;
  const { signal } = options;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const live = await getIfThere<Crd>(client, crdResource, name, { signal });
      if (live === undefined) {
        const created = await client.create(crdResource, wanted, { signal });
        options.onCreated?.(created.metadata.uid ?? '');
        log.info({ resource: name }, `registered ${name}`);
        return;
      }
      const newer = whyNotDowngrade(live, wanted, options.revisionAnnotation);
      if (newer !== undefined) {
        log.warn({ resource: name }, `left ${name} as it is: ${newer}`);
        return;
      }
      const answer = await client.replace<Crd>(crdResource, name, merge(live, wanted), { signal });
      if (answer.metadata.generation !== live.metadata.generation) {
        log.info({ resource: name }, `upgraded ${name}`);
      }
      return;
    } catch (error) {
      const isRace =
        error instanceof ApiError &&
        (error.isAlreadyExists ||
          error.isConflict ||
          error.isNotFound ||
          error.outcome === 'unknown');
      if (!isRace) throw error;
      await pause(20 + Math.random() * 80, signal);
    }
  }
}

/** Ours where we say something; what others added to the metadata stays. */
function merge(live: Crd, wanted: Crd): object {
  const conversion = (live.spec as { conversion?: unknown }).conversion;
  return {
    ...live,
    metadata: {
      ...live.metadata,
      labels: { ...live.metadata.labels, ...wanted.metadata.labels },
      annotations: { ...live.metadata.annotations, ...wanted.metadata.annotations },
    },
    spec: { ...(conversion === undefined ? {} : { conversion }), ...wanted.spec },
  };
}

/** Why the live definition is newer than ours, if it is. */
function whyNotDowngrade(
  live: Crd,
  wanted: Crd,
  revisionAnnotation: string | undefined,
): string | undefined {
  const [theirs, ours] = [
    revisionOf(live, revisionAnnotation),
    revisionOf(wanted, revisionAnnotation),
  ];
  if (theirs > ours) return `its schema is revision ${theirs}, ours is ${ours}`;
  const stored = live.spec.versions.find((version) => version.storage)?.name ?? '';
  const storing = wanted.spec.versions.find((version) => version.storage)?.name ?? '';
  if (compareApiVersions(stored, storing) > 0) {
    return `it stores ${stored}, which is newer than ${storing}`;
  }
  const names = new Set(wanted.spec.versions.map((version) => version.name));
  const lost = (live.status?.storedVersions ?? []).find((version) => !names.has(version));
  if (lost !== undefined) return `objects may be stored as ${lost}, which we do not know`;
  return undefined;
}

/** Kubernetes' order of API versions: v1alpha1 < v1beta1 < v1 < v2alpha1… by stability first. */
export function compareApiVersions(a: string, b: string): number {
  const rank = (version: string): [number, number, number] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return [-1, 0, 0];
    const stability = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
    return [stability, Number(match[1]), Number(match[3] ?? 0)];
  };
  const [left, right] = [rank(a), rank(b)];
  for (let i = 0; i < 3; i += 1) {
    if (left[i] !== right[i]) return left[i]! - right[i]!;
  }
  return 0;
}

async function waitUntilServed(
  client: KubeClient,
  crd: Crd,
  deadlineMs: number,
  { signal, revisionAnnotation, isReadOnly = false }: EnsureCrdsOptions,
): Promise<void> {
  const name = crd.metadata.name;
  let why: string | undefined = 'it was not looked at';
  while (performance.now() < deadlineMs) {
    signal?.throwIfAborted();
    const live = await getIfThere<Crd>(client, crdResource, name, { signal });
    why = whyNotEstablished(live, crd, revisionAnnotation);
    if (why === undefined) {
      const missing = await firstUnserved(client, crd, signal);
      if (missing === undefined) return;
      why = `${missing} is not served`;
    }
    await pause(50, signal);
  }
  const whose = isReadOnly ? '; whoever installed this operator installs it (--crds=await)' : '';
  throw new CadastreError('API_REFUSED', `The API server does not serve ${name}: ${why}${whose}.`, {
    remedy: isReadOnly
      ? 'Install the resource definitions of this version: helm upgrade, or kubectl apply -f deploy/crds.yaml.'
      : `Look at its conditions: kubectl describe crd ${name}.`,
  });
}

/** Undefined: it is, and its schema is not older than ours. */
function whyNotEstablished(
  live: Crd | undefined,
  wanted: Crd,
  revisionAnnotation: string | undefined,
): string | undefined {
  if (live === undefined) return 'it is not registered';
  const theirs = revisionOf(live, revisionAnnotation);
  const ours = revisionOf(wanted, revisionAnnotation);
  if (theirs < ours) return `its schema is revision ${theirs}, ours is ${ours}`;
  const conditions = live.status?.conditions ?? [];
  const has = (type: string, status: string) =>
    conditions.find((condition) => condition.type === type && condition.status === status);
  if (has('Established', 'True') !== undefined) return undefined;
  return has('NamesAccepted', 'False')?.message ?? 'it is not established';
}

function revisionOf(crd: Crd | undefined, annotation: string | undefined): number {
  return annotation === undefined ? 0 : Number(crd?.metadata.annotations?.[annotation] ?? 0);
}

/** Established comes a moment before the paths answer. */
async function firstUnserved(
  client: KubeClient,
  crd: Crd,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  for (const version of crd.spec.versions.filter(({ served }) => served)) {
    const path = `/apis/${crd.spec.group}/${version.name}/${crd.spec.names.plural}?limit=1`;
    try {
      await client.rawGet(path, { signal });
    } catch (error) {
      if (!(error instanceof ApiError) || (!error.isNotFound && error.status < 500)) throw error;
      return version.name;
    }
  }
  return undefined;
}
