import { addPod, deletePod } from '../pods.ts';
import {
  noPingLost,
  podsAnswer,
  routersHoldTheRegister,
  serviceIsReachedThrough,
} from './expectations.ts';
import type { LabService } from './services.ts';
import { pingTarget, servicePrefix } from './services.ts';
import type { Stage } from './stage.ts';
import type { Step, Story } from './story.ts';

/** The routers use it for every Service: it announces first, and has the lowest router id. */
const node = 'master2';
const others = ['master1', 'master3', 'node1'];
const pod = `${node}-1`;

const everywhere: LabService = { name: 'everywhere', address: '10.6.0.1', policy: 'Cluster' };
const twice: LabService = { name: 'twice', address: '10.6.0.2', policy: 'Local' };
const once: LabService = { name: 'once', address: '10.6.0.3', policy: 'Local' };
const all = [everywhere, twice, once];

const through = (service: LabService, ...nodes: string[]) =>
  serviceIsReachedThrough(servicePrefix(service), nodes);
const elsewhere = [
  through(everywhere, ...others),
  through(twice, 'node1'),
  through(once, 'master1'),
];

async function begin(stage: Stage): Promise<void> {
  const { services } = stage;
  // The older of two equal paths stays in use at FRR, so this node comes first.
  await Promise.all(others.map((one) => stage.label(one, { [exclude]: '' })));
  await services.createPool('10.6.0.0/24');
  for (const service of all) await services.create(service, [{ node }]);
  await stage.startPings();
  await stage.whenAnswering(all.map(pingTarget));
}

const exclude = 'node.kubernetes.io/exclude-from-external-load-balancers';

/** Everything is withdrawn, and its pod with it: nobody else notices. */
function leaves(title: string, act: (stage: Stage) => Promise<void>): Step {
  return {
    title: `${title}: all its routes are withdrawn, in order`,
    act,
    until: [routersHoldTheRegister([node]), ...elsewhere, podsAnswer([node])],
    after: [noPingLost([node])],
  };
}

function returns(title: string, act: (stage: Stage) => Promise<void>): Step {
  return {
    title: `${title}: all its routes are announced again`,
    act,
    until: [routersHoldTheRegister(), podsAnswer()],
    after: [noPingLost([node])],
  };
}

/**
 * One of four nodes is taken out in every way that Kubernetes has a word for, while three Services
 * are reached through it: one of policy Cluster, one of policy Local with an endpoint elsewhere,
 * and one of policy Local whose only endpoint is there.
 */
export const cordon: Story = {
  name: 'cordon',
  about: 'a node is cordoned, drained, shut down and taken out of service, and returns each time',
  topology: 'incident',
  steps: [
    {
      title: `three Services are reached through ${node}`,
      act: begin,
      until: [
        ...all.map((service) => through(service, node)),
        routersHoldTheRegister(),
        podsAnswer(),
      ],
    },
    {
      title: 'other nodes announce two of them as well',
      async act(stage) {
        await stage.services.setEndpoints(twice, [{ node }, { node: 'node1' }]);
        await Promise.all(others.map((one) => stage.removeLabel(one, exclude)));
        await stage.whenAnnounced('node1', [everywhere, twice].map(servicePrefix));
      },
      until: [...all.map((service) => through(service, node)), podsAnswer()],
      after: [noPingLost()],
    },
    {
      title: `kubectl cordon ${node}: the routers go elsewhere for Services, but not for the last endpoint of one`,
      act: (stage) => stage.signs.setCordon(node, true),
      until: [through(everywhere, ...others), through(twice, 'node1')],
      after: [noPingLost(), through(once, node), routersHoldTheRegister()],
    },
    {
      title: 'that endpoint is evicted: it ends, and still serves',
      async act(stage) {
        await stage.whenDrain(node, 'Kept');
        await stage.services.setEndpoints(once, [{ node, isEnding: true }]);
      },
      after: [noPingLost(), through(once, node), routersHoldTheRegister()],
    },
    {
      title: 'its successor on master1 is ready: the routers go there',
      act: (stage) =>
        stage.services.setEndpoints(once, [{ node, isEnding: true }, { node: 'master1' }]),
      until: elsewhere,
      after: [noPingLost(), routersHoldTheRegister()],
    },
    {
      title: `the last pod has left ${node}, as after kubectl drain: its block is withdrawn`,
      async act(stage) {
        await stage.services.setEndpoints(twice, [{ node: 'node1' }]);
        await stage.services.setEndpoints(once, [{ node: 'master1' }]);
        await stage.whenDrain(node, 'Withdrawn');
        await stage.services.stopServingElsewhere(twice, ['node1']);
        await stage.services.stopServingElsewhere(once, ['master1']);
        stage.stopPing(pod);
        await deletePod(stage.lab, pod);
      },
      until: [routersHoldTheRegister([node]), ...elsewhere, podsAnswer()],
      after: [noPingLost()],
    },
    {
      title: `kubectl uncordon ${node}, and a pod comes: it announces again`,
      async act(stage) {
        await stage.whenDrain(node, 'Withdrawn');
        await stage.signs.setCordon(node, false);
        await stage.whenBlocksAnnounced(node);
        await addPod(stage.lab, node, pod);
      },
      until: [routersHoldTheRegister(), podsAnswer()],
      after: [noPingLost()],
    },
    leaves(`the kubelet of ${node} says that the machine shuts down`, async (stage) => {
      await stage.startPings();
      await stage.signs.setShutdown(node, true);
    }),
    returns(`the kubelet of ${node} is ready again`, async (stage) => {
      await stage.whenDrain(node, 'Withdrawn');
      await stage.signs.setShutdown(node, false);
    }),
    leaves(`${node} gets the taint node.kubernetes.io/out-of-service`, (stage) =>
      stage.signs.setOutOfService(node, true),
    ),
    returns('the taint is taken away', async (stage) => {
      await stage.whenDrain(node, 'Withdrawn');
      await stage.signs.setOutOfService(node, false);
    }),
  ],
  async restore(stage) {
    await stage.signs.setCordon(node, false);
    await stage.signs.setShutdown(node, false);
    await stage.signs.setOutOfService(node, false);
    for (const one of others) await stage.removeLabel(one, exclude);
    await stage.services.removeAll();
    if (!stage.lab.pods.some(({ name }) => name === pod)) await addPod(stage.lab, node, pod);
  },
};
