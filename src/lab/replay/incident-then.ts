import { isAnswering } from '../reach.ts';
import {
  isOrphan,
  noPingLost,
  noRouterHolds,
  noteIs,
  podsAnswer,
  podsAreSilent,
  routersHold,
  tracePasses,
} from './expectations.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const everybody = ['master1', 'master2', 'master3', 'node1'];
const left = everybody.filter((node) => node !== 'node1');

const outsideGateway = '10.9.25.1';

async function canReachOutside(stage: Stage, pod: string): Promise<boolean> {
  return isAnswering(stage.pod(pod).namespace, stage.lab.topology.outside.addresses.ipv4!);
}

/**
 * What happened. Pods live in what CiliumNode says, and what is announced is
 * Node.spec.podCIDRs: a switch of the lab, because the product cannot do that.
 */
export const incidentThen: Story = {
  name: 'incident-then',
  about: 'announcements come from Node.spec.podCIDRs, as with Cilium 1.11, and node1 is taken out',
  topology: 'incident',
  steps: [
    {
      title: 'fault injected: every node announces Node.spec.podCIDRs, not what its pods use',
      async act(stage) {
        await stage.nodeSpecSpeaker.removePeers();
        for (const node of everybody) await stage.nodeSpecSpeaker.start(node);
        await stage.startPings();
      },
      until: [
        routersHold({
          '10.5.112.0/24': '10.4.94.32',
          '10.5.113.0/24': '10.4.94.31',
          '10.5.114.0/24': '10.4.94.21',
          '10.5.115.0/24': '10.4.94.23',
        }),
        podsAnswer(),
      ],
    },
    {
      title: 'nobody notices: packets for master2 enter at node1, which passes them on (a detour)',
      act: (stage) => stage.trace('outside', 'master2-1'),
      after: [
        tracePasses('outside to master2-1', [
          outsideGateway,
          '10.4.94.23',
          '10.4.94.21',
          'master2-1',
        ]),
        noPingLost(),
      ],
    },
    {
      title: 'node1 leaves: its session ends, the machine is switched off, the Node is deleted',
      async act(stage) {
        await stage.nodeSpecSpeaker.stop('node1');
        await stage.powerOff('node1');
        await stage.deleteNode('node1');
      },
      until: [
        noRouterHolds('10.5.115.0/24'),
        podsAreSilent(['master2']),
        podsAnswer(['master2', 'node1']),
      ],
      after: [isOrphan('10.5.112.0/24', '10.4.94.32', 'node1'), noPingLost(['master2', 'node1'])],
    },
    {
      title: 'the team restarts every speaker; it does not help',
      async act(stage) {
        for (const node of left) {
          await stage.nodeSpecSpeaker.stop(node);
          await stage.nodeSpecSpeaker.start(node);
        }
      },
      until: [
        routersHold({
          '10.5.112.0/24': '10.4.94.32',
          '10.5.113.0/24': '10.4.94.31',
          '10.5.114.0/24': '10.4.94.21',
        }),
        podsAnswer(['master2', 'node1']),
        podsAreSilent(['master2']),
      ],
    },
    {
      title: "from inside: master2's pod cannot reach the outside host, master1's can",
      async act(stage) {
        for (const pod of ['master1-1', 'master2-1']) {
          stage.notes[pod] = (await canReachOutside(stage, pod)) ? 'reaches it' : 'does not';
        }
      },
      after: [
        noteIs('master1-1', 'reaches it', "master1's pod reaches the outside host"),
        noteIs('master2-1', 'does not', "master2's pod does not: a blackhole"),
      ],
    },
  ],
  async restore(stage) {
    for (const node of everybody) await stage.nodeSpecSpeaker.stop(node);
    await stage.deleteNode('node1');
    await stage.createNode('node1');
    await stage.powerOn('node1');
    await stage.nodeSpecSpeaker.createPeers();
  },
};
