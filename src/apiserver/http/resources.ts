/** The verbs on resources, as HTTP spells them. */
import { collectionOf, keyIn, type Target } from '../api.ts';
import type { KubeObject } from '../object.ts';
import { isFields } from '../object.ts';
import type { ResourceType } from '../resource.ts';
import { parseFieldSelector, parseLabelSelector } from '../selectors.ts';
import { badRequest, faults, invalid, methodNotAllowed, noSuchPath, notFound } from '../status.ts';
import { type Form, partialMetadata, table } from '../table.ts';
import { create, type Written } from '../verbs/create.ts';
import type { FieldValidation, WriteOptions } from '../verbs/decode.ts';
import { type Deleted, type DeleteOptions, remove, removeEntry } from '../verbs/delete.ts';
import { encodeList, type ListOptions, list, seenAs } from '../verbs/list.ts';
import { patch, patchTypeOf } from '../verbs/patch.ts';
import { replace } from '../verbs/update.ts';
import { watch } from '../verbs/watch.ts';
import { mediaTypeOf, readBody } from './body.ts';
import type { Exchange, HandlerOptions } from './handler.ts';
import { noteName, sendJson } from './handler.ts';
import { negotiate } from './negotiate.ts';
import type { Route } from './route.ts';

export async function serveResource(
  options: HandlerOptions,
  exchange: Exchange,
  found: Route,
): Promise<void> {
  const { method, query, incoming } = exchange;
  const { name, subresource, type } = found;
  if (subresource !== undefined && !(subresource === 'status' && type.hasStatus))
    throw noSuchPath();
  const { form } = negotiate(incoming.headers.accept, query.get('includeObject') ?? '');
  if (name === undefined) return serveCollection(options, exchange, found, form);
  const target: Target = { type, namespace: found.namespace, name, subresource };
  const { api } = options;
  const media = mediaTypeOf(incoming);
  switch (method) {
    case 'GET':
    case 'HEAD': {
      // A watch of one object is a watch of the collection, narrowed.
      if (query.get('watch') === 'true' || query.get('watch') === '1') {
        query.set('fieldSelector', `metadata.name=${name}`);
        return serveWatch(options, exchange, found, form);
      }
      const entry = collectionOf(api, type).get(keyIn(target, name));
      await api.store.settled();
      if (entry === undefined) throw notFound(type, name);
      return sendObject(options, exchange, type, entry.object, 200, form);
    }
    case 'PUT': {
      const asked = writeOptions(exchange, false);
      const body = await readBody(incoming, media);
      return answer(options, exchange, type, replace(api, target, body, asked), asked, form);
    }
    case 'PATCH': {
      const how = patchTypeOf(type, media);
      const asked = writeOptions(exchange, how === 'apply');
      const body = await readBody(incoming, media);
      return answer(options, exchange, type, patch(api, target, how, body, asked), asked, form);
    }
    case 'DELETE': {
      if (subresource !== undefined) throw notAllowed();
      const asked = await deleteOptions(exchange);
      const deleted = remove(api, target, asked);
      await deleted.safe;
      return sendDeleted(options, exchange, type, deleted, form);
    }
    default:
      throw notAllowed();
  }
}

const notAllowed = () =>
  methodNotAllowed('the server does not allow this method on the requested resource');

async function serveCollection(
  options: HandlerOptions,
  exchange: Exchange,
  found: Route,
  form: Form,
): Promise<void> {
  const { api } = options;
  const { method, query, incoming, outgoing } = exchange;
  const { type } = found;
  switch (method) {
    case 'GET':
    case 'HEAD': {
      if (query.get('watch') === 'true' || query.get('watch') === '1') {
        return serveWatch(options, exchange, found, form);
      }
      const listed = list(api, found, listOptions(type, query));
      await api.store.settled();
      return sendJson(outgoing, 200, encodeList(type, listed, form, api.nowMs()));
    }
    case 'POST': {
      const asked = writeOptions(exchange, false);
      const body = await readBody(incoming, mediaTypeOf(incoming));
      const said = isFields(body) && isFields(body.metadata) ? body.metadata.name : undefined;
      if (typeof said === 'string') noteName(outgoing, said);
      return answer(options, exchange, type, create(api, found, body, asked), asked, form);
    }
    case 'DELETE': {
      const asked = await deleteOptions(exchange);
      const listed = list(api, found, listOptions(type, query));
      const writes = listed.entries.map((entry) => removeEntry(api, found, entry, asked).safe);
      await Promise.all(writes);
      return sendJson(outgoing, 200, encodeList(type, listed, form, api.nowMs()));
    }
    default:
      throw notAllowed();
  }
}

