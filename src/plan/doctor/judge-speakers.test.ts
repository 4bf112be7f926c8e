import { describe, expect, test } from 'vitest';
import { peeringPolicy, podCidrs } from '../../../test/doctor/cilium-bgp-objects.ts';
import { spokenTwice } from '../../../test/doctor/pairs/pair.ts';
import { session } from '../../../test/doctor/worlds.ts';
import { stateOfObjects } from '../../model/cluster-state.ts';
import type { Evidence } from './evidence.ts';
import { judge } from './judge.ts';

describe('two speakers on one node', () => {
  const spoken = (evidence: Evidence) =>
    judge(evidence).filter(({ reason }) => reason === 'SecondSpeaker');

  test('with other routers they are not in the way of each other', () => {
    expect(spoken(spokenTwice(podCidrs))).toHaveLength(1);
    expect(spoken(spokenTwice(podCidrs, '10.0.0.251'))).toEqual([]);
  });

  test('a CiliumBGPPeeringPolicy is one too, and the cure names it', () => {
    const { ciliumBgp } = stateOfObjects([peeringPolicy('old', { exportPodCIDR: true })]);
    const found = spoken({ ...spokenTwice(podCidrs), ciliumBgp });
    expect(found.map(({ node: who }) => who)).toEqual(['a', 'b']);
    expect(found[0]?.fix).toContain('set exportPodCIDR: false in CiliumBGPPeeringPolicy old, or');
    const cured = stateOfObjects([peeringPolicy('old', { exportPodCIDR: false })]);
    expect(spoken({ ...spokenTwice(podCidrs), ciliumBgp: cured.ciliumBgp })).toEqual([]);
  });

  test('a session of ours that is down counts: the other one may be why', () => {
    const world = spokenTwice(podCidrs);
    const [first, ...rest] = world.reports;
    const down = { ...session('tor1', '10.0.0.1'), state: 'Active' };
    const reports = [{ ...first!, status: { ...first!.status, sessions: [down] } }, ...rest];
    expect(spoken({ ...world, reports })[0]?.says.agent).toBe(
      'announces to tor1 (10.0.0.250, Active)',
    );
  });
});
