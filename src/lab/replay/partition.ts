import { addPod, deletePod } from '../pods.ts';
import {
  awaitsWitness,
  noAddressInTwoPlaces,
  nodesHaveABlock,
  noPingLost,
  noRouteLeft,
  noteIs,
  podsAnswer,
  routersHoldTheRegister,
} from './expectations.ts';
import { measureLosses } from './losses.ts';
import type { Expectation } from './observation.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

/** Cut off, and its Node deleted. */
const deleted = 'n1';
/** Cut off with it, but its Node stays. */
const kept = 'n2';
/** Leaves properly, and comes back. */
const leaver = 'n4';
/** A Node without a machine. */
const newcomer = 'n5';
const cutOff = [deleted, kept];

const apiServer = { fromApiServer: true, fromRouters: false };
const routers = { fromApiServer: false, fromRouters: true };
const both = { fromApiServer: true, fromRouters: true };

const gap = `seconds without ${deleted}'s block before it was ${leaver}'s`;
const echoes = 'echo requests that reached the old pod';

function isUnchanged(node: string): Expectation {
  return {
    what: `${node} holds its block as before: nothing of it is released`,
    judge: ({ blocks }) => {
      const held = blocks.filter((one) => one.node === node).map(({ phase }) => phase);
      return held.join() === 'Active' ? undefined : `it holds ${held.join() || 'nothing'}`;
    },
  };
}

function hasNoBlock(node: string): Expectation {
  return {
    what: `${node} has no block: none is free`,
    judge: ({ blocks }) => {
      const held = blocks.find((one) => one.node === node);
      return held === undefined ? undefined : `it has ${held.cidr}`;
    },
  };
}

function isPassedOn(cidr: () => string, node: string): Expectation {
  return {
    what: `${node} has the block that ${deleted} had`,
    judge: ({ blocks }) => {
      const block = blocks.find((one) => one.cidr === cidr());
      if (block?.node === node && block.phase === 'Active') return undefined;
      return block === undefined ? 'nobody has it' : `it is ${block.phase}, of ${block.node}`;
    },
  };
}

/** Wherever its old node comes back, it does not announce the block unasked any more. */
function wasLongUnused(seconds: () => number): Expectation {
  return {
    what: `no router held the block for longer than ${deleted} announces it unconfirmed`,
    judge: ({ figures }) => {
      const was = figures[gap] ?? 0;
      return was > seconds() ? undefined : `only for ${was} s`;
    },
  };
}

function measureGap({ routeEvents, figures }: Stage, cidr: string): void {
  const ofBlock = routeEvents.filter(({ prefix }) => prefix === cidr);
  const times = (change: 'set' | 'removed') =>
    ofBlock.filter((one) => one.change === change).map(({ atMs }) => atMs);
  const gapMs = Math.min(...times('set')) - Math.max(...times('removed'));
  figures[gap] = Math.round(gapMs / 100) / 10;
}

async function cutAll(stage: Stage, cut: typeof both): Promise<void> {
  await Promise.all(cutOff.map((node) => stage.cuts.cut(node, cut)));
}

async function healAll(stage: Stage): Promise<void> {
  await Promise.all(cutOff.map((node) => stage.cuts.heal(node)));
}

async function removePods(stage: Stage, node: string): Promise<void> {
  for (const { name } of stage.lab.pods.filter((pod) => pod.node === node)) {
    stage.stopPing(name);
    await deletePod(stage.lab, name);
  }
}

/**
 * Four nodes and four blocks, so that whoever joins gets a block that another node had. Two nodes
 * are cut off in every way; the Node of one of them is deleted, as an autoscaler does it.
 */