function selectors(type: ResourceType, query: URLSearchParams) {
  return {
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields: parseFieldSelector(query.get('fieldSelector') ?? '', type.selectableFields),
  };
}

function listOptions(type: ResourceType, query: URLSearchParams): ListOptions {
  const limit = Number(query.get('limit') ?? 0);
  if (!Number.isInteger(limit) || limit < 0) {
    throw badRequest(`limit: Invalid value: ${query.get('limit')}: must be a positive number`);
  }
  return {
    ...selectors(type, query),
    limit,
    continueToken: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
  };
}

function serveWatch(
  { api, watches }: HandlerOptions,
  { query, outgoing }: Exchange,
  found: Route,
  form: Form,
): void {
  const seconds = Number(query.get('timeoutSeconds') ?? 0);
  // The real one's habit: between half an hour and an hour, so that watches do not end together.
  const timeoutMs = seconds > 0 ? seconds * 1000 : (1800 + 1800 * api.random()) * 1000;
  const asked = {
    ...selectors(found.type, query),
    resourceVersion: query.get('resourceVersion') ?? '',
    timeoutMs,
    wantsBookmarks: query.get('allowWatchBookmarks') === 'true',
    sendsInitialEvents: query.get('sendInitialEvents') === 'true',
  };
  const stop = watch(api, found, asked, form, outgoing);
  watches.add(stop);
  outgoing.on('close', () => watches.delete(stop));
}

function writeOptions({ query, incoming }: Exchange, isApply: boolean): WriteOptions {
  const validation = query.get('fieldValidation') ?? 'Warn';
  if (!['Ignore', 'Warn', 'Strict'].includes(validation)) {
    throw badRequest(`fieldValidation: Unsupported value: ${JSON.stringify(validation)}`);
  }
  const dryRun = query.getAll('dryRun');
  if (dryRun.some((each) => each !== 'All'))
    throw badRequest(`dryRun: Unsupported value: ${dryRun}`);
  const manager = query.get('fieldManager') ?? '';
  if (isApply && manager === '') {
    const options = { group: 'meta.k8s.io', plural: 'patchoptions', kind: 'PatchOptions' };
    throw invalid(options, '', [faults.required('fieldManager', 'is required for apply patch')]);
  }
  // Who does not say is known by the first word of its user agent.
  const agent = (incoming.headers['user-agent'] ?? 'unknown').split('/')[0] as string;
  return {
    dryRun: dryRun.includes('All'),
    fieldManager: manager === '' ? agent.slice(0, 128) : manager,
    fieldValidation: validation as FieldValidation,
    force: query.get('force') === 'true',
    warnings: [],
  };
}

async function deleteOptions({ incoming, query }: Exchange): Promise<DeleteOptions> {
  const body = await readBody(incoming, mediaTypeOf(incoming));
  if (body !== undefined && !isFields(body)) throw badRequest('DeleteOptions is no object');
  const given = (body ?? {}) as DeleteOptions;
  const seconds = query.get('gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  return {
    ...given,
    ...(seconds === null ? {} : { gracePeriodSeconds: Number(seconds) }),
    ...(policy === null ? {} : { propagationPolicy: policy as 'Background' }),
    dryRun: [...(given.dryRun ?? []), ...query.getAll('dryRun')],
  };
}

async function answer(
  options: HandlerOptions,
  exchange: Exchange,
  type: ResourceType,
  written: Written,
  { warnings }: WriteOptions,
  form: Form,
): Promise<void> {
  await written.safe;
  for (const words of warnings) {
    const text = words.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
    exchange.outgoing.appendHeader('warning', `299 - "${text}"`);
  }
  noteName(exchange.outgoing, written.object.metadata.name);
  sendObject(options, exchange, type, written.object, written.code, form);
}

function sendObject(
  { api }: HandlerOptions,
  { outgoing }: Exchange,
  type: ResourceType,
  object: KubeObject,
  code: number,
  form: Form,
): void {
  const seen = seenAs(type, object);
  const { resourceVersion } = object.metadata;
  if (form.as === 'table') {
    sendJson(outgoing, code, table(type, [seen], { resourceVersion }, form, api.nowMs()));
  } else sendJson(outgoing, code, form.as === 'metadata' ? partialMetadata(seen) : seen);
}

function sendDeleted(
  options: HandlerOptions,
  exchange: Exchange,
  type: ResourceType,
  { answer: body, isObject, code }: Deleted,
  form: Form,
): void {
  if (isObject) sendObject(options, exchange, type, body as KubeObject, code, form);
  else sendJson(exchange.outgoing, code, body);
}
