import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { until } from '../../test/parts/test-api.ts';
import type { AgentStatusJson } from '../agent/agent-status.ts';
import { askAgent } from '../agent/ask-agent.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { loadTopology } from '../lab/topologies.ts';
import { siteOfTopology } from './site-of-topology.ts';
import { startUp, type Up } from './up.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'cad-up-'));
let up: Up | undefined;
afterEach(async () => {
  await up?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

test('a site with both families: every router has the blocks of both, by the node addresses of each', async () => {
  up = await startUp({
    dataDir,
    site: siteOfTopology(loadTopology('dual-stack').topology),
    host: '127.0.0.1',
    port: 0,
    podEveryMs: 60_000,
    program: 'cadastre',
    version: 'test',
    clock: systemClock,
    log: silentLog,
    onProgress: () => undefined,
  });
  const { demo } = up;
  const nextHops = () =>
    demo.routers().map(({ held }) => held.map(({ nextHop }) => nextHop).sort());
  await until('every route is there', () => nextHops().every(({ length }) => length === 4), 30_000);
  const both = ['10.4.94.11', '10.4.94.12', 'fd00:94::11', 'fd00:94::12'];
  expect(nextHops()).toEqual([both, both]);
  const socket = join(dataDir, 'nodes/n1/agent.sock');
  const unannounced = async () => {
    const status = await askAgent(socket, 'GET', '/v1/status');
    return (status as { agent: AgentStatusJson }).agent.unannounced;
  };
  await expect.poll(unannounced).toEqual([]);
}, 60_000);
