import { noPingLost, podsAnswer, routersHoldTheRegister } from './expectations.ts';
import type { Story } from './story.ts';

/**
 * r238 has the gateway addresses. With it gone nobody answers until its twin
 * has them (VRRP's part, played by the lab a second later); what counts is that
 * the twin has every route by then, and that the return costs nobody anything.
 */
export const routerLoss: Story = {
  name: 'router-loss',
  about: 'one of two routers dies and returns',
  topology: 'incident',
  steps: [
    {
      title: 'the site is steady',
      act: (stage) => stage.startPings(),
      until: [routersHoldTheRegister(), podsAnswer()],
      after: [noPingLost()],
    },
    {
      title: 'r238 dies: software and links at once; r239 takes the gateway addresses',
      async act(stage) {
        await stage.killRouter('r238');
        await new Promise((resolve) => setTimeout(resolve, 1000));
        await stage.takeOverGateways('r238', 'r239');
      },
      until: [routersHoldTheRegister(), podsAnswer()],
    },
    {
      title: 'without r238 the site is steady',
      act: async () => {},
      until: [routersHoldTheRegister(), podsAnswer()],
      after: [noPingLost()],
    },
    {
      title: 'r238 returns with empty tables and gets every route again',
      act: (stage) => stage.returnRouter('r238'),
      until: [routersHoldTheRegister(), podsAnswer()],
      after: [noPingLost()],
    },
    {
      title: 'r238 is the gateway again, and r239 dies and returns',
      async act(stage) {
        await stage.killRouter('r239');
        await stage.takeOverGateways('r239', 'r238');
        await stage.returnRouter('r239');
      },
      until: [routersHoldTheRegister(), podsAnswer()],
    },
  ],
};
