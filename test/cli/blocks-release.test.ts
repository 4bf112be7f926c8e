/** `cadastre blocks release`: a person is the witness, on an API server in this process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/apiserver/apiserver.ts';
import { silentLog } from '../../src/base/log.ts';
import { fixedCredential } from '../../src/kube/access.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { ensureCrds } from '../../src/kube/crds.ts';
import { crds } from '../../src/model/crds.ts';
import { writeBlock } from '../../src/model/node-block.ts';
import { nodeBlocks, nodes } from '../../src/model/resources.ts';
import { at } from '../register/objects.ts';
import { nodeBody } from '../world/cluster.ts';
import type { BlockObject, NodeObject } from '../world/objects.ts';
import { nowText, run } from './collecting-terminal.ts';

let api: ApiServer;
let client: KubeClient;
let kubeconfig: string;
const dir = mkdtempSync(join(tmpdir(), 'cadastre-release-'));

beforeAll(async () => {
  api = await startApiServer({ dataDir: join(dir, 'data'), waitsForDisk: false });
  const { url: server, ca, token } = api;
  kubeconfig = api.kubeconfigPath;
  const credentials = fixedCredential({ authorization: `Bearer ${token}` });
  client = new KubeClient({
    server,
    tls: { ca },
    credentials,
    namespace: 'default',
    origin: 'the test',
  });
  await ensureCrds(client, crds, silentLog);
}, 60_000);
afterAll(async () => {
  await client.close();
  await api.stop();
  rmSync(dir, { recursive: true, force: true });
});

const release = (cidr: string, why = 'powered off') =>
  run(['blocks', 'release', cidr, '--machine-is-off', why, '--kubeconfig', kubeconfig]);

const makeBlock = async (cidr: string, nodeName: string, spec: object = {}) => {
  const nodeUid = (await client.get<NodeObject>(nodes, nodeName).catch(() => undefined))?.metadata
    .uid;
  const body = writeBlock({ prefix: at(cidr), pool: 'p', nodeName, nodeUid: nodeUid ?? 'gone' });
  await client.create(nodeBlocks, { ...body, spec: { ...(body.spec as object), ...spec } });
};
const releasedOf = async (name: string) =>
  (await client.get<BlockObject>(nodeBlocks, name)).spec.released;

test('the word is written into the block of a node that is gone, with who and why', async () => {
  const coolingSince = nowText;
  await makeBlock('10.1.0.0/24', 'gone', { phase: 'Cooling', coolingSince });
  await makeBlock('10.1.1.0/24', 'gone');
  for (const cidr of ['10.1.0.0/24', '10.1.1.0/24']) {
    const { code, stderr } = await release(cidr);
    expect([code, stderr]).toEqual([
      0,
      `${cidr}: recorded that the machine of gone is off; the operator frees the block when its cool-down is over\n`,
    ]);
  }
  expect(await releasedOf('10-1-0-0-24')).toEqual({
    by: 'Administrator',
    at: '2026-02-01T12:00:00.000Z',
    detail: 'powered off',
  });
  expect((await releasedOf('10-1-1-0-24'))?.by).toBe('Administrator');
  expect((await release('10.1.0.0/24')).stderr).toMatch(/has a witness already: Administrator/);
});

test('a block whose Node is there and Ready is not released by a word', async () => {
  await client.create(nodes, nodeBody('alive', {}));
  await makeBlock('10.2.0.0/24', 'alive');
  const { code, stderr } = await release('10.2.0.0/24');
  expect(code).toBe(1);
  expect(stderr).toMatch(/10\.2\.0\.0\/24 is Active, and its Node alive is there and Ready/);
  expect(await releasedOf('10-2-0-0-24')).toBeUndefined();
});

test('it must be said how it is known, and of which block', async () => {
  expect((await release('10.1.0.0/24', ' ')).stderr).toMatch(/say how you know it/);
  expect((await release('10.9.0.0/24')).stderr).toMatch(/no node holds a block 10\.9\.0\.0\/24/);
  expect((await release('10.9.0.1/24')).stderr).toMatch(/host bits|not canonical|10\.9\.0\.0\/24/);
  const unsaid = await run(['blocks', 'release', '10.1.0.0/24', '--kubeconfig', kubeconfig]);
  expect([unsaid.code, unsaid.stderr.match(/--machine-is-off/)?.[0]]).toEqual([
    2,
    '--machine-is-off',
  ]);
});
