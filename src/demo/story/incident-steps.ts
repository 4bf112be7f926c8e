/**
 * The steps of the incident, at both sites at once. What must follow from each is what the
 * lab's replay expects of its routers and pings (src/lab/replay), judged here by what the
 * routers and kernels of the demo hold.
 */
import { podsAnswer, routersHoldTheRegister } from '../../lab/replay/expectations.ts';
import { incidentNow } from '../../lab/replay/incident-now.ts';
import { incidentThen } from '../../lab/replay/incident-then.ts';
import type { Expectation } from '../../lab/replay/observation.ts';
import type { Story } from '../../lab/replay/story.ts';
import type { Side } from './site-reading.ts';
import type { StorySite } from './story-site.ts';

export interface IncidentStep {
  name: string;
  title: string;
  captions: Record<Side, string>;
  act(sites: Record<Side, StorySite>): Promise<void>;
  expected: Record<Side, readonly Expectation[]>;
}

/** Who is taken out, and whose pods live in what it announces. */
export const leaver = 'node1';
/** Of whom a trace is taken. */
export const traced = 'master2';

function of({ steps }: Story, at: number): { until: Expectation[]; after: Expectation[] } {
  const { until = [], after = [] } = steps[at] ?? {};
  return { until: [...until], after: [...after] };
}

const then = incidentThen.steps.map((_, at) => of(incidentThen, at));
const now = incidentNow.steps.map((_, at) => of(incidentNow, at));

export const incidentSteps: readonly IncidentStep[] = [
  {
    name: 'Before',
    title: 'Four nodes, two routers, one pod on each node, and pings from outside.',
    captions: {
      left: 'Every node announces the block that its pods use.',
      right: 'The same.',
    },
    act: () => Promise.resolve(),
    expected: {
      left: [routersHoldTheRegister(), podsAnswer()],
      right: [routersHoldTheRegister(), podsAnswer()],
    },
  },
  {
    name: 'Second allocator',
    title: 'Somebody switches on a second allocator. It fills Node.spec.podCIDRs on every node.',
    captions: {
      left: 'The speakers announce Node.spec. Every block now leads to the wrong node.',
      right: 'Agents announce what the register gives them. No route moves.',
    },
    act: async (sites) => {
      await Promise.all([sites.left.switchAllocator(), sites.right.switchAllocator()]);
    },
    expected: { left: then[0]?.until ?? [], right: now[0]?.until ?? [] },
  },
  {
    name: 'Detour',
    title: `Follow a ping to ${traced}. For a year nobody noticed.`,
    captions: {
      left: `It enters at ${leaver}, which passes it on to ${traced}: a detour. Every ping is answered.`,
      right: `It enters at ${traced}. The comparison already names every node whose record differs.`,
    },
    act: () => Promise.resolve(),
    expected: { left: then[1]?.after ?? [], right: now[1]?.after ?? [] },
  },
  {
    name: 'Drain',
    title: `${leaver} is drained for maintenance. Its session ends, its routes are withdrawn.`,
    captions: {
      left: `One of them was the only way to ${traced}, whose pods are cut off: a blackhole.`,
      right: `Only its own route goes. Nobody else loses a ping.`,
    },
    act: async (sites) => {
      await Promise.all([sites.left.drain(leaver), sites.right.drain(leaver)]);
    },
    expected: {
      left: [...(then[2]?.until ?? []), ...(then[2]?.after.slice(1) ?? [])],
      right: [...(now[2]?.until ?? []), ...(now[2]?.after ?? [])],
    },
  },
  {
    name: 'Restart',
    title: `${leaver} is deleted. The team restarts every speaker, in the hope that it helps.`,
    captions: {
      left: `It does not: ${traced} stays dark, and ${leaver}'s own block stays on the routers, announced by master1.`,
      right: `The block of ${leaver} cools down before another node can get it. Everybody else answers.`,
    },
    act: async (sites) => {
      await Promise.all([sites.left.remove(leaver), sites.right.remove(leaver)]);
      await sites.left.restartSpeakers();
    },
    expected: {
      left: [...(then[3]?.until ?? []), ...(then[2]?.after.slice(0, 1) ?? [])],
      right: [...(now[3]?.until ?? []), ...(now[3]?.after ?? [])],
    },
  },
];
