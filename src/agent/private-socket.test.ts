import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HttpServer } from '../base/http-server.ts';
import { claimSocket, type PrivateSocket } from './private-socket.ts';

async function listenOnSocket(server: HttpServer, at: string): Promise<PrivateSocket> {
  const socket = await claimSocket(at);
  await socket.listen(server);
  return socket;
}

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

describe('what is no socket is left alone, and nothing is left beside it', () => {
  const refused = { code: 'BAD_FLAG', message: expect.stringContaining('is no socket') };

  test.each<[string, () => void]>([
    ['a file', () => writeFileSync(path, 'precious')],
    ['an empty file', () => writeFileSync(path, '')],
    ['a folder', () => mkdirSync(path)],
    ['a FIFO', () => execFileSync('mkfifo', [path])],
    ['a link to a file', () => symlinkSync(join(folder, 'file'), path)],
    ['a link to nothing', () => symlinkSync(join(folder, 'nothing'), path)],
  ])('%s', async (_, make) => {
    writeFileSync(join(folder, 'file'), 'precious');
    make();
    const before = [readdirSync(folder), lstatSync(path)];
    await expect(listenOnSocket(new HttpServer(), path)).rejects.toMatchObject(refused);
    expect([readdirSync(folder), lstatSync(path)]).toEqual(before);
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('precious');
  });

  test('a link to the socket of somebody who lives', async () => {
    const real = join(folder, 'other.sock');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(real, resolve));
    symlinkSync(real, path);
    await expect(listenOnSocket(new HttpServer(), path)).rejects.toMatchObject(refused);
    expect(lstatSync(real).isSocket()).toBe(true);
    await new Promise((resolve) => server.close(resolve));
  });

  test('a path below a file', async () => {
    writeFileSync(path, 'precious');
    await expect(listenOnSocket(new HttpServer(), join(path, 'x'))).rejects.toMatchObject({
      code: 'BAD_FLAG',
      message: expect.stringContaining('ENOTDIR'),
    });
  });
});

test('nor is a file beside it overwritten that is no lock', async () => {
  writeFileSync(`${path}.lock`, 'precious');
  await expect(listenOnSocket(new HttpServer(), path)).rejects.toMatchObject({
    code: 'STATE_NOT_WRITTEN',
    message: expect.stringContaining(`${path}.lock is no lock file`),
  });
  expect(readFileSync(`${path}.lock`, 'utf8')).toBe('precious');
  expect(existsSync(path)).toBe(false);
});

test('of many that start at once one gets it', async () => {
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, () => listenOnSocket(new HttpServer(), path)),
  );
  const got = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(got).toHaveLength(1);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await got[0]?.close();
});
