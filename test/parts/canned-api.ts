/**
 * An API server of canned answers, for what only looks: a path that is not there
 * is a 404, as for a resource that nobody registered; nothing can be written.
 * Every request is kept, so that a test can say what was asked for, and that it
 * was only asked.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sendJson, sendStatus } from '../../src/kube/testing/tiny-api.ts';

/** A number refuses with that status; an array is a list, one page after the other. */
export type Canned = object | number | readonly (readonly object[])[];

export class CannedApi {
  /** By path; may be changed at any time. */
  answers: Record<string, Canned>;
  /** `GET /api/v1/nodes`, in order. */
  readonly asked: string[] = [];
  readonly #server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://canned');
    this.asked.push(`${request.method} ${pathname}`);
    const answer = request.method === 'GET' ? (this.answers[pathname] ?? 404) : 404;
    if (typeof answer === 'number') sendStatus(response, answer, reasons[answer] ?? 'Nope');
    else if (!Array.isArray(answer)) sendJson(response, 200, answer);
    else {
      const page = Number(searchParams.get('continue') ?? 0);
      const token = page + 1 < answer.length ? String(page + 1) : '';
      const metadata = { resourceVersion: '7', continue: token };
      sendJson(response, 200, { metadata, items: answer[page] ?? [] });
    }
  });
  readonly #dir = mkdtempSync(join(tmpdir(), 'cadastre-canned-'));

  private constructor(answers: Record<string, Canned>) {
    this.answers = answers;
  }

  static async start(answers: Record<string, Canned> = {}): Promise<CannedApi> {
    const api = new CannedApi(answers);
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    const { port } = api.#server.address() as AddressInfo;
    const config = {
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'here' } }],
      clusters: [{ name: 'here', cluster: { server: `http://127.0.0.1:${port}` } }],
    };
    writeFileSync(api.kubeconfig, JSON.stringify(config));
    return api;
  }

  get kubeconfig(): string {
    return join(this.#dir, 'kubeconfig');
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

const reasons: Readonly<Record<number, string>> = { 403: 'Forbidden', 404: 'NotFound' };
