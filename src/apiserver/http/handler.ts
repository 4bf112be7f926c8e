/** One request, one answer: who asks, for what, in which form. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describeError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { Api } from '../api.ts';
import type { Registry } from '../registry.ts';
import { ApiRefusal, noSuchPath } from '../status.ts';
import { mediaTypeOf, readBody } from './body.ts';
import {
  aggregated,
  apiGroup,
  apiGroups,
  apiResources,
  apiVersions,
  reviews,
} from './discovery.ts';
import { type HttpCall, notedName, sendJson, sendText } from './http-call.ts';
import { negotiate, notAcceptable } from './negotiate.ts';
import { openApi, openApiPaths, swagger, swaggerProtobuf } from './openapi.ts';
import { serveResource } from './resources.ts';
import { review } from './review.ts';
import { route } from './route.ts';

export interface HandlerOptions {
  api: Api;
  log: Log;
  /** host:port, for clients that ask. */
  address: () => string;
  isReady: () => boolean;
  /** Watches under way, so that a stop can end them. */
  watches: Set<() => void>;
  onAnswer: ((answered: AnsweredRequest) => void) | undefined;
}

/** A request and what became of it, once it is answered; a watch when it ends. */
export interface AnsweredRequest {
  method: string;
  path: string;
  userAgent: string;
  code: number;
  /** Of the object that was written: a create does not have it in its path. */
  name: string | undefined;
}

/** As a cluster of the version our schemas are from would say. */
const version = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0+embedded',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'none',
  platform: `${process.platform}/${process.arch}`,
};

const rootPaths = [
  ...['/api', '/apis', '/healthz', '/livez'],
  ...['/openapi/v2', '/openapi/v3', '/readyz', '/version'],
];

export function requestHandler(options: HandlerOptions) {
  const { onAnswer } = options;
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (onAnswer !== undefined) {
      // In the same turn as the answer is sent: whoever has it finds it reported.
      outgoing.on('prefinish', () => {
        const { method = '', url = '', headers } = incoming;
        const path = url.split('?')[0] as string;
        const userAgent = headers['user-agent'] ?? '';
        const name = notedName(outgoing);
        onAnswer({ method, path, userAgent, code: outgoing.statusCode, name });
      });
    }
    serve(options, incoming, outgoing).catch((error: unknown) => {
      if (outgoing.headersSent) {
        outgoing.destroy();
        return;
      }
      const refusal = error instanceof ApiRefusal ? error : failure(options, incoming, error);
      const isUnread = !incoming.complete && incoming.method !== 'GET';
      if (isUnread) outgoing.setHeader('connection', 'close');
      sendJson(outgoing, refusal.code, refusal.status);
    });
  };
}

function failure({ log }: HandlerOptions, incoming: IncomingMessage, error: unknown): ApiRefusal {
  const message = describeError(error);
  log.error({ verb: incoming.method, path: incoming.url, error: message }, 'answer failed');
  return new ApiRefusal(500, 'InternalError', `Internal error occurred: ${message}`);
}

async function serve(
  options: HandlerOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { api } = options;
  // A proxy may be told the whole address: RFC 9112 §3.2.2.
  const target = (incoming.url ?? '/').replace(/^https?:\/\/[^/?]*/i, '');
  const [path = '/', ...searches] = target.split('?');
  const search = searches.join('?');
  const method = incoming.method ?? 'GET';
  const query = new URLSearchParams(search);
  const call: HttpCall = { incoming, outgoing, method, path, query };
  const isGet = method === 'GET' || method === 'HEAD';
  if (isGet && /^\/(healthz|livez|readyz)(\/|$)/.test(path)) {
    const isReady = options.isReady();
    const [, which] = path.split('/');
    const verbose = isReady ? `[+]ping ok\n${which} check passed\n` : `${which} check failed\n`;
    const brief = isReady ? 'ok' : 'not ready';
    return sendText(outgoing, isReady ? 200 : 500, query.has('verbose') ? verbose : brief);
  }
  if (isGet && path === '/version') return sendJson(outgoing, 200, version);
  const given = /^bearer\s+(\S+)$/i.exec(incoming.headers.authorization ?? '')?.[1] ?? '';
  const user = api.tokens.userOf(given);
  if (user === undefined) throw new ApiRefusal(401, 'Unauthorized', 'Unauthorized');
  const found = route(api.registry, path);
  if (found !== undefined) return serveResource(options, call, found);
  const reviewed = reviews.find(
    ({ group, plural }) => method === 'POST' && path === `/apis/${group}/v1/${plural}`,
  );
  if (reviewed !== undefined) {
    // A review has no table.
    if (negotiate(incoming.headers.accept, '').form.as !== 'object') throw notAcceptable();
    const body = await readBody(incoming, mediaTypeOf(incoming));
    return sendJson(outgoing, 201, review(reviewed, body, user, api.tokens));
  }
  if (!isGet) throw noSuchPath();
  if (path === '/openapi/v2') return sendSwagger(call, api.registry);
  const document = discover(options, call);
  if (document === undefined) {
    if (path.startsWith('/api')) return sendText(outgoing, 404, '404 page not found\n');
    throw noSuchPath();
  }
  outgoing.setHeader('vary', 'Accept');
  sendJson(outgoing, 200, document.body, document.contentType);
}

/** Asked for by kubectl for a file that holds a List, and then in protobuf alone. */
function sendSwagger({ incoming, outgoing }: HttpCall, registry: Registry): void {
  const accept = incoming.headers.accept ?? '';
  if (accept.includes('protobuf')) {
    const contentType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
    outgoing.writeHead(200, { 'content-type': contentType });
    outgoing.end(swaggerProtobuf);
  } else sendJson(outgoing, 200, swagger(registry));
}

function discover(
  { api, address }: HandlerOptions,
  { path, incoming }: HttpCall,
): { body: object; contentType?: string } | undefined {
  const parts = path.split('/').filter((part) => part !== '');
  const [root, group, ...rest] = parts;
  const { registry } = api;
  const wants = () => negotiate(incoming.headers.accept, '');
  if (root === 'openapi' && group === 'v3') {
    const body = rest.length === 0 ? openApiPaths(registry) : openApi(registry, rest.join('/'));
    return body === undefined ? undefined : { body };
  }
  if (parts.length === 1 && (root === 'api' || root === 'apis')) {
    const { isAggregated, contentType } = wants();
    if (isAggregated) return { body: aggregated(registry, root === 'api'), contentType };
    return { body: root === 'api' ? apiVersions(address()) : apiGroups(registry) };
  }
  const body =
    root === 'api' && parts.length === 2
      ? apiResources(registry, '', group as string)
      : root === 'apis' && parts.length === 2
        ? apiGroup(registry, group as string)
        : root === 'apis' && parts.length === 3
          ? apiResources(registry, group as string, rest[0] as string)
          : parts.length === 0
            ? { paths: rootPaths }
            : undefined;
  return body === undefined ? undefined : { body };
}
