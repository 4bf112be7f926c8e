import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AgentStatusJson } from '../../agent/agent-status.ts';
import { systemClock } from '../../base/clock.ts';
import { HttpServer } from '../../base/http-server.ts';
import type { Terminal } from '../terminal.ts';
import { registerStatus } from './status-command.ts';

const agent: AgentStatusJson = {
  node: 'master1',
  mode: { routing: 'native', directRoutes: true },
  version: '0.1.0',
  ready: true,
  reason: 'AgentReady',
  detail: 'serving pods from 10.5.113.0/24',
  since: '2024-01-01T00:00:00.000Z',
  kernel: {
    wanted: 2,
    held: 2,
    repaired: 1,
    ownRoutes: ['10.5.113.0/24'],
    refused: [],
    routes: [],
  },
  sessions: [
    {
      peer: 'tor1',
      address: '10.4.94.248',
      asn: 64524,
      state: 'Established',
      announced: [{ prefix: '10.5.113.0/24', nextHop: '10.4.94.32' }],
    },
    {
      peer: 'tor2',
      address: '10.4.94.249',
      asn: 64524,
      state: 'Active',
      lastError: 'connection refused',
      announced: [],
    },
  ],
  unannounced: [],
  findings: [],
};

let folder: string;
let server: HttpServer;
let status: object;
let written: string;
let terminal: Terminal;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cad-status-'));
  server = new HttpServer().on('GET', '/v1/status', () => ({ body: status }));
  await server.listen({ socketPath: join(folder, 'agent.sock') });
  written = '';
  terminal = {
    write: (text) => {
      written += text;
    },
    say: () => undefined,
    readStdin: async () => new Uint8Array(),
    env: {},
    clock: systemClock,
    columns: 100,
    exitCode: 0,
  };
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function run(...words: string[]): Promise<void> {
  const program = new Command().exitOverride();
  registerStatus(program, terminal);
  await program.parseAsync(['status', ...words], { from: 'user' });
}

const lines = ['IPv4: 16/254 allocated from 10.5.113.0/24'];

test('what people know from cilium status, and the sessions', async () => {
  status = { lines, blocks: [], agent };
  await run('--socket', join(folder, 'agent.sock'));
  expect(written).toBe(`Node:     master1
Agent:    Ready  AgentReady: serving pods from 10.5.113.0/24
IPAM:     IPv4: 16/254 allocated from 10.5.113.0/24
Routing:  native, direct node routes
Routes:   2 held, 2 wanted, 1 repaired
BGP:      1/2 sessions established

PEER  ADDRESS      AS     STATE        ANNOUNCED      LAST ERROR
tor1  10.4.94.248  64524  Established  10.5.113.0/24
tor2  10.4.94.249  64524  Active                      connection refused
`);
  expect(terminal.exitCode).toBe(0);
});

test('a block that is not announced is there with its reason', async () => {
  const detail = 'n1 has no IPv6 address (InternalIP) to name to tor1 as next hop';
  const unannounced: AgentStatusJson['unannounced'] = [
    { cidr: 'fd00::/64', peer: 'tor1', reason: 'NoNextHop', detail },
  ];
  status = { lines, blocks: [], agent: { ...agent, sessions: [], unannounced } };
  await run('--socket', join(folder, 'agent.sock'));
  expect(written).toContain(`
NOT ANNOUNCED  TO PEER  REASON     DETAIL
fd00::/64      tor1     NoNextHop  ${detail}
`);
});

test('an agent that waits says for what, and the exit code is 1', async () => {
  const waiting = { ready: false, reason: 'WaitingForBlocks', detail: 'no NodeBlock yet' };
  status = { lines: [], blocks: [], agent: { ...agent, ...waiting, sessions: [] } };
  await run('--socket', join(folder, 'agent.sock'));
  expect(written).toContain('Agent:    Not ready  WaitingForBlocks: no NodeBlock yet\n');
  expect(written).toContain('IPAM:     no block\n');
  expect(terminal.exitCode).toBe(1);
});

test('a node that leaves says how far it is', async () => {
  const steps = [
    { step: 'Asked' as const, at: agent.since, detail: 'the node is to be drained' },
    { step: 'Acknowledged' as const, at: agent.since, detail: 'by 1 of 2 routers' },
  ];
  status = { lines, blocks: [], agent: { ...agent, drain: { steps } } };
  await run('--socket', join(folder, 'agent.sock'));
  expect(written).toContain('Drain:    Acknowledged: by 1 of 2 routers\n');
});

test('where no agent runs it says what to do', async () => {
  await expect(run('--socket', join(folder, 'none.sock'))).rejects.toMatchObject({
    code: 'AGENT_UNREACHABLE',
    remedy: 'Run this on a node where cadastre agent runs, or name its socket with --socket.',
  });
});
