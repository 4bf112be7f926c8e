import { peerSettings } from '../../model/peer-settings.ts';
import { bgpPeers } from '../../model/resources.ts';
import { eventually } from '../eventually.ts';
import { addPod, losePod } from '../pods.ts';
import { holdSeconds as routerHoldSeconds } from '../routers/router.ts';
import { addressesInTwoPlaces } from './agent-books.ts';
import {
  blockAwaits,
  blockIs,
  figureAtMost,
  noPingLost,
  noteIs,
  podsAnswer,
  routersHoldTheRegister,
  serviceIsReachedThrough,
} from './expectations.ts';
import { type LabService, pingTarget, servicePrefix } from './services.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

/** The routers use it for the Service: it announces first, and has the lowest router id. */
const dead = 'n1';
const others = ['n2', 'n3'];
/** It waits for the only block of the dead one's pool. */
const spare = 's1';
const block = '10.5.95.0/26';
const service: LabService = { name: 'web', address: '10.6.0.1', policy: 'Cluster' };
const exclude = 'node.kubernetes.io/exclude-from-external-load-balancers';

const twice = 'addresses alive in two places';
const lostByOthers = 'pings lost by others';
const lostByService = 'pings to the Service lost';
const secondsOf = (router: string) => `seconds until ${router} uses another way`;

const through = (...nodes: string[]) => serviceIsReachedThrough(servicePrefix(service), nodes);
const pod = (node: string) => `${node}-1`;

/** What a busy machine may add to the hold time. */
const marginSeconds = 20;

