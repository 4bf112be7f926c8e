import {
  blockIs,
  noPingLost,
  podsAnswer,
  routersHold,
  routersHoldTheRegister,
  tracePasses,
} from './expectations.ts';
import type { Story } from './story.ts';

/** The same cluster with the same disagreement on record, run by Cadastre. */
export const incidentNow: Story = {
  name: 'incident-now',
  about: 'the same nodes, the same second allocator filling Node.spec, and node1 is taken out',
  topology: 'incident',
  steps: [
    {
      title:
        'Node.spec says one thing, the register another: the routers have what the register says',
      act: (stage) => stage.startPings(),
      until: [
        routersHoldTheRegister(),
        routersHold({
          '10.5.112.0/24': '10.4.94.23',
          '10.5.113.0/24': '10.4.94.32',
          '10.5.114.0/24': '10.4.94.31',
          '10.5.115.0/24': '10.4.94.21',
        }),
        podsAnswer(),
      ],
    },
    {
      title: 'no detour: packets for master2 enter at master2',
      act: (stage) => stage.trace('outside', 'master2-1'),
      after: [
        tracePasses('outside to master2-1', ['10.9.25.1', '10.4.94.21', 'master2-1']),
        noPingLost(),
      ],
    },
    {
      title: 'node1 is drained: its routes are withdrawn before it goes',
      act: (stage) => stage.setDrain('node1', true),
      until: [routersHoldTheRegister(['node1']), podsAnswer(['node1'])],
      after: [noPingLost(['node1'])],
    },
    {
      title: 'node1 leaves: the machine is switched off, the Node is deleted',
      async act(stage) {
        await stage.powerOff('node1');
        await stage.deleteNode('node1');
      },
      until: [
        blockIs('10.5.112.0/24', 'Cooling', 'node1'),
        routersHoldTheRegister(),
        podsAnswer(['node1']),
      ],
      after: [noPingLost(['node1'])],
    },
    {
      title: 'node1 comes back, and gets its block back',
      async act(stage) {
        await stage.createNode('node1');
        await stage.powerOn('node1');
      },
      until: [blockIs('10.5.112.0/24', 'Active', 'node1'), routersHoldTheRegister(), podsAnswer()],
      after: [noPingLost(['node1'])],
    },
  ],
};
