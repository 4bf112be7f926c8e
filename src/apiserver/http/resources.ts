/** The verbs on resources, as HTTP spells them. */
import { type Api, collectionOf, keyIn, type ObjectTarget } from '../api.ts';
import type { ApiObject } from '../object.ts';
import { isFields } from '../object.ts';
import { type Subresource, verbsOf } from '../resource.ts';
import { methodNotAllowed, noSuchPath, notFound } from '../status.ts';
import { type Form, partialMetadata, table } from '../table.ts';
import { create, type Written } from '../verbs/create.ts';
import type { WriteQuery } from '../verbs/decode.ts';
import { type DeleteQuery, remove, removeEntry } from '../verbs/delete.ts';
import { encodeList, listObjects, mustBeReached } from '../verbs/list.ts';
import { patch, patchTypeOf } from '../verbs/patch.ts';
import { seenAs } from '../verbs/seen-as.ts';
import { subresourceServers } from '../verbs/serve-subresource.ts';
import type { SubresourceCall } from '../verbs/subresource-call.ts';
import { replace } from '../verbs/update.ts';
import { watch } from '../verbs/watch.ts';
import { mediaTypeOf, readBody } from './body.ts';
import { deleteOptions } from './delete-options.ts';
import { type HttpCall, noteName, sendJson } from './http-call.ts';
import { negotiate } from './negotiate.ts';
import { isSet, listOptions, watchOptions, writeOptions } from './options.ts';
import type { Route } from './route.ts';

/** A request for a resource: what it is for, and the form the answer takes. */
interface ResourceCall extends HttpCall {
  api: Api;
  watches: Set<() => void>;
  found: Route;
  form: Form;
}

export function serveResource(
  { api, watches }: Pick<ResourceCall, 'api' | 'watches'>,
  http: HttpCall,
  found: Route,
): Promise<void> {
  const { name, subresource, type } = found;
  const part = type.subresources.find((each) => each.name === subresource);
  if (
    subresource !== undefined &&
    part === undefined &&
    !(subresource === 'status' && type.hasStatus)
  ) {
    throw type.isCustom ? notFound(type, name as string) : noSuchPath();
  }
  const includes = http.query.get('includeObject') ?? '';
  const { form } = negotiate(http.incoming.headers.accept, includes);
  const call: ResourceCall = { ...http, api, watches, found, form };
  if (name === undefined) return serveCollection(call);
  const target = { type, namespace: found.namespace, name, subresource };
  return part === undefined ? serveObject(call, target) : serveSubresource(call, target, part);
}

const subresourceVerbs: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
};

async function serveSubresource(
  call: ResourceCall,
  target: ObjectTarget,
  part: Subresource,
): Promise<void> {
  const { api, method, query, incoming, outgoing } = call;
  const verb = subresourceVerbs[method] ?? '';
  if (!part.verbs.includes(verb)) throw notAllowed();
  const serve = part.kind && subresourceServers[part.name];
  if (serve === undefined) return serveObject(call, target);
  const how = verb === 'patch' ? patchTypeOf(target.type, mediaTypeOf(incoming)) : verb;
  const writing = verb === 'get' ? 'update' : how === 'apply' ? 'apply' : (verb as 'update');
  const options = writeOptions(query, incoming.headers['user-agent'], writing);
  const body = verb === 'get' ? undefined : await readWritten(call, options);
  const answer = serve({ api, target, part, how: how as SubresourceCall['how'], body, options });
  await answer.safe;
  return sendJson(outgoing, answer.code, answer.body);
}

