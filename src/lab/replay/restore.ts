import { eventResource } from '../../kube/events.ts';
import { eventually } from '../eventually.ts';
import { addPod, deletePod } from '../pods.ts';
import { whenAgentReady } from '../up.ts';
import { addressesInTwoPlaces } from './agent-books.ts';
import {
  figureAtMost,
  nodesHaveABlock,
  noPingLost,
  noRouteLeft,
  noteIs,
  podsAnswer,
  routersHoldTheRegister,
} from './expectations.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

/** It has all its blocks in the backup. */
const steady = 'n3';
/** Each has one block in the backup, and gets its second one after it. */
const growing = ['n2', 'n1'];
/** They join after the backup, in this order. */
const joining = ['s1', 's2'];
/** Served after the restore. */
const late = 'late';
/** So many addresses of a first block are taken that the next pod is in the second one. */
const firstBlockHolds = 13;

const twice = 'addresses alive in two places';
const secondsWhole = 'seconds until the register is whole again';
const lostBlocks = 'blocks that the backup did not have';
/** Of which 30 s are what the operator waits for agents at most. */
const settleSeconds = 90;

const pod = (node: string) => `${node}-pod`;
const newPod = (node: string) => `${node}-new`;

function restoreStory(): Story {
  /** By block: who had it before the restore. */
  let before = new Map<string, string>();
  let inBackup = new Set<string>();

  const calm = [routersHoldTheRegister([late]), podsAnswer()];
  const quiet = [noPingLost(), noRouteLeft()];

  async function join(stage: Stage, node: string): Promise<void> {
    await stage.createNode(node);
    await stage.powerOn(node);
    await whenAgentReady(stage.lab, node);
  }

  /** With a pod in a block that it did not have before. */
  async function grow(stage: Stage, node: string): Promise<void> {
    await stage.books.takeAddresses(node, firstBlockHolds);
    await whenBlocks(stage, node, 2);
    await addPod(stage.lab, node, pod(node));
  }

  async function putBack(stage: Stage): Promise<void> {
    before = await registered(stage);
    await stage.backup.putBack();
    const startMs = performance.now();
    // Their kubelets register again, in another order than the first time.
    for (const node of joining.toReversed()) await stage.createNode(node);
    await eventually(
      'the register is what it was, and agents serve out of it',
      async () => {
        const [now, books] = await Promise.all([registered(stage), stage.books.read()]);
        const used = books.flatMap(({ node, blocks }) =>
          blocks.map((cidr) => [cidr, node] as const),
        );
        return same(now, before) && same(now, new Map(used)) ? true : undefined;
      },
      { withinMs: settleSeconds * 1000, why: () => 'see cadastre doctor' },
    );
    stage.figures[secondsWhole] = Math.round((performance.now() - startMs) / 100) / 10;
  }

  async function countTwice(stage: Stage): Promise<void> {
    const found = addressesInTwoPlaces(await stage.books.read());
    stage.figures[twice] = Math.max(stage.figures[twice] ?? 0, found.length);
  }
  const nowhereTwice = figureAtMost(twice, () => 0, 'no address is alive in two places');

  /** Each block that was lost, in an Event of its node. */
  async function unreported(stage: Stage): Promise<string[]> {
    const { items } = await stage.client.list<{
      metadata: { name: string };
      reason: string;
      message: string;
      involvedObject: { name: string };
    }>(eventResource);
    const told = items.filter(({ reason }) => reason === 'RestoredFromBackup');
    return [...before].flatMap(([cidr, node]) => {
      const isTold = told.some(
        ({ message, involvedObject }) => involvedObject.name === node && message.includes(cidr),
      );
      return inBackup.has(cidr) || isTold ? [] : [`${cidr} of ${node}`];
    });
  }

  return {
    name: 'restore',
    about: 'etcd is put back to a backup from before two nodes joined and two others grew',
    topology: 'by-demand',
    steps: [
      {
        title: `${growing.join(' and ')} have one block each`,
        async act(stage) {
          await stage.startPings();
          await whenBlocks(stage, steady, 2);
          // After an earlier run addresses rest for a while, before a second block is given back.
          for (const node of growing) await whenBlocks(stage, node, 1);
        },
        until: calm,
      },
      {
        title: 'a backup of etcd is taken',
        async act(stage) {
          await stage.backup.take();
          inBackup = new Set((await registered(stage)).keys());
        },
        until: calm,
        after: quiet,
      },
      {
        title: `${joining.join(' and ')} join, ${growing.join(' and ')} get a second block; each has a pod in a new block`,
        async act(stage) {
          for (const node of joining) await join(stage, node);
          for (const node of growing) await grow(stage, node);
          for (const node of joining) {
            await addPod(stage.lab, node, pod(node));
            await whenBlocks(stage, node, 2);
          }
          await stage.whenAnswering([...growing, ...joining].map((node) => stage.pod(pod(node))));
        },
        until: calm,
        measure: countTwice,
        after: [...quiet, nowhereTwice],
      },
      {
        title: `etcd is put back to the backup; ${joining.toReversed().join(' and ')} register again, in this order`,
        act: putBack,
        until: calm,
        async measure(stage) {
          await countTwice(stage);
          stage.figures[lostBlocks] = [...before.keys()].filter(
            (cidr) => !inBackup.has(cidr),
          ).length;
          const missing = await unreported(stage);
          stage.notes.told = missing.length === 0 ? 'all' : `all but ${missing.join(', ')}`;
        },
        after: [
          ...quiet,
          nowhereTwice,
          noteIs('told', 'all', 'an Event RestoredFromBackup names each block that was lost'),
        ],
      },
      {
        title: 'every node starts a pod, and a new node comes',
        async act(stage) {
          await stage.createGhost(late);
          for (const node of [...growing, ...joining]) await addPod(stage.lab, node, newPod(node));
          await stage.whenAnswering(
            [...growing, ...joining].map((node) => stage.pod(newPod(node))),
          );
        },
        until: [nodesHaveABlock([late]), ...calm],
        measure: countTwice,
        after: [...quiet, nowhereTwice],
      },
    ],
    async restore(stage) {
      await stage.deleteNode(late);
      for (const node of [...growing, ...joining]) {
        for (const name of [pod(node), newPod(node)]) {
          if (stage.lab.pods.some((one) => one.name === name)) await deletePod(stage.lab, name);
        }
        if (stage.isOn(node)) await stage.books.giveAddressesBack(node);
      }
      for (const node of joining) await stage.deleteNode(node);
      await eventually('the nodes that had joined have left', async () => {
        const left = (await stage.blocks()).filter(({ node }) => joining.includes(node));
        return left.length === 0 ? true : undefined;
      });
      for (const node of joining) await stage.powerOff(node);
      stage.backup.discard();
    },
  };
}

/** As many as it wants: from here on the register stays as it is. */
async function whenBlocks(stage: Stage, node: string, count: number): Promise<void> {
  await eventually(
    `${node} has ${count} blocks`,
    async () => {
      const { blocks } = await stage.lab.agentStatus(node);
      const held = (await stage.blocks()).filter((one) => one.node === node);
      return blocks.length === count && held.length === count ? true : undefined;
    },
    { withinMs: 120_000 },
  );
}

async function registered(stage: Stage): Promise<Map<string, string>> {
  const all = (await stage.blocks()).filter(({ phase }) => phase === 'Active');
  return new Map(all.map(({ cidr, node }) => [cidr, node]));
}

const same = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>) =>
  a.size === b.size && [...a].every(([cidr, node]) => b.get(cidr) === node);

export const restore: Story = restoreStory();
