/**
 * Real routers with two nodes of one AS behind them: the second announces the first one's
 * block, and the first hears of it from the router.
 */
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { NodePeer } from '../../src/plan/node/node-peers.ts';
import { eventually, type Link, makeLink, sweepDeadRuns } from './link.ts';
import { bird } from './routers/bird.ts';
import { frr } from './routers/frr.ts';
import { gobgp } from './routers/gobgp.ts';
import type { Router, RunningRouter } from './routers/router.ts';
import { SpeakerProcess } from './speaker-process.ts';

const block4 = '10.5.113.0/24';
const block6 = 'fd00:5:113::/64';
const other = '10.5.114.0/24';
const second = '10.88.0.3';
const asn = 64524;
const nodeAsn = 64513;

let link: Link;
let theirs: RunningRouter | undefined;
let node: SpeakerProcess | undefined;
let thief: SpeakerProcess | undefined;

beforeAll(sweepDeadRuns);
beforeEach(async () => {
  link = await makeLink();
  await link.inOurs('ip', 'addr', 'add', `${second}/24`, 'dev', 'cad-up');
});
afterEach(async (context) => {
  if (context.task.result?.state === 'fail') {
    console.log(`${theirs?.log().slice(-4000)}\n--- ours ---\n${node?.log().slice(-4000)}`);
  }
  await Promise.all([node?.kill(), thief?.kill()]);
  await theirs?.stop();
  node = thief = theirs = undefined;
  await link.remove();
});

const peer = (localAddress: string): NodePeer => ({
  name: 'router',
  address: link.their4,
  localAddress,
  asn,
  localAsn: nodeAsn,
  routerId: localAddress,
  connectRetrySeconds: 1,
  gracefulRestartSeconds: 20,
  nextHop: { ipv6: localAddress === second ? 'fd00:88::3' : link.our6 },
});

/** `prepend`: the node's paths are so much longer than the other's. */
async function meet(router: Router, prepend = 0): Promise<void> {
  theirs = await router.start(link, {
    asn,
    routerId: link.their4,
    neighborAddress: link.our4,
    neighborAsn: nodeAsn,
    localAddress: link.their4,
    isPassive: true,
    secondNeighbor: second,
  });
  node = await SpeakerProcess.start(link, { listen: false });
  await node.call('announce', {
    peers: [peer(link.our4)],
    announcements: [block4, block6].map((prefix) => ({ prefix, prepend })),
  });
  await eventually('the router has our blocks', async () => {
    const held = [...(await theirs!.routes('ipv4')), ...(await theirs!.routes('ipv6'))];
    return held.length >= 2;
  });
  thief = await SpeakerProcess.start(link, { listen: false });
  await thief.call('setPeers', [peer(second)]);
}

const contact = () => node!.call('contact', { own: [block4, block6] });
const hijacks = async () =>
  (await contact()).hijacks.map(
    ({ prefix, nextHop, ownNextHop }) => `${prefix} by ${nextHop}, not ${ownNextHop}`,
  );

/** GoBGP does not send a path to a neighbor whose AS is in it; that is in docs/agent.md. */
test.each([frr, bird])(
  '$name tells a node of a piece of its block that another node of its AS announces',
  async (router) => {
    await meet(router);
    await thief!.call('set', [{ prefix: other }]);
    await eventually(
      "the other node's own block is received",
      async () => (await contact()).received > 0,
    );
    // FRR sends the node its own blocks back, with itself as next hop.
    expect(await hijacks()).toEqual([]);
    await thief!.call('set', [
      { prefix: other },
      { prefix: '10.5.113.128/25' },
      { prefix: 'fd00:5:113::/80' },
      { prefix: '10.5.112.0/21' },
    ]);
    const both = await eventually('both are noticed', hijacks, (all) => all.length === 2);
    expect(both[0]).toMatch(/^10\.5\.113\.128\/25 by 10\.88\.0\.[23], not 10\.88\.0\.1$/);
    expect(both[1]).toMatch(/^fd00:5:113::\/80 by .*, not fd00:88::1$/);
    await thief!.call('set', [{ prefix: other }]);
    await eventually('they are over', hijacks, (all) => all.length === 0);
  },
);

test('BIRD tells a node of its block at another node that it prefers, with both next hops', async () => {
  await meet(bird, 2);
  await thief!.call('set', [{ prefix: block4 }]);
  const [found] = await eventually('it is noticed', hijacks, (all) => all.length === 1);
  expect(found).toBe(`${block4} by ${second}, not ${link.our4}`);
  await thief!.call('set', []);
  await eventually('it is over', hijacks, (all) => all.length === 0);
});

test('GoBGP tells a node of its block that an AS elsewhere announces', async () => {
  await meet(gobgp, 2);
  const add = (...words: string[]) =>
    link.inTheirs('gobgp', 'global', 'rib', ...words, '10.5.113.0/25', '-a', 'ipv4');
  await add('add');
  await eventually('it is noticed', hijacks, (all) => all.join().startsWith('10.5.113.0/25'));
  await add('del');
  await eventually('it is over', hijacks, (all) => all.length === 0);
});
