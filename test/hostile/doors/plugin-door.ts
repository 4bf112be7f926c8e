/**
 * The CNI plugin, built with the compiler's sanitizers: any environment, any standard input,
 * any answer of an agent. It must end by itself, and what it prints must be JSON.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureSanitizedShim, ensureShim } from '../../../scripts/shim.mjs';
import type { Random } from '../../soak/bgp-codec/mutator.ts';
import { damagedBytes, damagedText } from '../damage.ts';
import { inLanes, Tally } from '../tally.ts';

const config = '{"cniVersion":"1.0.0","name":"pods","type":"cadastre","ipam":{"type":"x"}}';
const commands = ['ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION', 'BREW', ''];
const variables = {
  CNI_CONTAINERID: 'c0ffee',
  CNI_NETNS: '/var/run/netns/x',
  CNI_IFNAME: 'eth0',
  CNI_ARGS: 'K8S_POD_NAME=web;K8S_POD_UID=u',
  CNI_PATH: '/opt/cni/bin',
};
const answer = (body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

export async function attackPlugin(random: Random, count: number): Promise<Tally> {
  const sanitized = ensureSanitizedShim();
  const tally = new Tally(sanitized === undefined ? 'plugin, plain' : 'plugin');
  const plugin = sanitized ?? ensureShim();
  if (plugin === undefined) {
    tally.count('no C compiler here');
    return tally;
  }
  const folder = mkdtempSync(join(tmpdir(), 'cadastre-hostile-plugin-'));
  // An agent that is not one: it says anything, and hangs up.
  const agent = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.resume();
    socket.end(damagedBytes(Buffer.from(answer('{"ips":[]}')), random));
  });
  const socketPath = join(folder, 'agent.sock');
  await new Promise<void>((resolve) => agent.listen(socketPath, resolve));
  await inLanes(Array.from({ length: count }), 4, async () => {
    const maybe = (text: string) => (random.below(2) === 0 ? text : damagedText(text, random));
    const env = Object.fromEntries(
      Object.entries({
        ...variables,
        CNI_COMMAND: random.pick(commands),
        CADASTRE_SOCKET: random.below(4) === 0 ? join(folder, 'nobody') : socketPath,
        CADASTRE_CNI_SPOOL: join(folder, 'spool'),
      })
        .filter(() => random.below(12) > 0)
        // A variable of the environment ends at its first zero.
        .map(([name, text]) => [
          name,
          name.startsWith('CNI_') ? maybe(text).replaceAll('\0', '') : text,
        ]),
    );
    const outcome = await run(plugin, env, maybe(config));
    tally.count(outcome.exit === null ? String(outcome.signal) : `exit ${outcome.exit}`);
    const about = () => `${JSON.stringify(env).slice(0, 400)}: ${outcome.stderr.slice(0, 800)}`;
    if (outcome.exit === null || /Sanitizer|runtime error/.test(outcome.stderr)) {
      tally.breaks(`${outcome.signal ?? 'a fault in memory'} with ${about()}`);
    }
    // What it says itself; what an agent said is passed on as it is, if it was whole.
    if (outcome.exit === 1 && outcome.stdout.includes('"msg"') && !isJson(outcome.stdout)) {
      tally.breaks(`no JSON: ${outcome.stdout.slice(0, 200)} with ${about()}`);
    }
  });
  await new Promise((resolve) => agent.close(resolve));
  rmSync(folder, { recursive: true });
  return tally;
}

interface Ended {
  exit: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

function run(plugin: string, env: Record<string, string>, stdin: string): Promise<Ended> {
  return new Promise((resolve) => {
    // It lives for milliseconds and frees nothing.
    const sanitizer = { ASAN_OPTIONS: 'detect_leaks=0' };
    const child = spawn(plugin, [], { env: { ...env, ...sanitizer }, cwd: tmpdir() });
    const told = { stdout: '', stderr: '' };
    child.stdout.on('data', (piece) => {
      told.stdout += piece;
    });
    child.stderr.on('data', (piece) => {
      told.stderr += piece;
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(stdin);
    child.on('close', (exit, signal) => resolve({ ...told, exit, signal }));
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
