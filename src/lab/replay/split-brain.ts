import {
  leads,
  nodesHaveABlock,
  noPingLost,
  noRouteLeft,
  podsAnswer,
  routersHoldTheRegister,
} from './expectations.ts';
import type { Story } from './story.ts';

const ghosts = ['late1', 'late2', 'late3'];

function splitBrainStory(): Story {
  let first = '';
  const calm = [podsAnswer(), routersHoldTheRegister(ghosts)];
  const after = [noPingLost(), noRouteLeft()];
  return {
    name: 'split-brain',
    about: 'the leading operator is frozen, a second leads, the first wakes',
    topology: 'incident',
    steps: [
      { title: 'the site is steady', act: (stage) => stage.startPings(), until: calm, after },
      {
        title: 'the leader is frozen in the middle of its work; a new node waits for a block',
        async act(stage) {
          first = await stage.leader();
          stage.freeze(first);
          await stage.createGhost('late1');
        },
        until: [
          leads(() => first, false, 'another operator leads'),
          nodesHaveABlock(['late1']),
          ...calm,
        ],
        after,
      },
      {
        title: 'the first one wakes and still thinks that it leads; another node comes',
        async act(stage) {
          const thaw = () => stage.thaw(first);
          await Promise.all([stage.createGhost('late2'), Promise.resolve().then(thaw)]);
          await stage.createGhost('late3');
        },
        until: [
          nodesHaveABlock(ghosts),
          leads(() => first, false, 'the first one leads no more'),
          ...calm,
        ],
        after,
      },
    ],
    async restore(stage) {
      stage.thaw(first);
      for (const ghost of ghosts) await stage.deleteNode(ghost);
    },
  };
}

export const splitBrain: Story = splitBrainStory();