function silentDeathStory(): Story {
  let limitSeconds = 0;
  const routers = ['r238', 'r239'];

  /** Of both sides of a session the lower hold time counts (RFC 4271 §4.2). */
  async function negotiatedHoldSeconds({ client }: Stage): Promise<number> {
    const { items } = await client.list<{
      metadata: { name: string };
      spec: { holdSeconds?: number };
    }>(bgpPeers);
    const ours = items.map(({ spec }) => spec.holdSeconds ?? peerSettings.holdSeconds.default);
    return Math.min(routerHoldSeconds, ...ours);
  }

  async function loseItsPower(stage: Stage): Promise<void> {
    const hold = await negotiatedHoldSeconds(stage);
    limitSeconds = hold + marginSeconds;
    const prefix = servicePrefix(service);
    await stage.cuts.powerOffSilently(dead);
    const startMs = performance.now();
    await Promise.all(
      routers.map(async (router) => {
        await eventually(
          `${router} uses another way to ${prefix}, with a hold time of ${hold} s`,
          async () => {
            const route = (await stage.lab.tableOf(router)).find((one) => one.prefix === prefix);
            const node = others.find(
              (one) => stage.lab.node(one).addresses.ipv4 === route?.nextHop,
            );
            return node === undefined ? undefined : true;
          },
          { withinMs: limitSeconds * 1000 },
        );
        stage.figures[secondsOf(router)] = seconds(performance.now() - startMs);
      }),
    );
  }

  async function begin(stage: Stage): Promise<void> {
    // The older of two equal paths stays in use at FRR, so this node comes first.
    await Promise.all(others.map((one) => stage.label(one, { [exclude]: '' })));
    await stage.services.createPool('10.6.0.0/24');
    await stage.services.create(
      service,
      others.map((node) => ({ node })),
    );
    await stage.startPings();
    await stage.whenAnswering([pingTarget(service)]);
  }

  async function countTwice(stage: Stage): Promise<void> {
    const found = addressesInTwoPlaces(await stage.books.read());
    stage.figures[twice] = Math.max(stage.figures[twice] ?? 0, found.length);
    stage.figures[lostByOthers] = lostBy(stage, (node) => others.includes(node));
    stage.figures[lostByService] = lostBy(stage, (node) => node === 'Services');
  }
  const nowhereTwice = figureAtMost(twice, () => 0, 'no address is alive in two places');

  return {
    name: 'silent-death',
    about: 'the node that routers use for a Service loses its power; its block goes to a new node',
    topology: 'spares',
    steps: [
      {
        title: `a Service is reached through ${dead}`,
        act: begin,
        until: [through(dead), routersHoldTheRegister(), podsAnswer()],
      },
      {
        title: 'other nodes announce it as well',
        async act(stage) {
          await Promise.all(others.map((one) => stage.removeLabel(one, exclude)));
          for (const one of others) await stage.whenAnnounced(one, [servicePrefix(service)]);
        },
        until: [through(dead), podsAnswer()],
        after: [noPingLost()],
      },
      {
        title: `${dead} loses its power, without a word to anybody`,
        act: loseItsPower,
        until: [through(...others), routersHoldTheRegister([dead]), podsAnswer([dead])],
        measure: countTwice,
        after: [
          ...routers.map((router) =>
            figureAtMost(
              secondsOf(router),
              () => limitSeconds,
              `${router} uses another way within the hold time and ${marginSeconds} s`,
            ),
          ),
          noPingLost([dead, 'Services']),
        ],
      },
      {
        title: `${dead} gets the taint out-of-service and its Node is deleted: its block is free after its cool-down, and ${spare} gets it`,
        async act(stage) {
          await stage.signs.setOutOfService(dead, true);
          await eventually('the block says that its node is out of service', async () => {
            const found = (await stage.blocks()).find(({ cidr }) => cidr === block);
            return found?.releasedBy === 'OutOfService' ? true : undefined;
          });
          stage.stopPing(pod(dead));
          await losePod(stage.lab, pod(dead));
          await stage.deleteNode(dead);
          await stage.createNode(spare);
          await stage.powerOn(spare);
        },
        until: [blockIs(block, 'Active', spare), routersHoldTheRegister(), podsAnswer()],
        async measure(stage) {
          stage.notes.witness = await witnessFor(stage, dead);
          await countTwice(stage);
        },
        after: [
          noteIs('witness', 'OutOfService', 'the history of the block says OutOfService'),
          noPingLost(),
          nowhereTwice,
        ],
      },
      {
        title: `${spare} has a pod; ${dead} is switched on again, and does not use the block that it had`,
        async act(stage) {
          await addPod(stage.lab, spare, pod(spare));
          await stage.whenAnswering([stage.pod(pod(spare))]);
          await stage.createNode(dead);
          await stage.powerOn(dead);
          await stage.whenWaiting(dead, 'PoolExhausted');
        },
        until: [blockIs(block, 'Active', spare), routersHoldTheRegister(), podsAnswer()],
        measure: countTwice,
        after: [noPingLost(), nowhereTwice],
      },
      {
        title: `${spare} loses its power too and its Node is deleted; nobody says that the machine is off: its block awaits a witness`,
        async act(stage) {
          await stage.cuts.powerOffSilently(spare);
          stage.stopPing(pod(spare));
          await losePod(stage.lab, pod(spare));
          await stage.deleteNode(spare);
        },
        until: [
          blockAwaits(block, `cadastre blocks release ${block}`),
          routersHoldTheRegister(),
          podsAnswer(),
        ],
        measure: countTwice,
        after: [blockIs(block, 'Cooling', spare), noPingLost(['Services']), nowhereTwice],
      },
      {
        title: `cadastre blocks release ${block} --machine-is-off "…": ${dead} gets its block back`,
        async act(stage) {
          const why = 'unplugged by hand in the lab';
          await stage.cadastre(['blocks', 'release', block, '--machine-is-off', why]);
        },
        until: [blockIs(block, 'Active', dead), routersHoldTheRegister(), podsAnswer()],
        async measure(stage) {
          stage.notes.witness = await witnessFor(stage, spare);
          await countTwice(stage);
        },
        after: [
          noteIs('witness', 'Administrator', 'the history of the block says Administrator'),
          noPingLost(),
          nowhereTwice,
        ],
      },
    ],
    async restore(stage) {
      for (const one of others) await stage.removeLabel(one, exclude);
      await stage.services.removeAll();
      if (stage.lab.pods.some(({ name }) => name === pod(dead))) return;
      await addPod(stage.lab, dead, pod(dead));
    },
  };
}

/** Who has released the block of the node, by its history, which is written a little later. */
async function witnessFor(stage: Stage, node: string): Promise<string> {
  return eventually(`the history says who released ${block} of ${node}`, async () => {
    const { history } = JSON.parse(await stage.cadastre(['explain', block, '-o', 'json'])) as {
      history: Array<{ entries: Array<{ event: string; node: string; why?: string }> }>;
    };
    const last = history
      .flatMap(({ entries }) => entries)
      .findLast((entry) => entry.event === 'Released' && entry.node === node);
    return last?.why?.split(': ')[0];
  });
}

function lostBy(stage: Stage, isMeant: (node: string) => boolean): number {
  return stage
    .totals()
    .filter(({ node }) => isMeant(node))
    .reduce((sum, { lost }) => sum + lost, 0);
}

const seconds = (ms: number) => Math.round(ms / 100) / 10;

export const silentDeath: Story = silentDeathStory();
