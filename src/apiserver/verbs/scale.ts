/** `/scale`: how many there shall be and are, of any kind that has replicas, in one form. */
import { collectionOf, keyIn } from '../api.ts';
import { type ApiObject, copyOf, type Fields, isFields, put } from '../object.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import type { ScalePaths } from '../resource.ts';
import { badRequest, faults, invalid, notFound } from '../status.ts';
import type { SubresourceAnswer, SubresourceCall } from './subresource-call.ts';
import { storeUpdate } from './update.ts';

export function serveScale(call: SubresourceCall): SubresourceAnswer {
  const { api, target, how, options } = call;
  const paths = call.part.paths as ScalePaths;
  const current = collectionOf(api, target.type).get(keyIn(target, target.name));
  if (current === undefined) throw notFound(target.type, target.name);
  const scale = scaleOf(current.object, paths);
  if (how === 'get') return { code: 200, body: scale, safe: api.store.settled() };
  const wanted = wantedScale(call, scale);
  const { metadata, spec } = wanted as { metadata?: Fields; spec?: Fields };
  const replicas = spec?.replicas ?? 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas) || replicas < 0) {
    const fault = faults.invalid('spec.replicas', replicas, 'must be greater than or equal to 0');
    throw invalid({ group: 'autoscaling', plural: 'scales', kind: 'Scale' }, target.name, [fault]);
  }
  const object = copyOf(current.object);
  const version = metadata?.resourceVersion;
  if (typeof version === 'string' && version !== '') object.metadata.resourceVersion = version;
  setAt(object, paths.spec, replicas);
  const { name, type, namespace } = target;
  const whole = { name, type, namespace, subresource: undefined };
  const written = storeUpdate(api, whole, current, object, options);
  return { code: 200, body: scaleOf(written.object, paths), safe: written.safe };
}

function wantedScale({ how, body }: SubresourceCall, scale: Fields): Fields {
  const wanted = how === 'json' ? applyJsonPatch(scale, body) : isFields(body) ? body : undefined;
  if (!isFields(wanted)) throw badRequest('no Scale was sent');
  return how === 'update' || how === 'json' ? wanted : (applyMergePatch(scale, wanted) as Fields);
}

function scaleOf(object: ApiObject, paths: ScalePaths): Fields {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = paths.selector && at(object, paths.selector);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: at(object, paths.spec) ?? 0 },
    status: {
      replicas: at(object, paths.status) ?? 0,
      ...(selector === undefined ? {} : { selector: selectorText(selector) }),
    },
  };
}

/** A label selector as a query writes it. */
function selectorText(selector: unknown): string {
  if (!isFields(selector)) return String(selector);
  const { matchLabels, matchExpressions } = selector as {
    matchLabels?: Fields;
    matchExpressions?: Fields[];
  };
  const isPlain = matchLabels === undefined && matchExpressions === undefined;
  const equal = Object.entries(isPlain ? selector : (matchLabels ?? {})).map(
    ([key, value]) => `${key}=${value}`,
  );
  const others = (matchExpressions ?? []).map(({ key, operator, values }) => {
    const listed = `(${((values ?? []) as string[]).join(',')})`;
    if (operator === 'Exists') return String(key);
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} ${listed}`;
  });
  return [...equal.sort(), ...others].join(',');
}

function at(object: unknown, path: string[]): unknown {
  return path.reduce<unknown>((value, name) => (isFields(value) ? value[name] : undefined), object);
}

function setAt(object: Fields, path: string[], value: unknown): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) put(object, name, value);
  else {
    if (!isFields(object[name])) put(object, name, {});
    setAt(object[name] as Fields, rest, value);
  }
}
