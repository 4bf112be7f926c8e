/**
 * A disk that is really full: the agent's folder is a file system of a few pages,
 * and somebody else takes what is left of it.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
const owners = async () => (await node.allocations()).map(({ owner }) => owner).sort();

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

test('a full disk: code 105, nothing half done, and all is well when there is room again', async () => {
  for (let i = 0; i < 2; i++) pods.push(await addNamespace());
  const [first, second] = pods as [Namespace, Namespace];
  const added = await node.plugin('cadastre', 'ADD', place(first), config);
  expect(added.exit).toBe(0);

  fill();
  // What the journal had room for before is still its own: use that up.
  const refused = await eventually(
    async () => {
      const { exit, answer } = await node.plugin('cadastre', 'ADD', place(second), config);
      if (exit === 0) await node.plugin('cadastre', 'DEL', place(second), config);
      expect(exit).toBe(1);
      return answer;
    },
    { withinMs: 60_000 },
  );
  expect(refused).toMatchObject({ code: 105, msg: expect.stringContaining('ENOSPC') });
  expect(refused.details).toContain('free space');
  expect(await links()).toBe(1);

  // Killed on a full disk, it comes back, with exactly what it had said.
  await node.killAgent();
  await node.startAgent();
  const again = await node.plugin('cadastre', 'ADD', place(first), config);
  expect(again.answer).toMatchObject({ code: 104, msg: expect.stringContaining('10.81.0.') });
  expect(await owners()).toContain(`cni:pods/${first.name}/eth0`);

  rmSync(join(state, 'of-somebody-else'));
  await eventually(async () => {
    const { exit } = await node.plugin('cadastre', 'ADD', place(second), config);
    expect(exit).toBe(0);
  });
  expect(await owners()).toEqual(pods.map(({ name }) => `cni:pods/${name}/eth0`).sort());
  expect(await links()).toBe(2);
  for (const pod of pods) {
    expect((await node.plugin('cadastre', 'DEL', place(pod), config)).exit).toBe(0);
  }
  expect([await owners(), await links()]).toEqual([[], 0]);
});
