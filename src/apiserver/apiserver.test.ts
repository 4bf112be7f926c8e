import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from './apiserver.ts';

const dir = mkdtempSync(join(tmpdir(), 'embedded-apiserver-'));
let api: ApiServer;

beforeAll(async () => {
  api = await startApiServer({ dataDir: dir });
});

afterAll(async () => {
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});

interface Answer {
  status: number;
  body: { kind?: string; message?: string; metadata?: Record<string, unknown> };
}

function call(method: string, path: string, body?: unknown, token = api.token): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    };
    const outgoing = request(`${api.url}${path}`, { method, headers, ca: api.ca }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: incoming.statusCode ?? 0, body: JSON.parse(text) });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const node = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });

describe('the embedded API server', () => {
  test('refuses whoever has no token', async () => {
    expect(await call('GET', '/api/v1/nodes', undefined, 'guess')).toMatchObject({
      status: 401,
      body: { kind: 'Status', reason: 'Unauthorized' },
    });
  });

  test('creates once, and keeps what it has over a restart, with its address and token', async () => {
    expect((await call('POST', '/api/v1/nodes', node('kept'))).status).toBe(201);
    expect((await call('POST', '/api/v1/nodes', node('kept'))).status).toBe(409);
    const before = await call('GET', '/api/v1/nodes/kept');
    const { port, token } = api;
    await api.stop();
    await api.stop();
    api = await startApiServer({ dataDir: dir, port });
    expect(api.token).toBe(token);
    expect(await call('GET', '/api/v1/nodes/kept')).toEqual(before);
  });

  test('is alone in its folder', async () => {
    await expect(startApiServer({ dataDir: dir })).rejects.toThrow(/is in use by process \d+/);
  });

  test('says which address it could not get', async () => {
    const other = mkdtempSync(join(tmpdir(), 'embedded-apiserver-'));
    await expect(startApiServer({ dataDir: other, port: api.port })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${api.port}`,
    );
    // And gives the folder free again.
    const second = await startApiServer({ dataDir: other });
    await second.stop();
    rmSync(other, { recursive: true, force: true });
  });
});
