/**
 * The plugin on the host, cni/shim/cadastre-cni.c, as a child process, with a
 * scripted agent on a real Unix socket.
 */
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ensureShim } from '../scripts/shim.mjs';
import { answerSeconds, machineMonotonicMs } from '../src/agent/cni/cni-call.ts';
import { readCniInput } from '../src/agent/cni/cni-route.ts';
import { spoolName } from '../src/agent/cni/del-spool.ts';
import { ReadyMark, readyGraceMs } from '../src/agent/cni/ready-mark.ts';

const plugin = ensureShim();
if (plugin === undefined) test.skip('there is no C compiler here', () => undefined);

const config = '{"cniVersion":"1.0.0","name":"pods","type":"cadastre"}';
const pod = {
  CNI_CONTAINERID: 'c0ffee',
  CNI_NETNS: '/var/run/netns/a b',
  CNI_IFNAME: 'eth0',
  CNI_ARGS: 'K8S_POD_NAME=web;X=ü\r\nEvil: 1%',
  CNI_PATH: '/opt/cni/bin',
};

describe.skipIf(plugin === undefined)('the plugin', () => {
  let folder: string;
  let agent: Server | undefined;
  let heard: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cni-plugin-'));
    heard = '';
  });
  afterEach(async () => {
    if (agent !== undefined) await new Promise((resolve) => agent?.close(resolve));
    agent = undefined;
    rmSync(folder, { recursive: true });
  });

  /** An agent that says these bytes once it has heard a whole request, and hangs up. */
  async function agentSays(bytes: string): Promise<void> {
    agent = createServer((socket) => {
      socket.on('error', () => undefined);
      // A piece may end in the middle of a character.
      socket.setEncoding('utf8');
      socket.on('data', (piece) => {
        heard += piece;
        const end = heard.indexOf('\r\n\r\n');
        const length = Number(/content-length: (\d+)/i.exec(heard)?.[1]);
        if (end > 0 && Buffer.byteLength(heard.slice(end + 4)) >= length) socket.end(bytes);
      });
    });
    await new Promise<void>((resolve) => agent?.listen(join(folder, 'agent.sock'), resolve));
  }

  const http = (status: number, body: string) =>
    `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

  interface Outcome {
    exit: number | null;
    stdout: string;
    stderr: string;
  }

  function call(cni: string, more: Record<string, string> = {}, stdin = config): Promise<Outcome> {
    return new Promise((resolve) => {
      const env = {
        CADASTRE_SOCKET: join(folder, 'agent.sock'),
        CADASTRE_CNI_SPOOL: join(folder, 'spool'),
        CNI_COMMAND: cni,
        ...pod,
        ...more,
      };
      const child = spawn(plugin!, [], { env });
      const outcome: Outcome = { exit: null, stdout: '', stderr: '' };
      child.stdout.on('data', (piece) => {
        outcome.stdout += piece;
      });
      child.stderr.on('data', (piece) => {
        outcome.stderr += piece;
      });
      child.stdin.on('error', () => undefined);
      child.stdin.end(stdin);
      child.on('close', (exit) => resolve({ ...outcome, exit }));
    });
  }

  const spooled = () =>
    existsSync(join(folder, 'spool')) ? readdirSync(join(folder, 'spool')) : [];

  /** What the agent makes of a request's bytes. */
  function understood(request: string) {
    const [head = '', body = ''] = request.split(/\r\n\r\n([\s\S]*)/);
    const lines = head.split('\r\n').slice(1);
    const headers = new Map(
      lines.map((line) => line.split(/: (.*)/).slice(0, 2) as [string, string]),
    );
    const lower = new Map([...headers].map(([name, value]) => [name.toLowerCase(), value]));
    expect(lower.size, 'a value became a header').toBe(11);
    return readCniInput((name) => lower.get(name), body);
  }

  const away = async (outcome: Promise<Outcome>) => {
    const { exit, stdout } = await outcome;
    const { details, msg, ...rest } = JSON.parse(stdout) as Record<string, unknown>;
    expect(details).toMatch(/^[a-zA-Z]/);
    expect(msg).toBe(`the cadastre agent at ${join(folder, 'agent.sock')} does not answer`);
    return { exit, ...rest };
  };
  const code11 = {
    exit: 1,
    cniVersion: '1.0.0',
    code: 11,
  };

  test('VERSION needs no agent', async () => {
    const { exit, stdout } = await call('VERSION', {}, '{"cniVersion":"1.1.0"}');
    expect(exit).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      cniVersion: '1.1.0',
      supportedVersions: ['0.3.1', '0.4.0', '1.0.0', '1.1.0'],
    });
  });

  test('hands over the variables and standard input, whatever is in them', async () => {
    await agentSays(http(200, '{"ips":[]}\n'));
    expect(await call('ADD')).toEqual({ exit: 0, stdout: '{"ips":[]}\n', stderr: '' });
    expect(understood(heard)).toEqual({
      command: 'ADD',
      containerId: pod.CNI_CONTAINERID,
      netns: pod.CNI_NETNS,
      ifname: pod.CNI_IFNAME,
      args: pod.CNI_ARGS,
      plugin: 'cadastre',
      giveUpAtMs: expect.any(Number),
      stdin: config,
    });
    const { giveUpAtMs = 0 } = understood(heard);
    const leftMs = giveUpAtMs - machineMonotonicMs();
    expect(leftMs).toBeLessThanOrEqual(answerSeconds * 1000);
    expect(leftMs).toBeGreaterThan(0);
  });

  test('its words are JSON, whatever the path of the socket is', async () => {
    const path = join(folder, 'a"\\\u001b.sock');
    const { stdout } = await call('ADD', { CADASTRE_SOCKET: path });
    expect(JSON.parse(stdout)).toMatchObject({
      code: 11,
      msg: `the cadastre agent at ${folder}/a"\\?.sock does not answer`,
      details: 'there is no such socket: no agent runs on this node',
    });
  });

  test('a long configuration arrives whole, and so does a long answer', async () => {
    const long = JSON.stringify({ x: 'ä'.repeat(300_000) });
    await agentSays(http(200, long));
    expect((await call('ADD', {}, long)).stdout).toBe(long);
    expect(understood(heard).stdin).toBe(long);
  });

  test("the agent's error is the plugin's", async () => {
    await agentSays(http(422, '{"code":7}\n'));
    expect(await call('ADD')).toEqual({ exit: 1, stdout: '{"code":7}\n', stderr: '' });
  });

  test('an empty success prints nothing', async () => {
    await agentSays(http(200, ''));
    expect(await call('DEL')).toEqual({ exit: 0, stdout: '', stderr: '' });
    expect(spooled()).toEqual([]);
  });

  test.each(['ADD', 'CHECK', 'GC'])('%s without an agent: try again later', async (cni) => {
    expect(await away(call(cni))).toEqual(code11);
  });

  test('a configuration that cannot be read is answered in the newest version', async () => {
    expect(await away(call('ADD', {}, 'not JSON'))).toEqual({ ...code11, cniVersion: '1.1.0' });
  });

  test('STATUS without an agent: not available', async () => {
    expect(await away(call('STATUS'))).toEqual({ ...code11, code: 50 });
  });

  test('STATUS while the agent is restarted: well, for a minute after it could last serve', async () => {
    const mark = (ageMs: number) =>
      new ReadyMark(join(folder, 'agent.sock'), { wallMs: () => Date.now() - ageMs }).touch();
    mark(readyGraceMs / 2);
    expect(await call('STATUS')).toMatchObject({ exit: 0, stdout: '' });
    expect(await away(call('ADD'))).toEqual(code11);
    for (const ageMs of [readyGraceMs + 1_000, -3_600_000]) {
      mark(ageMs);
      expect(await away(call('STATUS'))).toEqual({ ...code11, code: 50 });
    }
  });

  test('a dead socket, an answer that breaks off, one that is no HTTP, an agent that fails', async () => {
    writeFileSync(join(folder, 'agent.sock'), '');
    expect(await away(call('ADD'))).toEqual(code11);
    rmSync(join(folder, 'agent.sock'));
    for (const bytes of [
      '',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}',
      'hello\r\n\r\n',
      http(500, '{}'),
    ]) {
      await agentSays(bytes);
      expect(await away(call('ADD')), bytes).toEqual(code11);
      await new Promise((resolve) => agent?.close(resolve));
      agent = undefined;
      heard = '';
    }
  });

  test('a DEL without an agent is remembered, as the request it would have been', async () => {
    const { exit, stdout, stderr } = await call('DEL');
    expect([exit, stdout]).toEqual([0, '']);
    expect(stderr).toMatch(/does not answer: .*; this DEL is kept on disk until it does\n$/);
    const name = spoolName(pod.CNI_CONTAINERID, pod.CNI_IFNAME);
    expect(spooled()).toEqual([name]);
    expect(understood(readFileSync(join(folder, 'spool', name), 'utf8'))).toMatchObject({
      command: 'DEL',
      containerId: 'c0ffee',
      args: pod.CNI_ARGS,
      stdin: config,
    });
  });

  test('a DEL is remembered even where no agent has ever been', async () => {
    const spool = join(folder, 'var/lib/cadastre/cni-spool');
    const { exit, stdout } = await call('DEL', { CADASTRE_CNI_SPOOL: spool });
    expect([exit, stdout]).toEqual([0, '']);
    expect(readdirSync(spool)).toHaveLength(1);
    expect(statSync(spool).mode & 0o777).toBe(0o700);
  });

  test('a DEL whose answer breaks off is remembered; one that is refused is not', async () => {
    await agentSays('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}');
    expect((await call('DEL')).exit).toBe(0);
    expect(spooled()).toHaveLength(1);
    await new Promise((resolve) => agent?.close(resolve));
    rmSync(join(folder, 'spool'), { recursive: true });
    heard = '';
    await agentSays(http(422, '{"code":100}'));
    expect((await call('DEL')).exit).toBe(1);
    expect(spooled()).toEqual([]);
  });

  test('a DEL that cannot be remembered fails, so that the runtime asks again', async () => {
    writeFileSync(join(folder, 'spool'), 'a file where the folder should be');
    expect(await away(call('DEL'))).toEqual(code11);
  });

  test.each([
    { CNI_CONTAINERID: '../../etc/x' },
    { CNI_CONTAINERID: '' },
    { CNI_IFNAME: '../eth0' },
  ])('%j is never made a file name', async (bad) => {
    expect(await away(call('DEL', bad))).toEqual(code11);
    expect(readdirSync(folder).filter((name) => name !== 'spool')).toEqual([]);
    expect(spooled()).toEqual([]);
  });
});
