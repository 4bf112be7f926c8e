/** Parts of built-in kinds that do something: a pod gets a node, or goes; an account gets a token. */
import { collectionOf, keyIn } from '../api.ts';
import { type ApiObject, copyOf, type Fields, isFields, timestamp } from '../object.ts';
import { ApiRefusal, badRequest, conflict, notFound } from '../status.ts';
import { issuer } from '../tokens.ts';
import { removeEntry } from './delete.ts';
import { serveScale } from './scale.ts';
import type { ServeSubresource, SubresourceAnswer, SubresourceCall } from './subresource-call.ts';
import { storeUpdate } from './update.ts';

export const subresourceServers: Readonly<Record<string, ServeSubresource>> = {
  binding: bind,
  eviction: evict,
  scale: serveScale,
  token: issueToken,
};

const success = (safe: Promise<void>): SubresourceAnswer => ({
  code: 201,
  body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
  safe,
});

/** What a scheduler says: this pod runs on that node. It is said once. */
function bind({ api, target, body, options }: SubresourceCall): SubresourceAnswer {
  const current = collectionOf(api, target.type).get(keyIn(target, target.name));
  if (current === undefined) throw notFound(target.type, target.name);
  const { target: node, metadata } = (isFields(body) ? body : {}) as Record<string, Fields>;
  if (typeof node?.name !== 'string' || node.name === '') {
    throw badRequest('target.name: Required value');
  }
  const pod = copyOf(current.object) as ApiObject & { spec: Fields; status: Fields };
  const before = String(pod.spec.nodeName ?? '');
  if (before !== '') {
    throw conflict(
      target.type,
      target.name,
      `pod ${target.name} is already assigned to node "${before}"`,
    );
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(
      target.type,
      target.name,
      `pod ${target.name} is being deleted, cannot be assigned to a host`,
    );
  }
  pod.spec.nodeName = node.name;
  const notes = (metadata?.annotations ?? {}) as Record<string, string>;
  if (Object.keys(notes).length > 0)
    pod.metadata.annotations = { ...pod.metadata.annotations, ...notes };
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastTransitionTime: timestamp(api.nowMs()),
  };
  const others = ((pod.status.conditions ?? []) as Fields[]).filter(
    ({ type }) => type !== 'PodScheduled',
  );
  pod.status.conditions = [
    ...others,
    { ...scheduled, observedGeneration: pod.metadata.generation },
  ];
  return success(storeUpdate(api, target, current, pod, options).safe);
}

/** A delete that a disruption budget may refuse. */
function evict({ api, target, body, options }: SubresourceCall): SubresourceAnswer {
  const current = collectionOf(api, target.type).get(keyIn(target, target.name));
  if (current === undefined) throw notFound(target.type, target.name);
  const { labels = {} } = current.object.metadata;
  const budget = api.store
    .collection('poddisruptionbudgets.policy')
    .list(target.namespace)
    .find(({ object }) => selects(object, labels));
  const { disruptionsAllowed = 0 } = (budget?.object.status ?? {}) as {
    disruptionsAllowed?: number;
  };
  const phase = String((current.object.status as Fields | undefined)?.phase);
  if (
    budget !== undefined &&
    disruptionsAllowed <= 0 &&
    !['Pending', 'Succeeded', 'Failed'].includes(phase)
  ) {
    throw new ApiRefusal(
      429,
      'TooManyRequests',
      "Cannot evict pod as it would violate the pod's disruption budget.",
      {
        causes: [
          {
            reason: 'DisruptionBudget',
            message: `The disruption budget ${budget.object.metadata.name} does not allow another disruption now`,
          },
        ],
      },
    );
  }
  const asked = isFields(body) && isFields(body.deleteOptions) ? body.deleteOptions : {};
  const dryRun = options.dryRun ? ['All'] : [];
  return success(removeEntry(api, target, current, { ...asked, dryRun }).safe);
}

function selects(budget: ApiObject, labels: Record<string, string>): boolean {
  const { selector } = (budget.spec ?? {}) as {
    selector?: { matchLabels?: Record<string, string> };
  };
  const wanted = Object.entries(selector?.matchLabels ?? {});
  return selector !== undefined && wanted.every(([key, value]) => labels[key] === value);
}

/** An hour where nothing is said; not less than ten minutes, as with the real one. */
function issueToken({ api, target, body }: SubresourceCall): SubresourceAnswer {
  const current = collectionOf(api, target.type).get(keyIn(target, target.name));
  if (current === undefined) throw notFound(target.type, target.name);
  const { spec = {} } = (isFields(body) ? body : {}) as { spec?: Fields };
  const lifeSeconds = Number(spec.expirationSeconds ?? 3600);
  if (!(lifeSeconds >= 600 && lifeSeconds <= 2 ** 32)) {
    throw badRequest(
      'spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes',
    );
  }
  const named = (spec.audiences ?? []) as string[];
  const audiences = named.length > 0 ? named : [issuer];
  const { name, namespace = '', uid = '' } = current.object.metadata;
  const token = api.tokens.issue({ name, namespace, uid }, audiences, lifeSeconds);
  const expirationTimestamp = timestamp(api.nowMs() + lifeSeconds * 1000);
  const answered = {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, creationTimestamp: timestamp(api.nowMs()) },
    spec: { ...spec, audiences, expirationSeconds: lifeSeconds },
    status: { token, expirationTimestamp },
  };
  return { code: 201, body: answered, safe: api.store.settled() };
}
