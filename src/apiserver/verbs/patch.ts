import { type Api, collectionOf, keyIn, type ObjectTarget } from '../api.ts';
import { type ApiObject, copyOf, type Fields, isFields } from '../object.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicPatch } from '../patch/strategic-patch.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import { ApiRefusal, badRequest, faults, notFound } from '../status.ts';
import { applyConfiguration } from './apply.ts';
import type { Written } from './create.ts';
import { decode, Unreadable, type WriteQuery } from './decode.ts';
import { seenAs } from './seen-as.ts';
import { mustBeNamed, storeUpdate } from './update.ts';

export const patchTypes = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
} as const;

export type PatchType = (typeof patchTypes)[keyof typeof patchTypes];

export function patchTypeOf(type: ResourceType, mediaType: string): PatchType {
  const found = (patchTypes as Record<string, PatchType>)[mediaType];
  if (found !== undefined && !(type.isCustom && found === 'strategic')) return found;
  const accepted = Object.keys(patchTypes).filter(
    (name) => !(type.isCustom && name.includes('strategic')),
  );
  throw unsupportedMedia(accepted);
}

export const unsupportedMedia = (accepted: string[]) =>
  new ApiRefusal(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

export function patch(
  api: Api,
  target: ObjectTarget,
  how: PatchType,
  body: unknown,
  options: WriteQuery,
): Written {
  if (how === 'apply') return applyConfiguration(api, target, body, options);
  const { type, name } = target;
  const current = collectionOf(api, type).get(keyIn(target, name));
  if (current === undefined) throw notFound(type, name);
  // Clients see, and patch, the version they asked for.
  const seen = { ...seenAs(type, current.object), apiVersion: apiVersionOf(type) };
  const patched = patchedBy(how, seen, body, type);
  if (!isFields(patched)) throw badRequest('the patch leaves no object');
  const object = decodePatched(type, patched, options, how === 'strategic' ? body : patched);
  // A patch may not make another object of it.
  mustBeNamed(target, object);
  return storeUpdate(api, target, current, object, options);
}

/** What a patch made unreadable is the patch's fault: invalid, not a bad request. */
function decodePatched(
  type: ResourceType,
  patched: Fields,
  options: WriteQuery,
  shown: unknown,
): ApiObject {
  try {
    return decode(type, copyOf(patched), options);
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.code !== 400) throw error;
    const value = shown === patched ? JSON.stringify(patched) : asGoPrints(shown);
    const why = error instanceof Unreadable ? error.why : error.message;
    const fault = faults.invalid('patch', value, why);
    throw new ApiRefusal(422, 'Invalid', ` "" is invalid: patch: ${fault.message}`, {
      causes: [fault],
    });
  }
}

/** `map[data:map[a:5]]` */
function asGoPrints(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asGoPrints).join(' ')}]`;
  if (!isFields(value)) return value === null ? '<nil>' : String(value);
  const inside = Object.keys(value)
    .sort()
    .map((key) => `${key}:${asGoPrints(value[key])}`);
  return `map[${inside.join(' ')}]`;
}

/** What a strategic patch says of the kind is read into a Go struct, and forgotten. */
function withOwnKind(type: ResourceType, patched: Fields): Fields {
  for (const [field, value] of [
    ['kind', type.kind],
    ['apiVersion', apiVersionOf(type)],
  ] as const) {
    if (typeof patched[field] === 'string') patched[field] = value;
  }
  return patched;
}

function patchedBy(
  how: Exclude<PatchType, 'apply'>,
  object: ApiObject,
  body: unknown,
  type: ResourceType,
): unknown {
  switch (how) {
    case 'json':
      return applyJsonPatch(object, body);
    case 'merge':
      if (!isFields(body)) throw badRequest('a merge patch is an object');
      return applyMergePatch(object, body);
    default:
      return withOwnKind(type, applyStrategicPatch(object, body, type.schema, type.resolve));
  }
}
