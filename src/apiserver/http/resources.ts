/** The verbs on resources, as HTTP spells them. */
import { collectionOf, keyIn, type Target } from '../api.ts';
import type { KubeObject } from '../object.ts';
import { isFields } from '../object.ts';
import { type ResourceType, verbsOf } from '../resource.ts';
import { methodNotAllowed, noSuchPath, notFound } from '../status.ts';
import { type Form, partialMetadata, table } from '../table.ts';
import { create, type Written } from '../verbs/create.ts';
import type { WriteOptions } from '../verbs/decode.ts';
import { type Deleted, type DeleteOptions, remove, removeEntry } from '../verbs/delete.ts';
import { encodeList, list, mustBeReached, seenAs } from '../verbs/list.ts';
import { patch, patchTypeOf } from '../verbs/patch.ts';
import { replace } from '../verbs/update.ts';
import { watch } from '../verbs/watch.ts';
import { mediaTypeOf, readBody } from './body.ts';
import { type Exchange, type HandlerOptions, noteName, sendJson } from './exchange.ts';
import { negotiate } from './negotiate.ts';
import { deleteOptions, isSet, listOptions, watchOptions, writeOptions } from './options.ts';
import type { Route } from './route.ts';

export async function serveResource(
  options: HandlerOptions,
  exchange: Exchange,
  found: Route,
): Promise<void> {
  const { method, query, incoming } = exchange;
  const { name, subresource, type } = found;
  if (subresource !== undefined && !(subresource === 'status' && type.hasStatus)) {
    throw type.isCustom ? notFound(type, name as string) : noSuchPath();
  }
  const { form } = negotiate(incoming.headers.accept, query.get('includeObject') ?? '');
  if (name === undefined) return serveCollection(options, exchange, found, form);
  const target: Target = { type, namespace: found.namespace, name, subresource };
  const { api } = options;
  const media = mediaTypeOf(incoming);
  const agent = incoming.headers['user-agent'];
  switch (method) {
    case 'GET':
    case 'HEAD': {
      // A watch of one object is a watch of the collection, narrowed.
      if (isSet(query, 'watch')) {
        query.set('fieldSelector', `metadata.name=${name}`);
        return serveWatch(options, exchange, found, form);
      }
      mustBeReached(api, query.get('resourceVersion') ?? '');
      const entry = collectionOf(api, type).get(keyIn(target, name));
      await api.store.settled();
      if (entry === undefined) throw notFound(type, name);
      return sendObject(options, exchange, type, entry.object, 200, form);
    }
    case 'PUT': {
      const asked = writeOptions(query, agent, 'update');
      const body = await readBody(incoming, media);
      return answer(options, exchange, type, replace(api, target, body, asked), asked, form);
    }
    case 'PATCH': {
      const how = patchTypeOf(type, media);
      const asked = writeOptions(query, agent, how === 'apply' ? 'apply' : 'patch');
      const body = await readBody(incoming, media);
      return answer(options, exchange, type, patch(api, target, how, body, asked), asked, form);
    }
    case 'DELETE': {
      if (subresource !== undefined) throw notAllowed();
      const asked = await askedDelete(exchange);
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
      if (isSet(query, 'watch')) {
        return serveWatch(options, exchange, found, form);
      }
      const listed = list(api, found, listOptions(type, query));
      await api.store.settled();
      return sendJson(outgoing, 200, encodeList(type, listed, form, api.nowMs()));
    }
    case 'POST': {
      const asked = writeOptions(query, incoming.headers['user-agent'], 'create');
      const body = await readBody(incoming, mediaTypeOf(incoming));
      const said = isFields(body) && isFields(body.metadata) ? body.metadata.name : undefined;
      if (typeof said === 'string') noteName(outgoing, said);
      return answer(options, exchange, type, create(api, found, body, asked), asked, form);
    }
    case 'DELETE': {
      if (!verbsOf(type).includes('deletecollection')) throw notAllowed();
      const asked = await askedDelete(exchange);
      const listed = list(api, found, listOptions(type, query));
      const writes = listed.entries.map((entry) => removeEntry(api, found, entry, asked).safe);
      await Promise.all(writes);
      return sendJson(outgoing, 200, encodeList(type, listed, form, api.nowMs()));
    }
    default:
      throw notAllowed();
  }
}

function serveWatch(
  { api, watches }: HandlerOptions,
  { query, outgoing }: Exchange,
  found: Route,
  form: Form,
): void {
  const asked = watchOptions(found.type, query, api.random);
  const stop = watch(api, found, asked, form, outgoing);
  watches.add(stop);
  outgoing.on('close', () => watches.delete(stop));
}

async function askedDelete({ incoming, query }: Exchange): Promise<DeleteOptions> {
  return deleteOptions(await readBody(incoming, mediaTypeOf(incoming)), query);
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
