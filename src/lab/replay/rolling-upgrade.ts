import { noPingLost, noRouteLeft, podsAnswer, routersHoldTheRegister } from './expectations.ts';
import type { Step, Story } from './story.ts';

const nodes = ['master1', 'master2', 'master3', 'node1'];
const calm = {
  until: [routersHoldTheRegister(), podsAnswer()],
  after: [noPingLost(), noRouteLeft()],
};

/** Operators first, then the agents, one by one, each by SIGTERM as a rollout does it. */
export const rollingUpgrade: Story = {
  name: 'rolling-upgrade',
  about: 'operator and all agents are restarted one by one',
  topology: 'incident',
  steps: [
    { title: 'the site is steady', act: (stage) => stage.startPings(), ...calm },
    ...[1, 2].map(
      (index): Step => ({
        title: `operator-${index} is restarted`,
        act: (stage) => stage.restartOperator(index),
        ...calm,
      }),
    ),
    ...nodes.map(
      (node): Step => ({
        title: `the agent of ${node} is restarted`,
        act: (stage) => stage.restartAgent(node),
        ...calm,
      }),
    ),
  ],
};
