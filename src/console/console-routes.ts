/** The console's paths. Everything is read, but for what `TryIt` offers in `cadastre up`. */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import {
  type HttpAnswer,
  HttpRefusal,
  type HttpRequest,
  type HttpServer,
} from '../base/http-server.ts';
import { type Address, parseAddress } from '../net/address.ts';
import type { Action } from '../plan/doctor/what-if.ts';
import type { WhatIfAnswer } from '../plan/doctor/what-if-answer.ts';
import { type SubjectKind, subjectKinds } from '../plan/find/subject.ts';
import type { WaysAnswer } from '../plan/ways/survey-ways.ts';
import { type Assets, acceptsGzip } from './assets.ts';
import type { ConsoleStory } from './console-story.ts';
import type { EventStream } from './event-stream.ts';
import type { Finder } from './finder.ts';
import type { NodeDetail } from './node-detail.ts';
import type { RouterView } from './router-view.ts';
import type { RowChange } from './rows.ts';
import type { ConsoleState } from './state.ts';
import type { TryIt } from './try-it.ts';
import { formerViews, subjectPages, views } from './views.ts';

export interface ConsoleParts {
  assets: Assets;
  state: ConsoleState;
  stream: EventStream;
  finder: Finder;
  /** The rows of a past moment. */
  past: (atMs: number) => RowChange[];
  detail: (node: string) => NodeDetail | undefined;
  whatIf: (action: Action) => WhatIfAnswer;
  ways?: ((to: Address) => WaysAnswer) | undefined;
  tryIt: TryIt | undefined;
  story?: ConsoleStory | undefined;
}

const pack = promisify(gzip);
/** Longer than any name of Kubernetes, with its namespace. */
const mostLetters = 600;
/** Nothing that the page does not bring along: no foreign script, style, frame or form. */
export const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

