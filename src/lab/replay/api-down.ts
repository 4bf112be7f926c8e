import { whenAgentReady } from '../up.ts';
import {
  nodesHaveABlock,
  noPingLost,
  noRouteLeft,
  podsAnswer,
  routersHoldTheRegister,
} from './expectations.ts';
import { measureLosses } from './losses.ts';
import type { Expectation, ObservedBlock } from './observation.ts';
import type { Story } from './story.ts';

/** Its agent dies, and it loses its routers for a while. */
const node = 'node1';
/** Nobody's gateway, so that it may be missed. */
const router = 'r239';
const newcomer = 'late';

const steady = [routersHoldTheRegister(), podsAnswer()];
const calm = [noPingLost(), noRouteLeft()];

/** Longer than everything that might expire meanwhile: leases, watches, hold and restart times. */
function apiDownStory(): Story {
  let before: readonly ObservedBlock[] = [];
  const registerIsAsItWas: Expectation = {
    what: 'the register is as it was before, object for object',
    judge: ({ blocks }) => {
      const others = (some: readonly ObservedBlock[]) =>
        some.filter((block) => block.node !== newcomer).map(textOf);
      const known = others(before);
      const found = others(blocks);
      return found.join() === known.join() ? undefined : `it is ${found.join(', ')}`;
    },
  };
  return {
    name: 'api-down-an-hour',
    about: 'the API server is down for long, while an agent, a router and a link fail and return',
    topology: 'incident',
    steps: [
      {
        title: 'the site is steady',
        async act(stage) {
          await stage.startPings();
          before = await stage.blocks();
        },
        until: steady,
        after: [noPingLost()],
      },
      {
        title: 'the API server is stopped',
        act: (stage) => stage.cuts.stopApiServer(),
        after: [...steady, ...calm],
      },
      {
        title: `the agent of ${node} is killed and starts without an API server: its routes stay`,
        async act(stage) {
          await stage.lab.processes.end(stage.lab.agentName(node), 'SIGKILL');
          stage.lab.startAgent(node);
          await stage.whenEstablished(node);
        },
        until: steady,
        after: calm,
      },
      {
        title: `${router} restarts, and gets every route again`,
        async act(stage) {
          await stage.lab.endRouter(router);
          await stage.lab.startRouter(router);
        },
        until: steady,
        after: [noPingLost()],
      },
      {
        title: `${node} is cut off from both routers until they have dropped its routes`,
        act: (stage) => stage.cuts.cut(node, { fromApiServer: false, fromRouters: true }),
        until: [routersHoldTheRegister([node]), podsAnswer([node])],
        after: [noPingLost([node])],
      },
      {
        title: `${node} has its routers again, and announces what it had`,
        act: (stage) => stage.cuts.heal(node),
        until: steady,
        after: [noPingLost([node])],
      },
      {
        title: 'the API server stays down: nothing changes',
        act: (stage) => stage.cuts.whenApiServerDownFor(stage.outageSeconds),
        after: [...steady, ...calm],
      },
      {
        title: 'the API server is back, and a new node gets a block: nothing else has changed',
        async act(stage) {
          await stage.cuts.startApiServer();
          await stage.createGhost(newcomer);
          await Promise.all(
            stage.lab.topology.nodes.map(({ name }) => whenAgentReady(stage.lab, name)),
          );
        },
        until: [nodesHaveABlock([newcomer]), registerIsAsItWas, routersHoldTheRegister([newcomer])],
        measure: (stage) => measureLosses(stage, [node]),
        after: [...calm, podsAnswer()],
      },
    ],
    async restore(stage) {
      await stage.cuts.heal(node);
      if (stage.cuts.isApiServerStopped) await stage.cuts.startApiServer();
      await stage.deleteNode(newcomer);
    },
  };
}

function textOf({ cidr, uid, node: owner, phase }: ObservedBlock): string {
  return `${cidr} ${phase} of ${owner} (${uid})`;
}

export const apiDownAnHour: Story = apiDownStory();
