import { request } from 'node:https';

export interface Answer<T> {
  status: number;
  body: T;
  headers: Record<string, string | string[] | undefined>;
}

/**
 * The plainest client there is: JSON in, JSON out, one connection a call. A
 * status of 400 or more is an answer, not an error. Tests use it to look at
 * the truth from outside, past the client that they test.
 */
export function callApi<T>(
  api: { url: string; ca: string; token?: string },
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<T>> {
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  };
  if (api.token !== undefined) headers.authorization = `Bearer ${api.token}`;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${api.url}${path}`,
      // No agent: a connection kept from before a restart would fail the next call.
      { method, ca: api.ca, agent: false, timeout: 30_000, headers },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = incoming.headers['content-type']?.includes('json');
          resolve({
            status: incoming.statusCode ?? 0,
            body: (isJson ? JSON.parse(text) : text) as T,
            headers: incoming.headers,
          });
        });
      },
    );
    outgoing.on('timeout', () => {
      outgoing.destroy(new Error(`${method} ${path}: no answer in 30 s`));
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
