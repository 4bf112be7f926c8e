import { podsAnswer, routersHoldTheRegister, tracePasses } from './expectations.ts';
import type { Story } from './story.ts';

export const traceroute: Story = {
  name: 'traceroute',
  about: 'which way packets go: straight to a neighbour, through both gateways to the other rack',
  topology: 'two-racks',
  steps: [
    {
      title: 'the site is steady',
      act: (stage) => stage.startPings(),
      until: [routersHoldTheRegister(), podsAnswer()],
    },
    {
      title: 'same subnet: straight to the neighbour',
      act: (stage) => stage.trace(stage.pod('a1-1'), 'a2-1'),
      after: [tracePasses('a1-1 to a2-1', ['10.4.94.32', '10.4.94.21', 'a2-1'])],
    },
    {
      title: 'other subnet: through both gateways',
      act: (stage) => stage.trace(stage.pod('a1-1'), 'b1-1'),
      after: [
        tracePasses('a1-1 to b1-1', [
          ...['10.4.94.32', '10.4.94.1', '10.4.83.1', '10.4.83.7', 'b1-1'],
        ]),
      ],
    },
    {
      title: 'and back',
      act: (stage) => stage.trace(stage.pod('b2-1'), 'a2-1'),
      after: [
        tracePasses('b2-1 to a2-1', [
          ...['10.4.83.8', '10.4.83.1', '10.4.94.1', '10.4.94.21', 'a2-1'],
        ]),
      ],
    },
  ],
};
