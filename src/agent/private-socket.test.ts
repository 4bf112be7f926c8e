import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpServer } from '../base/http-server.ts';
import { listenOnSocket } from './private-socket.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'private-socket-'));
  path = join(folder, 'agent.sock');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a second agent does not take the socket of the first', async () => {
  const socket = await listenOnSocket(new HttpServer(), path);
  const { ino } = statSync(path);
  await expect(listenOnSocket(new HttpServer(), path)).rejects.toMatchObject({
    code: 'STATE_LOCKED',
    message: expect.stringContaining(`${path} is in use by process ${process.pid}`),
  });
  expect(statSync(path).ino).toBe(ino);
  await socket.close();
  await (await listenOnSocket(new HttpServer(), path)).close();
});

test('nor that of a program without the lock', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await expect(listenOnSocket(new HttpServer(), path)).rejects.toThrow('a process answers there');
  expect(existsSync(path)).toBe(true);
  await new Promise((resolve) => server.close(resolve));
});

test('the socket of a process that was killed is replaced', async () => {
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`;
  const child = spawn(process.execPath, ['-e', script]);
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(statSync(path).isSocket()).toBe(true);
  await (await listenOnSocket(new HttpServer(), path)).close();
});

test('a file that is no socket is left alone', async () => {
  writeFileSync(path, 'precious');
  await expect(listenOnSocket(new HttpServer(), path)).rejects.toMatchObject({ code: 'BAD_FLAG' });
  expect(readFileSync(path, 'utf8')).toBe('precious');
});
