/** Hostile requests get the same status from both servers, and never break ours. */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/apiserver/apiserver.ts';
import { startApiServer as startReal } from '../parts/apiserver.ts';
import { eventually } from '../world/eventually.ts';
import { crds, widgetCrd, widgets } from './contract/objects.ts';
import { differences } from './hostile-differences.ts';
import { hostileRequests } from './hostile-requests.ts';
import { sendHostile } from './send-hostile.ts';
import { callOn, type Reach } from './server.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'cadastre-hostile-'));
const agent = new Agent({ keepAlive: true });
let ours: ApiServer;
let real: Awaited<ReturnType<typeof startReal>>;

beforeAll(async () => {
  ours = await startApiServer({ dataDir, waitsForDisk: false });
  real = await startReal();
  for (const reach of [ours, real]) {
    await callOn(reach, 'POST', crds, widgetCrd);
    await eventually(async () => {
      expect((await callOn(reach, 'GET', widgets)).status).toBe(200);
    });
  }
});

afterAll(async () => {
  agent.destroy();
  await ours?.stop();
  await real?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

test('every hostile request has the same status on both, but for the differences that are listed', {
  timeout: 300_000,
}, async () => {
  const reach = (of: Reach): Reach => ({ url: of.url, token: of.token, ca: of.ca, agent });
  const unlisted: string[] = [];
  const met = new Set<string>();
  for (const hostile of hostileRequests(1, 700)) {
    const [here, there] = [
      await sendHostile(reach(ours), hostile),
      await sendHostile(reach(real), hostile),
    ];
    // Its internal errors are no example to follow.
    const isKinder = there.status >= 500 && here.status >= 400 && here.status < 500;
    if (here.status === there.status || isKinder) continue;
    const listed = differences.find(({ what }) => what.test(hostile.title));
    if (listed !== undefined && here.status < 500 && here.status > 0) met.add(listed.why);
    else {
      const say = ({ status, text }: typeof here) => `${status} ${text.slice(0, 200)}`;
      unlisted.push(`${hostile.title}\n  real: ${say(there)}\n  ours: ${say(here)}`);
    }
  }
  expect(unlisted.join('\n')).toBe('');
  // One that does not show any more is taken off the list.
  expect(differences.map(({ why }) => why).filter((why) => !met.has(why))).toEqual([]);
  expect((await callOn(ours, 'GET', '/readyz')).body).toBe('ok');
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});