export function addConsoleRoutes(server: HttpServer, parts: ConsoleParts): HttpServer {
  const { assets, state, stream, finder, detail, whatIf, ways, tryIt, story } = parts;
  const page = (request: HttpRequest) => assets.answer('index.html', request);
  server.on('GET', '/', page);
  for (const view of views) server.on('GET', `/${view}`, page).on('GET', `/${view}/:name`, page);
  for (const path of Object.values(subjectPages)) server.on('GET', `/${path}/:name`, page);
  for (const [former, view] of Object.entries(formerViews)) {
    server.on('GET', `/${former}`, ({ query }) => {
      const search = query.toString();
      const location = `/${view}${search === '' ? '' : `?${search}`}`;
      return { status: 307, headers: { location } };
    });
  }
  return server
    .on('GET', '/assets/:name', (request) => assets.answer(request.params.name ?? '', request))
    .on('GET', '/api/state', (request) => {
      const at = request.query.get('at');
      return answerState(at === null ? state.snapshot() : pastOf(parts, at), request);
    })
    .on('GET', '/api/events', ({ query, headers }) => {
      const from = headers['last-event-id'] ?? query.get('from') ?? '';
      return {
        contentType: 'text/event-stream',
        headers: { 'cache-control': 'no-store' },
        stream: (outgoing) => stream.open(outgoing, String(from)),
      };
    })
    .on('GET', '/api/find', async ({ query }) => ({
      body: { found: await finder.find((query.get('q') ?? '').slice(0, mostLetters)) },
      headers: { 'cache-control': 'no-store' },
    }))
    .on('GET', '/api/subjects/:kind/:name', async ({ params }) => {
      const { kind = '', name = '' } = params;
      const isKind = (subjectKinds as readonly string[]).includes(kind);
      const found = isKind ? await finder.describe({ kind: kind as SubjectKind, name }) : undefined;
      if (found === undefined) throw new HttpRefusal(404, `there is no ${kind} ${name}`);
      return { body: found, headers: { 'cache-control': 'no-store' } };
    })
    .on('GET', '/api/nodes/:name', ({ params }) => {
      const found = detail(params.name ?? '');
      if (found === undefined) throw new HttpRefusal(404, `there is no node called ${params.name}`);
      return { body: found, headers: { 'cache-control': 'no-store' } };
    })
    .on('GET', '/api/ribs/:name', ({ params }) => {
      const router = state.all('router').find(({ name }) => name === params.name);
      if (router === undefined) throw new HttpRefusal(404, `no router ${params.name} is seen here`);
      if (!router.isUp) throw new HttpRefusal(404, `${router.name}: ${router.why ?? 'it is down'}`);
      return { body: ribOf(router), headers: { 'cache-control': 'no-store' } };
    })
    .on('GET', '/api/whatif', ({ query }) => ({
      body: whatIf(readAction(query)),
      headers: { 'cache-control': 'no-store' },
    }))
    .on('GET', '/api/ways', ({ query }) => {
      const to = parseAddress((query.get('to') ?? '').trim());
      if (to === undefined) throw new HttpRefusal(400, 'ask with ?to=ADDRESS, such as 10.5.113.7');
      const body = ways?.(to) ?? { address: to.toString(), owner: '', block: '', ways: [] };
      return { body, headers: { 'cache-control': 'no-store' } };
    })
    .on('GET', '/api/story', () => {
      if (story === undefined) throw new HttpRefusal(404, 'only cadastre up tells a story');
      story.wake();
      return { body: story.row(), headers: { 'cache-control': 'no-store' } };
    })
    .on('POST', '/api/try/:action', async ({ params, json }) => {
      if (tryIt === undefined) throw new HttpRefusal(403, 'this console only looks');
      const body = await json();
      if (typeof body !== 'object' || body === null || Array.isArray(body)) {
        throw new HttpRefusal(400, 'the body must be a JSON object');
      }
      const said = await tryIt.act(params.action ?? '', body as Record<string, unknown>);
      return { body: { said } };
    })
    .on('GET', '/:view', (request) => {
      // Somebody's mistyped address: the page says so, and knows the way.
      const isReader = String(request.headers.accept ?? '').includes('text/html');
      if (!isReader) throw new HttpRefusal(404, `no such path: ${request.path}`);
      const answer = page(request);
      return answer.status === 304 ? answer : { ...answer, status: 404 };
    });
}

/** How it was, as far as it is written down. */
function pastOf({ past }: ConsoleParts, at: string): string {
  const atMs = Date.parse(at);
  if (Number.isNaN(atMs))
    throw new HttpRefusal(400, `?at=${at} is not a time such as 2026-01-31T12:00:00Z`);
  return JSON.stringify({ at: '', changes: past(atMs) });
}

/** A router's table as `gobgp global rib -j` shows one: what the doctor reads with --rib. */
function ribOf({ held }: RouterView): object {
  const paths: Record<string, object[]> = {};
  for (const { prefix, nextHop } of held) {
    const attribute = { type: prefix.includes(':') ? 14 : 3, nexthop: nextHop };
    paths[prefix] ??= [];
    paths[prefix].push({ nlri: { prefix }, best: true, attrs: [attribute] });
  }
  return paths;
}

function readAction(query: URLSearchParams): Action {
  const nodes = query.getAll('drain').filter((name) => name !== '');
  if (nodes.length > 0) return { kind: 'drain', nodes };
  const router = query.get('lose-router');
  if (router) return { kind: 'lose-router', router };
  throw new HttpRefusal(400, 'ask with ?drain=NODE or ?lose-router=ROUTER');
}

async function answerState(text: string, request: HttpRequest): Promise<HttpAnswer> {
  const headers = { 'cache-control': 'no-store', vary: 'accept-encoding' };
  const contentType = 'application/json';
  if (!acceptsGzip(request)) return { contentType, headers, body: text };
  // Fast rather than small: this goes over a loopback or a rack.
  const body = await pack(text, { level: 1 });
  return { contentType, headers: { ...headers, 'content-encoding': 'gzip' }, body };
}
