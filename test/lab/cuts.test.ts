/** The ways in which stories lose a machine, each on a real kernel: what is cut, and what is not. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../src/lab/eventually.ts';
import { Lab } from '../../src/lab/lab.ts';
import { apiServerAddress } from '../../src/lab/layout.ts';
import { runInside } from '../../src/lab/namespaces.ts';
import { isAnswering } from '../../src/lab/reach.ts';
import { Cuts } from '../../src/lab/replay/cuts.ts';
import { nodeBlocks } from '../../src/model/resources.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import { closeLabs, labName, labsFolder, mustLab, openLabs } from './lab-program.ts';

const name = labName('cuts');
let site: Lab;
let cuts: Cuts;
let node: string;

beforeAll(async () => {
  await openLabs();
  const quick = ['--api-server', 'embedded', '--operators', '1'];
  await mustLab(['up', 'incident', ...quick, '--name', name]);
  const cadastre = [process.execPath, await cadastreProgram()];
  site = Lab.open({ root: labsFolder, cadastre, env: process.env, say: () => {} }, name);
  cuts = new Cuts(site);
  node = site.topology.nodes[0]!.name;
}, 300_000);
afterAll(async () => {
  await site?.close();
  await closeLabs();
}, 300_000);

/** Whom the node reaches, and whether its pod is reached from outside. */
async function reach(): Promise<string> {
  const [self, neighbour] = site.topology.nodes;
  const gateway = site.topology.subnets.find(({ name: one }) => one === self!.subnet)!.gateways;
  const from = site.namespace(node);
  const pod = site.pods.find((one) => one.node === node)!;
  const asked: Array<[string, Promise<boolean>]> = [
    ['API server', isAnswering(from, apiServerAddress)],
    ['router', isAnswering(from, gateway.ipv4!)],
    ['neighbour', isAnswering(from, neighbour!.addresses.ipv4!)],
    ['outside', isAnswering(site.namespace('outside'), pod.addresses[0]!)],
  ];
  const answers = await Promise.all(asked.map(async ([who, ask]) => ((await ask) ? [who] : [])));
  return answers.flat().join(', ');
}

const all = 'API server, router, neighbour, outside';

test.each([
  ['the API server', { fromApiServer: true, fromRouters: false }, 'router, neighbour, outside'],
  ['the routers', { fromApiServer: false, fromRouters: true }, 'API server, neighbour'],
  ['both', { fromApiServer: true, fromRouters: true }, 'neighbour'],
])(
  'cut off from %s, and healed',
  async (_, cut, left) => {
    expect(await reach()).toBe(all);
    await cuts.cut(node, cut);
    expect(await reach()).toBe(left);
    await cuts.heal(node);
    // Once more is no error, and a neighbour that was asked for in vain is asked for again.
    await cuts.heal(node);
    await eventually(
      'everybody is reached again',
      async () => (await reach()) === all || undefined,
    );
  },
  60_000,
);

test('the API server is down for a while, and its store is what it was', async () => {
  const client = await site.client();
  const names = async () => (await client.list(nodeBlocks)).items.map((one) => one.metadata.name);
  const before = await names();
  expect(before.length).toBe(site.topology.nodes.length);
  await cuts.stopApiServer();
  await expect(client.rawGet('/readyz', { retries: 0 })).rejects.toThrow();
  await cuts.startApiServer();
  expect(await names()).toEqual(before);
  await site.close();
}, 60_000);

test('switched off without a word: nothing runs, and no link is up', async () => {
  await cuts.powerOffSilently(node);
  expect(site.processes.isRunning(site.agentName(node))).toBe(false);
  const { stdout } = await runInside(site.namespace(node), ['ip', '-br', 'link', 'show', 'up']);
  expect(stdout).not.toMatch(/eth0|mgmt0/);
}, 60_000);
