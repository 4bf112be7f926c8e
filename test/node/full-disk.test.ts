/**
 * A disk that is really full: the agent's folder is a file system of a few pages,
 * and somebody else takes what is left of it.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askAgent } from '../../src/agent/ask-agent.ts';
import type { AllocationJson } from '../../src/model/agent-api.ts';
import { addNamespace, deleteNamespace, ip, type Namespace } from '../kernel/namespaces.ts';
import { eventually } from '../world/eventually.ts';
import { TestNode } from './test-node.ts';

const config = { cniVersion: '1.1.0', name: 'pods', type: 'cadastre' };
let node: TestNode;
let state: string;
const pods: Namespace[] = [];

beforeAll(async () => {
  node = await TestNode.create(['10.81.0.0/24']);
  state = join(node.folder, 'state');
  mkdirSync(state);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'cadastre-test', state]);
  await node.startAgent();
});
afterAll(async () => {
  await node.killAgent();
  execFileSync('umount', [state]);
  await node.remove();
  for (const pod of pods) await deleteNamespace(pod);
});

const place = (pod: Namespace) => ({ containerId: pod.name, netns: pod.path });
const links = async () =>
  ((await ip(`-n ${node.namespace.name} -br link`)).match(/^cad[^\s@]+/gm) ?? []).length;
const owners = async () =>
  (await node.allocations())
    .map(({ owner }) => owner)
    .filter((owner) => owner.startsWith('cni:'))
    .sort();

function fill(): void {
  const file = join(state, 'of-somebody-else');
  for (const bytes of [4096, 512, 1]) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(bytes, 1));
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  }
}

/** What the journal had room for before is still its own. */
async function useUpJournal(): Promise<void> {
  const owner = 'somebody';
  for (let turn = 0; turn < 500; turn++) {
    try {
      const path = '/v1/addresses';
      const made = (await askAgent(node.socketPath, 'POST', path, { owner })) as AllocationJson;
      const { address } = made.addresses[0]!;
      await askAgent(node.socketPath, 'DELETE', `${path}/${address}?owner=${owner}`);
    } catch (error) {
      return expect((error as Error).message).toContain('ENOSPC');
    }
  }
  throw new Error('the disk was never full');
}

test('a full disk: code 105, nothing half done, and all is well when there is room again', async () => {
  for (let i = 0; i < 2; i++) pods.push(await addNamespace());
  const [first, second] = pods as [Namespace, Namespace];
  const added = await node.plugin('cadastre', 'ADD', place(first), config);
  expect(added.exit).toBe(0);

  fill();
  await useUpJournal();
  const { answer: refused } = await node.plugin('cadastre', 'ADD', place(second), config);
  expect(refused).toMatchObject({ code: 105, msg: expect.stringContaining('ENOSPC') });
  expect(refused.details).toContain('free space');
  expect(await links()).toBe(1);

  // It may be the end of a pod that makes room: DEL goes as far as it can.
  rmSync(join(state, 'of-somebody-else'));
  const third = await addNamespace();
  const brief = await node.plugin('cadastre', 'ADD', place(third), config);
  expect(brief, JSON.stringify(brief.answer)).toMatchObject({ exit: 0 });
  fill();
  await useUpJournal();
  const ended = await node.plugin('cadastre', 'DEL', place(third), config);
  expect(ended, JSON.stringify(ended.answer)).toMatchObject({ exit: 0 });
  expect(await links()).toBe(1);
  await deleteNamespace(third);

  // Killed on a full disk, it comes back, with exactly what it had said.
  await node.killAgent();
  await node.startAgent();
  const again = await node.plugin('cadastre', 'ADD', place(first), config);
  expect(again.answer).toMatchObject({ code: 104, msg: expect.stringContaining('10.81.0.') });
  expect(await owners()).toContain(`cni:pods/${first.name}/eth0`);

  rmSync(join(state, 'of-somebody-else'));
  await eventually(async () => {
    const { exit, answer } = await node.plugin('cadastre', 'ADD', place(second), config);
    expect(exit, JSON.stringify(answer)).toBe(0);
  });
  // What could only be done by halves, the sweep finishes.
  const living = pods.map(({ name }) => `cni:pods/${name}/eth0`).sort();
  await eventually(async () => expect(await owners()).toEqual(living));
  expect(await links()).toBe(2);
  for (const pod of pods) {
    expect((await node.plugin('cadastre', 'DEL', place(pod), config)).exit).toBe(0);
  }
  expect([await owners(), await links()]).toEqual([[], 0]);
});
