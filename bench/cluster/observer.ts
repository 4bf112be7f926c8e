import type { ClientRequest } from 'node:http';
import { get } from 'node:https';
import type { Target } from './load.ts';

/**
 * Watches one collection and counts the events that carry a mark, without
 * parsing them: the same light observer for every contender, so that what it
 * costs the API server weighs on all alike. On a crowded machine the server
 * drops a watcher that cannot keep up; it goes on from the last version seen.
 */
export interface Observer {
  count(): number;
  /** When the count was reached, by performance.now(). */
  reached(count: number, timeoutMs: number): Promise<number>;
  close(): void;
}

export async function observe(target: Target, path: string, mark: string): Promise<Observer> {
  const options = {
    ca: target.ca,
    headers: { authorization: `Bearer ${target.token}` },
    agent: false,
  } as const;
  let version = await currentVersion(`${target.url}${path}?limit=1`, options);
  let count = 0;
  let lastMs = 0;
  let isClosed = false;
  let request: ClientRequest;
  const follow = () => {
    let rest = '';
    const query = `watch=true&resourceVersion=${version}&timeoutSeconds=3000`;
    request = get(`${target.url}${path}?${query}`, options, (answer) => {
      if (answer.statusCode !== 200) throw new Error(`${path}: watch: ${answer.statusCode}`);
      answer.setEncoding('latin1');
      answer.on('error', () => {});
      answer.on('close', () => isClosed || follow());
      answer.on('data', (piece: string) => {
        const lines = (rest + piece).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          if (line.includes(mark)) count += 1;
          version = /"resourceVersion":"(\d+)"/.exec(line)?.[1] ?? version;
        }
        lastMs = performance.now();
      });
    });
    request.on('error', () => {});
  };
  follow();
  return {
    count: () => count,
    async reached(wanted, timeoutMs) {
      const deadline = performance.now() + timeoutMs;
      while (count < wanted && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      if (count < wanted) throw new Error(`${path}: saw ${count} of ${wanted} in ${timeoutMs} ms`);
      return lastMs;
    },
    close() {
      isClosed = true;
      request.destroy();
    },
  };
}

function currentVersion(url: string, options: object): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, options, (answer) => {
      let text = '';
      answer.on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () => resolve(JSON.parse(text).metadata.resourceVersion));
    }).on('error', reject);
  });
}