async function serveObject(call: ResourceCall, target: ObjectTarget): Promise<void> {
  const { api, method, query, incoming } = call;
  const { type, name, subresource } = target;
  const media = mediaTypeOf(incoming);
  const agent = incoming.headers['user-agent'];
  switch (method) {
    case 'GET':
    case 'HEAD': {
      mustBeReached(api, query.get('resourceVersion') ?? '');
      const entry = collectionOf(api, type).get(keyIn(target, name));
      await api.store.settled();
      if (entry === undefined) throw notFound(type, name);
      return sendObject(call, entry.object, 200);
    }
    case 'PUT': {
      const asked = writeOptions(query, agent, 'update');
      return answer(call, replace(api, target, await readWritten(call, asked), asked), asked);
    }
    case 'PATCH': {
      const how = patchTypeOf(type, media);
      const asked = writeOptions(query, agent, how === 'apply' ? 'apply' : 'patch');
      return answer(call, patch(api, target, how, await readWritten(call, asked), asked), asked);
    }
    case 'DELETE': {
      if (subresource !== undefined) throw notAllowed();
      const deleted = remove(api, target, await askedDelete(call));
      await deleted.safe;
      if (deleted.isObject) return sendObject(call, deleted.answer as ApiObject, deleted.code);
      return sendJson(call.outgoing, deleted.code, deleted.answer);
    }
    default:
      throw notAllowed();
  }
}

const notAllowed = () =>
  methodNotAllowed('the server does not allow this method on the requested resource');

async function serveCollection(call: ResourceCall): Promise<void> {
  const { api, method, query, incoming, outgoing, found, form } = call;
  const { type } = found;
  switch (method) {
    case 'GET':
    case 'HEAD': {
      if (isSet(query, 'watch')) return serveWatch(call);
      const listed = listObjects(api, found, listOptions(type, query));
      await api.store.settled();
      return sendJson(outgoing, 200, encodeList(type, listed, form, api.nowMs()));
    }
    case 'POST': {
      const asked = writeOptions(query, incoming.headers['user-agent'], 'create');
      const body = await readWritten(call, asked);
      const said = isFields(body) && isFields(body.metadata) ? body.metadata.name : undefined;
      if (typeof said === 'string') noteName(outgoing, said);
      return answer(call, create(api, found, body, asked), asked);
    }
    case 'DELETE': {
      if (!verbsOf(type).includes('deletecollection')) throw notAllowed();
      const asked = await askedDelete(call);
      const listed = listObjects(api, found, listOptions(type, query));
      const writes = listed.entries.map((entry) => removeEntry(api, found, entry, asked).safe);
      await Promise.all(writes);
      return sendJson(outgoing, 200, encodeList(type, listed, form, api.nowMs()));
    }
    default:
      throw notAllowed();
  }
}

function serveWatch({ api, watches, query, outgoing, found, form }: ResourceCall): void {
  const asked = watchOptions(found.type, query, api.random);
  const stop = watch(api, found, asked, form, outgoing);
  watches.add(stop);
  outgoing.on('close', () => watches.delete(stop));
}

/** The body of a write, and what it says twice if the client wants to know. */
function readWritten({ incoming }: HttpCall, asked: WriteQuery): Promise<unknown> {
  if (asked.fieldValidation !== 'Ignore') asked.twice = [];
  return readBody(incoming, mediaTypeOf(incoming), asked.twice);
}

async function askedDelete({ incoming, query }: HttpCall): Promise<DeleteQuery> {
  return deleteOptions(await readBody(incoming, mediaTypeOf(incoming)), query);
}

async function answer(
  call: ResourceCall,
  written: Written,
  { warnings }: WriteQuery,
): Promise<void> {
  await written.safe;
  warn(call, warnings);
  noteName(call.outgoing, written.object.metadata.name);
  sendObject(call, written.object, written.code);
}

/** As many as the real one sends: clients give up on headers that are longer. */
const maxWarningLetters = 4096;

function warn({ outgoing }: HttpCall, warnings: string[]): void {
  let letters = 0;
  for (const words of new Set(warnings)) {
    // What is no header to Node would be an error of ours: letters beyond Latin-1, line breaks.
    const text = words.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/[\\"]/g, '\\$&');
    letters += text.length;
    if (letters > maxWarningLetters) return;
    outgoing.appendHeader('warning', `299 - "${text}"`);
  }
}

function sendObject(
  { api, outgoing, found, form }: ResourceCall,
  object: ApiObject,
  code: number,
): void {
  const seen = seenAs(found.type, object);
  const { resourceVersion } = object.metadata;
  if (form.as === 'table') {
    sendJson(outgoing, code, table(found.type, [seen], { resourceVersion }, form, api.nowMs()));
  } else sendJson(outgoing, code, form.as === 'metadata' ? partialMetadata(seen) : seen);
}
