/** Sends a hostile request and gives what came back: of a watch that is answered, its beginning. */
import { request } from 'node:https';
import type { HostileRequest } from './hostile-requests.ts';
import type { Reach } from './server.ts';

export interface Verdict {
  /** 0: the connection broke. */
  status: number;
  text: string;
}

/** After what it needs was made. */
export async function sendHostile(reach: Reach, hostile: HostileRequest): Promise<Verdict> {
  for (const { path, body } of hostile.before) {
    const made = await send(reach, { method: 'POST', path, body: JSON.stringify(body) });
    if (made.status !== 201) throw new Error(`${path}: ${made.status} ${made.text}`);
  }
  return send(reach, hostile);
}

type Sent = Pick<HostileRequest, 'method' | 'path' | 'type' | 'body'>;

function send(reach: Reach, { method, path, type, body }: Sent): Promise<Verdict> {
  const headers = {
    authorization: `Bearer ${reach.token}`,
    accept: 'application/json',
    'user-agent': 'hostile/1.0',
    ...(body === undefined
      ? {}
      : { 'content-type': type ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
  };
  const { ca, agent = false } = reach;
  return new Promise((resolve) => {
    const broken = (error: Error) => resolve({ status: 0, text: error.message });
    const outgoing = request(`${reach.url}${path}`, { method, headers, ca, agent }, (incoming) => {
      const status = incoming.statusCode ?? 0;
      const isWatch = /[?&]watch=/.test(path) && incoming.headers['content-length'] === undefined;
      if (isWatch && status === 200) {
        resolve({ status, text: '' });
        outgoing.destroy();
        return;
      }
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('error', broken);
      incoming.on('end', () => resolve({ status, text: Buffer.concat(chunks).toString() }));
    });
    outgoing.on('error', broken);
    outgoing.end(body);
  });
}
