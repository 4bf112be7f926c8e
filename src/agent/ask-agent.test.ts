import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { askAgent } from './ask-agent.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-ask-'));
afterAll(() => rmSync(dir, { recursive: true }));
const path = (name: string) => join(dir, name);

const ask = (socketPath: string) =>
  askAgent(socketPath, 'GET', '/v1/status').then(
    () => 'answered',
    ({ code, message, remedy }) => ({ code, message, remedy }),
  );

test('no socket, a file in its place, and a way through a file', async () => {
  writeFileSync(path('file'), '');
  for (const [where, why] of [
    ['nothing', 'there is no such socket'],
    ['file', 'nobody listens there'],
    ['file/x', 'there is no such socket'],
  ] as const) {
    expect(await ask(path(where))).toEqual({
      code: 'AGENT_UNREACHABLE',
      message: `the agent at ${path(where)} does not answer: ${why}`,
      remedy: 'Run this on a node where cadastre agent runs, or name its socket with --socket.',
    });
  }
});

test('an agent that hangs up', async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(path('gone'), resolve));
  expect(await ask(path('gone'))).toMatchObject({
    message: expect.stringContaining('it closed the connection before its answer was whole'),
    remedy: 'Ask again: it ended or was restarted.',
  });
  await new Promise((resolve) => server.close(resolve));
});
