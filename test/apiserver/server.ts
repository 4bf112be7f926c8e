/** The two servers behind one face, for cases that must hold on both. */
import { mkdtempSync, rmSync } from 'node:fs';
import { type Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServer as startEmbedded } from '../../src/apiserver/apiserver.ts';
import { startApiServer as startReal } from '../parts/apiserver.ts';
import { type KubectlAnswer, kubectl } from '../parts/kubectl.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of any kind, looked into by the cases
export type Body = any;

export interface Answer {
  status: number;
  body: Body;
  headers: Record<string, string | string[] | undefined>;
}

export interface CallOptions {
  type?: string;
  accept?: string;
  token?: string;
  agent?: string;
}

export interface Watching {
  /** Every line so far. */
  readonly events: { type: string; object: Body }[];
  /** Waits until there are so many; bookmarks count. */
  until(count: number): Promise<{ type: string; object: Body }[]>;
  /** Resolves when the server ends it. */
  readonly ended: Promise<void>;
  stop(): void;
}

export interface Server {
  readonly name: 'embedded' | 'real';
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  watch(path: string, options?: CallOptions): Promise<Watching>;
  kubectl(args: string[], stdin?: string, env?: Record<string, string>): Promise<KubectlAnswer>;
  kubeconfigPath: string;
  stop(): Promise<void>;
}

/** What it takes to talk to a server. */
export interface Reach {
  url: string;
  token: string;
  ca: string;
  /** Connections to be kept; a new one for each call if there is none. */
  agent?: Agent;
}

interface WholeReach extends Reach {
  kubeconfigPath: string;
  dir: string;
}

/** `hasKubelets`: pods get the token of their service account, and end when a kubelet says so. */
export async function startServer(
  name: 'embedded' | 'real',
  { hasKubelets = false } = {},
): Promise<Server> {
  if (name === 'real') {
    const api = await startReal({ needsServiceAccounts: hasKubelets });
    return serverAt(name, api, () => api.stop());
  }
  const dir = mkdtempSync(join(tmpdir(), 'cadastre-embedded-'));
  const api = await startEmbedded({ dataDir: dir, hasKubelets });
  return serverAt(name, { ...api, dir }, async () => {
    await api.stop();
    rmSync(dir, { recursive: true, force: true });
  });
}

function serverAt(name: Server['name'], reach: WholeReach, stop: () => Promise<void>): Server {
  return {
    name,
    kubeconfigPath: reach.kubeconfigPath,
    call: (method, path, body, options) => callOn(reach, method, path, body, options),
    watch: (path, options) => watchOn(reach, path, options),
    kubectl: (args, stdin, env) =>
      kubectl(reach, args, { ...(stdin === undefined ? {} : { stdin }), ...(env && { env }) }),
    stop,
  };
}

function headersOf(
  reach: Reach,
  method: string,
  options: CallOptions,
  body: string | Buffer | undefined,
) {
  const type =
    options.type ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
  return {
    authorization: `Bearer ${options.token ?? reach.token}`,
    accept: options.accept ?? 'application/json',
    'user-agent': options.agent ?? 'contract/1.0',
    ...(body === undefined
      ? {}
      : // Node sends the body of a DELETE only to whom its length was told.
        { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
  };
}

export function callOn(
  reach: Reach,
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Answer> {
  const isPlain = typeof body === 'string' || Buffer.isBuffer(body) || body === undefined;
  const text = isPlain ? body : JSON.stringify(body);
  const headers = headersOf(reach, method, options, text);
  return new Promise((resolve, reject) => {
    const sent = {
      method,
      headers,
      ca: reach.ca,
      agent: reach.agent ?? false,
      timeout: 30_000,
    } as const;
    const outgoing = request(`${reach.url}${path}`, sent, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const answer = Buffer.concat(chunks).toString();
        const isJson = /^[[{]/.test(answer);
        resolve({
          status: incoming.statusCode ?? 0,
          body: isJson ? JSON.parse(answer) : answer,
          headers: incoming.headers,
        });
      });
    });
    outgoing.on('timeout', () =>
      outgoing.destroy(new Error(`${method} ${path}: no answer in 30 s`)),
    );
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

export function watchOn(reach: Reach, path: string, options: CallOptions = {}): Promise<Watching> {
  const headers = headersOf(reach, 'GET', options, undefined);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${reach.url}${path}`,
      { headers, ca: reach.ca, agent: false },
      (incoming) => {
        const events: { type: string; object: Body }[] = [];
        let rest = '';
        let wake = () => {};
        incoming.setEncoding('utf8');
        incoming.on('data', (piece: string) => {
          const lines = (rest + piece).split('\n');
          rest = lines.pop() as string;
          for (const line of lines) if (line !== '') events.push(JSON.parse(line));
          wake();
        });
        const ended = new Promise<void>((end) => incoming.on('close', end));
        incoming.on('error', () => {});
        resolve({
          events,
          ended,
          stop: () => outgoing.destroy(),
          async until(count) {
            const deadline = performance.now() + 30_000;
            while (events.length < count) {
              if (performance.now() > deadline) {
                throw new Error(`${events.length} of ${count} events: ${JSON.stringify(events)}`);
              }
              await new Promise<void>((next) => {
                wake = next;
                setTimeout(next, 250);
              });
            }
            return events.slice(0, count);
          },
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}
