/**
 * Kill -9 at random under parallel ADD and DEL. What a runtime would see: no
 * two pods ever hold the same address, and after the last DEL and a sweep there
 * is neither an address nor an interface left. CADASTRE_KILLS sets how often.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  addNamespace,
  deleteNamespace,
  ip,
  type Namespace,
  sweepNamespaces,
} from '../kernel/namespaces.ts';
import { TestNode } from './test-node.ts';

const kills = Number(process.env.CADASTRE_KILLS ?? 15);
const workers = 6;
const config = { cniVersion: '1.1.0', name: 'pods', type: 'cadastre' };

let node: TestNode;
const pods: Namespace[] = [];

beforeAll(async () => {
  // Small, so that addresses are used again and again.
  node = await TestNode.create(['10.78.0.0/27', 'fd78::/123']);
  for (let i = 0; i < workers; i++) pods.push(await addNamespace());
});
afterAll(async () => {
  await node.remove();
  for (const pod of pods) await deleteNamespace(pod);
  await sweepNamespaces({ isOver: true });
});

test(`${kills} times kill -9 under parallel ADD and DEL`, async () => {
  await node.startAgent();
  const held = new Map<string, string>();
  let isOver = false;
  let added = 0;
  let refused = 0;

  const live = async (pod: Namespace, worker: number) => {
    for (let turn = 0; !isOver; turn++) {
      const place = { containerId: `w${worker}t${turn}`, netns: pod.path };
      const { exit, answer } = await node.plugin('cadastre', 'ADD', place, config);
      const addresses: string[] =
        exit === 0 ? answer.ips.map((one: { address: string }) => one.address) : [];
      for (const address of addresses) {
        expect(held.get(address), `${address} is given twice`).toBeUndefined();
        held.set(address, place.containerId);
      }
      if (exit === 0) added++;
      else {
        refused++;
        expect(answer.code, JSON.stringify(answer)).toBe(11);
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 80));
      // A runtime calls DEL until it succeeds, also after an ADD that failed.
      for (const address of addresses) held.delete(address);
      for (;;) {
        const gone = await node.plugin('cadastre', 'DEL', place, config);
        if (gone.exit === 0) break;
        expect(gone.answer.code, JSON.stringify(gone.answer)).toBe(11);
      }
      // A DEL that was only remembered leaves the interface in the pod until the agent is back.
      while (!isOver && (await ip(`-n ${pod.name} -br link`)).includes('eth0')) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const lives = Promise.all(pods.map(live));
  for (let i = 0; i < kills; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 150));
    await node.killAgent();
    await node.startAgent();
  }
  isOver = true;
  await lives;
  expect(added).toBeGreaterThan(kills / 2);
  expect(refused, 'no kill ever hit an ADD').toBeGreaterThan(0);
  const collect = { ...config, 'cni.dev/valid-attachments': [] };
  const nobody = { containerId: '', netns: '' };
  await expect
    .poll(
      async () => {
        await node.plugin('cadastre', 'GC', nobody, collect);
        return node.allocations();
      },
      // An ADD that a kill cut off expires after a minute.
      { timeout: 90_000, interval: 1000 },
    )
    .toEqual([]);
  const links = await ip(`-n ${node.namespace.name} -br link`);
  expect(links.match(/^cad\S+/gm) ?? []).toEqual([]);
}, 300_000);