function partitionStory(): Story {
  let block = '';
  let reconfirmAfterSeconds = 0;
  const always = [noAddressInTwoPlaces()];
  return {
    name: 'partition',
    about: 'nodes are cut off from the API server, from the routers and from both; one is deleted',
    topology: 'partition',
    steps: [
      {
        title: 'the site is steady',
        async act(stage) {
          await stage.startPings();
          await stage.places.start(cutOff);
          reconfirmAfterSeconds = stage.lab.topology.reconfirmAfterSeconds ?? 0;
          block = (await stage.blocks()).find(({ node }) => node === deleted)?.cidr ?? '';
        },
        until: [routersHoldTheRegister(), podsAnswer()],
        after: [noPingLost(), ...always],
      },
      {
        title: `${deleted} and ${kept} are cut off from the API server, Node ${deleted} is deleted, and ${newcomer} wants a block`,
        async act(stage) {
          await cutAll(stage, apiServer);
          await stage.deleteNode(deleted);
          await stage.createGhost(newcomer);
        },
        until: [awaitsWitness(deleted)],
        after: [
          hasNoBlock(newcomer),
          isUnchanged(kept),
          noPingLost(),
          noRouteLeft(),
          podsAnswer(),
          ...always,
        ],
      },
      {
        title: `Node ${leaver} is deleted while its agent hears of it: its block is free after the cool-down`,
        async act(stage) {
          await removePods(stage, leaver);
          await stage.deleteNode(leaver);
        },
        until: [nodesHaveABlock([newcomer])],
        after: [awaitsWitness(deleted), isUnchanged(kept), noPingLost(), podsAnswer(), ...always],
      },
      {
        title: `${deleted} and ${kept} hear the API server again, and ${deleted} is registered again`,
        async act(stage) {
          await healAll(stage);
          await stage.createNode(deleted);
        },
        until: [
          isPassedOn(() => block, deleted),
          isUnchanged(kept),
          routersHoldTheRegister([newcomer]),
          podsAnswer(),
        ],
        after: [noPingLost([deleted]), ...always],
      },
      {
        title: `${deleted} and ${kept} are cut off from the routers: their routes go after the hold time`,
        act: (stage) => cutAll(stage, routers),
        until: [routersHoldTheRegister([...cutOff, newcomer])],
        after: [...cutOff.map(isUnchanged), noPingLost(cutOff), podsAnswer(cutOff), ...always],
      },
      {
        title: `${deleted} and ${kept} have their routers again`,
        act: healAll,
        until: [routersHoldTheRegister([newcomer]), podsAnswer()],
        after: [...cutOff.map(isUnchanged), noPingLost(cutOff), ...always],
      },
      {
        title: `${deleted} and ${kept} are cut off from both, Node ${deleted} is deleted, and ${leaver} comes back: the routers' word frees the block`,
        async act(stage) {
          await cutAll(stage, both);
          await stage.deleteNode(deleted);
          await stage.createNode(leaver);
        },
        until: [isPassedOn(() => block, leaver), routersHoldTheRegister([kept, newcomer])],
        measure: (stage) => measureGap(stage, block),
        after: [
          wasLongUnused(() => reconfirmAfterSeconds),
          isUnchanged(kept),
          noPingLost(cutOff),
          podsAnswer(cutOff),
          ...always,
        ],
      },
      {
        title: `${deleted} has its routers again, but not the API server: it announces nothing of what it had`,
        async act(stage) {
          const old = stage.pod(`${deleted}-1`);
          stage.stopPing(old.name);
          const fresh = await addPod(stage.lab, leaver, `${leaver}-1`);
          await stage.whenAnswering([fresh]);
          stage.notes.address = `${fresh.addresses[0] === old.addresses[0]}`;
          const before = await stage.echoesAt(old);
          await stage.cuts.cut(deleted, apiServer);
          await stage.whenEstablished(deleted);
          await stage.whenPinged(fresh.name, 60);
          stage.notes[echoes] = String((await stage.echoesAt(old)) - before);
        },
        until: [routersHoldTheRegister([kept, newcomer])],
        after: [
          noteIs(
            'address',
            'true',
            `the new pod of ${leaver} has the address that ${deleted}-1 had`,
          ),
          noteIs(echoes, '0', `no ping to it reached the old pod on ${deleted}`),
          noPingLost(cutOff),
          ...always,
        ],
      },
      {
        title: `both hear everybody again, ${newcomer} is gone, and ${deleted} is registered again: it gets another block`,
        async act(stage) {
          await stage.deleteNode(newcomer);
          await healAll(stage);
          await stage.createNode(deleted);
        },
        until: [
          nodesHaveABlock([deleted, leaver]),
          routersHoldTheRegister(),
          podsAnswer([deleted]),
        ],
        measure: (stage) => measureLosses(stage, cutOff),
        after: [isPassedOn(() => block, leaver), isUnchanged(kept), noPingLost(cutOff), ...always],
      },
    ],
    async restore(stage) {
      await healAll(stage);
      await stage.deleteNode(newcomer);
      for (const node of [deleted, leaver]) {
        await stage.createNode(node);
        await removePods(stage, node);
        await addPod(stage.lab, node, `${node}-1`);
      }
    },
  };
}

export const partition: Story = partitionStory();
