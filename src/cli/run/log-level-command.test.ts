import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { logLevelHandlers } from '../../agent/address-api.ts';
import { HttpServer } from '../../base/http-server.ts';
import { type LogLevelSwitch, silentLog } from '../../base/log.ts';
import { agentOperations } from '../../model/agent-api.ts';
import type { Terminal } from '../terminal.ts';
import { registerLogLevel } from './log-level-command.ts';
import { switchLevelOnSignal } from './log-level-signal.ts';

let folder: string;
let server: HttpServer;
let log: LogLevelSwitch;
let written: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cadastre-level-'));
  log = { level: 'info' };
  written = '';
  server = new HttpServer();
  const handlers = logLevelHandlers(log);
  for (const name of ['logLevel', 'setLogLevel'] as const) {
    server.on(agentOperations[name].method, agentOperations[name].path, handlers[name]);
  }
  await server.listen({ socketPath: join(folder, 'agent.sock') });
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function run(...args: string[]): Promise<string> {
  const program = new Command().exitOverride();
  const terminal = {
    env: {},
    write: (text: string) => {
      written += text;
    },
    say: (text: string) => {
      written += `${text}\n`;
    },
  } as unknown as Terminal;
  registerLogLevel(program, terminal);
  await program.parseAsync(['log-level', ...args], { from: 'user' });
  return written;
}

test('an agent says its level, and takes another', async () => {
  const socket = ['--socket', join(folder, 'agent.sock')];
  expect(await run(...socket)).toBe('info\n');
  expect(await run('debug', ...socket)).toBe('info\ndebug\n');
  expect(log.level).toBe('debug');
});

test('a word that is no level is refused, and changes nothing', async () => {
  await expect(run('loud', '--socket', join(folder, 'agent.sock'))).rejects.toMatchObject({
    code: 'BAD_FLAG',
    message: '"loud" is not a log level',
  });
  expect(log.level).toBe('info');
});

test('a process is asked by a signal, and switches to debug and back', async () => {
  const lines: string[] = [];
  const own = { ...silentLog, info: (_: object, text: string) => lines.push(text), level: 'warn' };
  const stop = switchLevelOnSignal(own as never);
  try {
    for (const level of ['debug', 'warn']) {
      const heard = once(process, 'SIGUSR2');
      await run('--pid', `${process.pid}`);
      await heard;
      expect(own.level).toBe(level);
    }
    expect(lines).toEqual([
      'SIGUSR2: the log level is debug now',
      'SIGUSR2: the log level is warn now',
    ]);
  } finally {
    stop();
  }
});

test('a level beside --pid is refused', async () => {
  await expect(run('debug', '--pid', '1')).rejects.toMatchObject({ code: 'BAD_FLAG' });
});
