/** GET of a collection, whole or in pages that are all of one moment. */
import { type Api, collectionOf, type ResourceScope } from '../api.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import type { Matches } from '../selectors.ts';
import { ApiRefusal, badRequest, expired } from '../status.ts';
import type { Entry } from '../store/collection.ts';
import { type Form, partialMetadata, table } from '../table.ts';
import { seenAs } from './seen-as.ts';

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
  /** The version of the list; 0 for the one of the moment. */
  v: number;
  /** The last key that was sent. */
  k: string;
  /** When the list began, in seconds. */
  t: number;
}

export function listObjects(api: Api, place: ResourceScope, options: ListQuery): Listed {
  const { version, after, began } = moment(api, options);
  const collection = collectionOf(api, place.type);
  const isNow = version === api.store.version;
  const all = isNow
    ? collection.list(place.namespace)
    : collection.listAt(version, place.namespace);
  if (all === undefined) throw tooOld(after);
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
  const token: Token = { v: version, k: (entries.at(-1) as Entry).key, t: began };
  return {
    entries,
    metadata: {
      resourceVersion,
      continue: tokenText(token),
      ...(isFiltered ? {} : { remainingItemCount: selected.length - options.limit }),
    },
  };
}

interface Moment {
  version: number;
  /** The key after which the page begins. */
  after: string;
  began: number;
}

function moment(api: Api, options: ListQuery): Moment {
  const { continueToken, resourceVersion, resourceVersionMatch } = options;
  const began = Math.floor(api.nowMs() / 1000);
  if (continueToken !== '') {
    if (resourceVersion !== '' && resourceVersion !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const { v, k, t } = readToken(continueToken);
    if (v === 0) return { version: api.store.version, after: k, began };
    if (began - t > api.continueSeconds) throw tooOld(k);
    return { version: v, after: k, began: t };
  }
  if (resourceVersionMatch === 'Exact') {
    return { version: parseVersion(resourceVersion), after: '', began };
  }
  mustBeReached(api, resourceVersion);
  return { version: api.store.version, after: '', began };
}

const tokenText = (token: Token) => Buffer.from(JSON.stringify(token)).toString('base64url');

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
    const isNumber = (value: number) => Number.isInteger(value) && value >= 0;
    if (isNumber(token.v) && isNumber(token.t) && typeof token.k === 'string') return token;
  } catch {
    // Said below.
  }
  throw badRequest(`invalid continue token: continue key is not valid: ${text.slice(0, 100)}`);
}

/** Whoever has read pages may go on behind the last key. */
function tooOld(after: string): ApiRefusal {
  return after === ''
    ? expired('The resourceVersion for the provided list is too old.')
    : expired(
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
        tokenText({ v: 0, k: after, t: 0 }),
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
    const seen = seenAs(type, object);
    return isStored && seen === object ? json : JSON.stringify(seen);
  });
  return `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)},"items":[${items.join(',')}]}\n`;
}
