/**
 * What makes a kubelet call its node NotReady: containerd's answer about the network. It
 * follows STATUS of our plugin, in a containerd that knows CNI 1.1.0.
 */
import { copyFileSync, mkdirSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureGoTool } from '../../scripts/go-tools.mjs';
import { ensureShim } from '../../scripts/shim.mjs';
import { askAgent } from '../../src/agent/ask-agent.ts';
import { installCni } from '../../src/agent/install/install-cni.ts';
import { sweepNamespaces } from '../kernel/namespaces.ts';
import { eventually } from '../world/eventually.ts';
import { Containerd } from './containerd.ts';
import { networkReady } from './cri.ts';
import { TestNode } from './test-node.ts';

let node: TestNode;
let containerd: Containerd;

beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  node = await TestNode.create(['10.80.0.0/29']);
  await node.startAgent();
  const home = join(node.folder, 'cri');
  const [binDir, confDir] = [join(home, 'bin'), join(home, 'net.d')];
  for (const folder of [binDir, confDir]) mkdirSync(folder, { recursive: true });
  copyFileSync(join(await ensureGoTool('portmap'), 'portmap'), join(binDir, 'portmap'));
  await installCni({ source: ensureShim()!, binDir, confDir });
  containerd = await Containerd.start(home, {
    programs: await ensureGoTool('containerd'),
    cri: { binDir, confDir, env: { CADASTRE_SOCKET: node.socketPath } },
  });
  await eventually(() => networkReady(containerd.socket));
}, 120_000);

afterAll(async () => {
  await containerd?.stop();
  await node?.remove();
  await sweepNamespaces({ isOver: true });
});

const ready = { isReady: true, message: '' };
const readyMark = () => `${node.socketPath}.ready`;
const seen = () => networkReady(containerd.socket);

test('a node whose agent serves is ready, also when its block is full', async () => {
  expect(await seen()).toEqual(ready);
  const take = (owner: string) =>
    askAgent(node.socketPath, 'POST', '/v1/addresses', { owner, families: ['ipv4'] });
  for (let i = 0; i < 5; i++) await take(`pod${i}`);
  await expect(take('one too many')).rejects.toThrow('no free IPv4 address');
  expect(await seen()).toEqual(ready);
});

test('an agent that is killed leaves the node ready for a minute, and not for ever', async () => {
  await node.killAgent();
  expect(await seen()).toEqual(ready);
  await node.startAgent();
  expect(await seen()).toEqual(ready);

  await node.killAgent();
  const twoMinutesAgo = Date.now() / 1000 - 120;
  utimesSync(readyMark(), twoMinutesAgo, twoMinutesAgo);
  // That it is not is how we know that STATUS is asked at all.
  expect(await seen()).toEqual({ isReady: false, message: expect.stringContaining('no agent') });
  await node.startAgent();
  expect(await seen()).toEqual(ready);
});

test('after a boot, which takes the mark with it, a node is not ready before its agent', async () => {
  await node.killAgent();
  rmSync(readyMark(), { force: true });
  expect((await seen()).isReady).toBe(false);
  await node.startAgent();
  expect(await seen()).toEqual(ready);
});
