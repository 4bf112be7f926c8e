/** GET of a collection, whole or in pages that are all of one moment. */
import { type Api, collectionOf, type ResourceScope } from '../api.ts';
import type { ApiObject } from '../object.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import type { Matches } from '../selectors.ts';
import { ApiRefusal, badRequest, expired } from '../status.ts';
import type { Entry } from '../store/collection.ts';
import { type Form, partialMetadata, table } from '../table.ts';

export interface ListQuery {
  labels: Matches | undefined;
  fields: Matches | undefined;
  limit: number;
  continueToken: string;
  resourceVersion: string;
  resourceVersionMatch: string;
}

export interface Listed {
  entries: Entry[];
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
}

interface Token {
  /** The version of the list. */
  v: number;
  /** The last key that was sent. */
  k: string;
}

export function listObjects(api: Api, place: ResourceScope, options: ListQuery): Listed {
  const { version, after } = moment(api, options);
  const collection = collectionOf(api, place.type);
  const isNow = version === api.store.version;
  const all = isNow
    ? collection.list(place.namespace)
    : collection.listAt(version, place.namespace);
  if (all === undefined) throw tooOld(options);
  const isSelected = ({ object }: Entry) =>
    (options.labels?.(object) ?? true) && (options.fields?.(object) ?? true);
  const isFiltered = options.labels !== undefined || options.fields !== undefined;
  const rest = after === '' ? all : all.slice(firstAfter(all, after));
  const selected = isFiltered ? rest.filter(isSelected) : rest;
  const resourceVersion = String(version);
  if (options.limit <= 0 || selected.length <= options.limit) {
    return { entries: selected, metadata: { resourceVersion } };
  }
  const entries = selected.slice(0, options.limit);
  const token: Token = { v: version, k: (entries.at(-1) as Entry).key };
  return {
    entries,
    metadata: {
      resourceVersion,
      continue: Buffer.from(JSON.stringify(token)).toString('base64url'),
      ...(isFiltered ? {} : { remainingItemCount: selected.length - options.limit }),
    },
  };
}

function moment(api: Api, options: ListQuery): { version: number; after: string } {
  const { continueToken, resourceVersion, resourceVersionMatch } = options;
  if (continueToken !== '') {
    if (resourceVersion !== '' && resourceVersion !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const { v, k } = readToken(continueToken);
    return { version: v, after: k };
  }
  if (resourceVersionMatch === 'Exact') {
    return { version: parseVersion(resourceVersion), after: '' };
  }
  mustBeReached(api, resourceVersion);
  return { version: api.store.version, after: '' };
}

/** A version that is not reached yet cannot be listed. */
export function mustBeReached(api: Api, resourceVersion: string): void {
  if (resourceVersion === '' || parseVersion(resourceVersion) <= api.store.version) return;
  throw new ApiRefusal(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${resourceVersion}, current: ${api.store.version}`,
    {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  );
}

export function parseVersion(text: string): number {
  const why = !/^\d+$/.test(text)
    ? 'invalid syntax'
    : Number(text) >= 2 ** 64
      ? 'value out of range'
      : undefined;
  if (why === undefined) return Number(text);
  const shown = JSON.stringify(text.slice(0, 100));
  throw badRequest(
    `invalid resource version: resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: ${why}`,
  );
}

function readToken(text: string): Token {
  try {
    const token = JSON.parse(Buffer.from(text, 'base64url').toString()) as Token;
    if (Number.isInteger(token.v) && token.v >= 0 && typeof token.k === 'string') return token;
  } catch {
    // Said below.
  }
  throw badRequest(`invalid continue token: continue key is not valid: ${text.slice(0, 100)}`);
}

function tooOld({ continueToken }: ListQuery): ApiRefusal {
  return continueToken === ''
    ? expired('The resourceVersion for the provided list is too old.')
    : expired(
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
      );
}

/** Where the entries behind that key begin. */
function firstAfter(entries: Entry[], key: string): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle] as Entry).key <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The object as a client of this version sees it. */
export function seenAs(type: ResourceType, object: ApiObject): ApiObject {
  const apiVersion = apiVersionOf(type);
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}

export function encodeList(type: ResourceType, listed: Listed, form: Form, nowMs: number): string {
  const { entries, metadata } = listed;
  if (form.as === 'table') {
    return JSON.stringify(
      table(
        type,
        entries.map(({ object }) => seenAs(type, object)),
        metadata,
        form,
        nowMs,
      ),
    );
  }
  const isMetadata = form.as === 'metadata';
  const kind = isMetadata ? 'PartialObjectMetadataList' : type.listKind;
  const apiVersion = isMetadata ? 'meta.k8s.io/v1' : apiVersionOf(type);
  const isStored = type.version === type.storageVersion;
  const items = entries.map(({ object, json }) => {
    if (isMetadata) return JSON.stringify(partialMetadata(object));
    return isStored ? json : JSON.stringify(seenAs(type, object));
  });
  return `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)},"items":[${items.join(',')}]}\n`;
}
