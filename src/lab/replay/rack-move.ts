import { parsePrefix } from '../../net/prefix.ts';
import { addPod, deletePod } from '../pods.ts';
import { nodeHoldsIn, noPingLost, podsAnswer, routersHoldTheRegister } from './expectations.ts';
import type { Stage } from './stage.ts';
import type { Step, Story } from './story.ts';

const mover = 'b2';

const holdsIn = (range: string) => {
  const pool = parsePrefix(range)!;
  return nodeHoldsIn(mover, range, (cidr) => pool.contains(parsePrefix(cidr)!));
};

/** Its pods go elsewhere first, as `kubectl drain` would have it. */
async function emptyNode(stage: Stage): Promise<void> {
  await stage.setDrain(mover, true);
  for (const { name, node } of stage.lab.pods) {
    if (node !== mover) continue;
    stage.stopPing(name);
    await deletePod(stage.lab, name);
  }
}

function move(pool: string, range: string, pod: string): Step[] {
  return [
    {
      title: `${mover} is drained: routes withdrawn, pods removed`,
      act: emptyNode,
      until: [routersHoldTheRegister([mover]), podsAnswer()],
      after: [noPingLost()],
    },
    {
      title: `${mover} is relabelled pool=${pool}, and its old block drains`,
      async act(stage) {
        await stage.label(mover, { pool });
        await stage.drainBlocks(mover);
      },
      until: [holdsIn(range), routersHoldTheRegister([mover]), podsAnswer()],
      after: [noPingLost()],
    },
    {
      title: `${mover} announces again and takes pods`,
      async act(stage) {
        await stage.setDrain(mover, false);
        await stage.whenBlocksAnnounced(mover);
        await addPod(stage.lab, mover, pod);
        await stage.startPings();
      },
      until: [routersHoldTheRegister(), podsAnswer()],
      after: [noPingLost([mover])],
    },
  ];
}

export const rackMove: Story = {
  name: 'rack-move',
  about: "a node is relabelled to another rack's pool, drained, moved, and brought back",
  topology: 'pools',
  steps: [
    {
      title: 'the site is steady',
      act: (stage) => stage.startPings(),
      until: [routersHoldTheRegister(), podsAnswer(), holdsIn('10.5.82.0/24')],
      after: [noPingLost()],
    },
    ...move('83', '10.5.83.0/24', 'b2-moved'),
    ...move('82', '10.5.82.0/24', 'b2-1'),
  ],
};
