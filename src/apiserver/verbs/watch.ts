/**
 * WATCH: everything that happened since a version, then everything that
 * happens. Each change is encoded once for all watchers that want it in the
 * same form; a watcher with a selector hears an object come and go as it
 * begins and ceases to match.
 */
import type { ServerResponse } from 'node:http';
import { timerMs } from '../../base/timer-ms.ts';
import { type Api, collectionOf, type ResourceScope } from '../api.ts';
import type { ApiObject } from '../object.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import type { Matches } from '../selectors.ts';
import type { Status } from '../status.ts';
import { expired } from '../status.ts';
import type { Change, Entry } from '../store/collection.ts';
import { type Form, partialMetadata, table } from '../table.ts';
import { parseVersion } from './list.ts';
import { seenAs } from './seen-as.ts';

export interface WatchQuery {
  labels: Matches | undefined;
  fields: Matches | undefined;
  resourceVersion: string;
  timeoutMs: number;
  wantsBookmarks: boolean;
  /** Whether what is there comes first; undefined: as the version asks. */
  initialEvents: boolean | undefined;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** A bookmark when nothing else was said for so long. */
const bookmarkEveryMs = 60_000;
/** A watcher that does not read must not fill our memory. */
const maxBacklogBytes = 64 * 1024 * 1024;

export function watch(
  api: Api,
  place: ResourceScope,
  options: WatchQuery,
  form: Form,
  response: ServerResponse,
): () => void {
  const { type, namespace } = place;
  const collection = collectionOf(api, type);
  const isIn = (key: string) => namespace === undefined || key.startsWith(`${namespace}/`);
  const isSelected = (entry: Entry | undefined) =>
    entry !== undefined &&
    (options.labels?.(entry.object) ?? true) &&
    (options.fields?.(entry.object) ?? true);
  let isFirst = true;
  let toldVersion = 0;

  const send = (line: Buffer | string) => {
    response.write(line);
    if (response.writableLength > maxBacklogBytes) response.destroy();
  };
  const tell = (change: Change) => {
    if (change.version <= toldVersion || !isIn(change.key)) return;
    toldVersion = change.version;
    const event = eventFor(isSelected(change.before), isSelected(change.after));
    if (event !== undefined) send(encode(api, type, event, change, form, isFirst));
    if (event !== undefined) isFirst = false;
  };
  const bookmark = (extra: object = {}) => {
    const version = Math.max(api.store.safeVersion, toldVersion);
    send(encodeBookmark(type, form, { resourceVersion: String(version), ...extra }));
  };

  const { resourceVersion } = options;
  const startsFromNow = resourceVersion === '' || resourceVersion === '0';
  const from = startsFromNow ? 0 : parseVersion(resourceVersion);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  if (startsFromNow || options.initialEvents) {
    const version = api.store.safeVersion;
    const there = options.initialEvents === false ? [] : collection.listAt(version, namespace);
    for (const entry of there ?? []) {
      if (!isSelected(entry)) continue;
      send(encodeObject(api, type, 'ADDED', entry.object, form, isFirst));
      isFirst = false;
    }
    toldVersion = version;
    if (options.initialEvents) {
      bookmark({ annotations: { 'k8s.io/initial-events-end': 'true' } });
    }
  } else {
    const missed = collection.since(from);
    if (missed === undefined) {
      const { status } = expired(`too old resource version: ${from} (${collection.forgottenTo})`);
      response.end(`${JSON.stringify({ type: 'ERROR', object: status satisfies Status })}\n`);
      return () => {};
    }
    toldVersion = from;
    for (const change of missed) if (change.version <= api.store.safeVersion) tell(change);
  }

  collection.watchers.add(tell);
  const timers: NodeJS.Timeout[] = [];
  let isStopped = false;
  const stop = () => {
    if (isStopped) return;
    isStopped = true;
    collection.watchers.delete(tell);
    for (const timer of timers) clearTimeout(timer);
    response.end();
  };
  if (options.wantsBookmarks) {
    timers.push(setInterval(() => bookmark(), bookmarkEveryMs));
    // Just before the end, so that the next watch starts from here.
    timers.push(setTimeout(() => bookmark(), timerMs(Math.max(0, options.timeoutMs - 500))));
  }
  timers.push(setTimeout(stop, timerMs(Math.max(0, options.timeoutMs))));
  response.on('close', stop);
  return stop;
}

function eventFor(did: boolean, does: boolean): EventType | undefined {
  if (did && does) return 'MODIFIED';
  if (does) return 'ADDED';
  return did ? 'DELETED' : undefined;
}

/** Rows of a table carry ages, and the first one the columns: those are not shared. */
function encode(
  api: Api,
  type: ResourceType,
  event: EventType,
  change: Change,
  form: Form,
  isFirst: boolean,
): Buffer {
  // What leaves a selection is sent as it was, with the version of the change.
  const seen = event === 'DELETED' ? leaving(change) : change.seen.object;
  if (form.as === 'table') return encodeObject(api, type, event, seen, form, isFirst);
  const id = `${event} ${form.as} ${type.version}`;
  let line = change.lines.get(id);
  if (line === undefined) {
    line = encodeObject(api, type, event, seen, form, isFirst);
    change.lines.set(id, line);
  }
  return line;
}

function leaving(change: Change): ApiObject {
  const last = (change.before as Entry).object;
  return { ...last, metadata: { ...last.metadata, resourceVersion: String(change.version) } };
}

function encodeObject(
  api: Api,
  type: ResourceType,
  event: EventType,
  object: ApiObject,
  form: Form,
  isFirst: boolean,
): Buffer {
  const seen = seenAs(type, object);
  const { resourceVersion } = object.metadata;
  const sent =
    form.as === 'table'
      ? table(type, [seen], { resourceVersion }, form, api.nowMs(), isFirst)
      : form.as === 'metadata'
        ? partialMetadata(seen)
        : seen;
  return Buffer.from(`${JSON.stringify({ type: event, object: sent })}\n`);
}

function encodeBookmark(type: ResourceType, form: Form, metadata: object): string {
  const isMetadata = form.as === 'metadata';
  const object =
    form.as === 'table'
      ? { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata, columnDefinitions: null, rows: [] }
      : {
          kind: isMetadata ? 'PartialObjectMetadata' : type.kind,
          apiVersion: isMetadata ? 'meta.k8s.io/v1' : apiVersionOf(type),
          metadata,
        };
  return `${JSON.stringify({ type: 'BOOKMARK', object })}\n`;
}
