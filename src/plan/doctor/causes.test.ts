import { describe, expect, test } from 'vitest';
import { block, node, nowMs, pool, report, session } from '../../../test/doctor/worlds.ts';
import { emptyState } from '../../model/cluster-state.ts';
import type { NodeReportStatus } from '../../model/node-report-status.ts';
import { causesOf } from './causes.ts';
import { type Evidence, evidenceOf } from './evidence.ts';
import { judgeSurvey } from './judge.ts';
import { survey } from './survey.ts';

const names = ['a', 'b', 'c', 'd'];
const cidr = (at: number) => `10.1.${at}.0/24`;

/** Four nodes with some pods each, and sessions in the given states. */
function world(stateOf: (name: string, peer: string) => string): Evidence {
  return evidenceOf(
    {
      ...emptyState,
      mode: 'ip-pool' as const,
      nodes: names.map((name, at) => node(name, `10.0.0.${at + 1}`)),
      pools: [pool('all', ['10.1.0.0/16'], { ipv4: 24 })],
      blocks: names.map((name, at) => block(cidr(at), name)),
      reports: names.map((name, at) => {
        const sessions = ['tor1', 'tor2'].map((peer) => {
          const state = stateOf(name, peer);
          const announced = state === 'Established' ? [cidr(at)] : [];
          return { ...session(peer, `10.0.0.${at + 1}`, ...announced), state };
        });
        const blocks = [
          { cidr: cidr(at), pool: 'all', draining: false, pods: 10 + at, resting: 0, total: '254' },
        ];
        return report(name, { sessions, blocks } as Partial<NodeReportStatus>);
      }),
    },
    { nowMs },
  );
}

const causes = (evidence: Evidence) => {
  const surveyed = survey(evidence);
  return causesOf(surveyed, judgeSurvey(surveyed));
};

describe('root cause before symptom', () => {
  test('a router that no node reaches is one cause, with each block below it', () => {
    const [cause, ...others] = causes(
      world((_, peer) => (peer === 'tor1' ? 'Active' : 'Established')),
    );
    expect(others).toEqual([]);
    expect(cause).toMatchObject({
      title: 'tor1 is unreachable from 4 of 4 nodes',
      severity: 'warning',
      subject: { kind: 'router', name: 'tor1' },
      podsHurt: 0,
      podsAtRisk: 46,
      nodesAtRisk: names,
    });
    expect(cause?.findings.map(({ reason, node: of }) => `${reason} ${of}`)).toEqual(
      names.map((name) => `NotAnnounced ${name}`),
    );
  });

  test('both routers lost hurt every pod, and are one cause', () => {
    const [cause] = causes(world(() => 'Idle'));
    expect(cause).toMatchObject({
      title: 'tor1 and tor2 are unreachable from 4 of 4 nodes',
      severity: 'critical',
      podsHurt: 46,
      nodesHurt: names,
    });
  });

  test('a single node without a session is that node’s cause, not the router’s', () => {
    const [cause] = causes(world((name) => (name === 'b' ? 'Idle' : 'Established')));
    expect(cause).toMatchObject({ subject: { kind: 'node', name: 'b' }, podsHurt: 11 });
  });

  test('what hurts most pods comes first', () => {
    const evidence = world((name) => (name === 'a' || name === 'd' ? 'Idle' : 'Established'));
    const surveyed = survey(evidence);
    // As if there were no session that two nodes have lost.
    const apart = judgeSurvey(surveyed).filter(({ node: of }) => of !== null);
    const found = apart.flatMap((one) =>
      causesOf({ ...surveyed, nodes: new Map([[one.node!, surveyed.nodes.get(one.node!)!]]) }, [
        one,
      ]),
    );
    expect(found.map(({ podsHurt }) => podsHurt)).toEqual([10, 13]);
    expect(causesOf(surveyed, apart)[0]?.podsHurt).toBe(23);
  });

  test('a second allocator is the cause of every record that differs', () => {
    const evidence = world(() => 'Established');
    const specs = names.map((_, at) => cidr((at + 1) % names.length));
    const nodes = evidence.nodes.map((one, at) => ({ ...one, podCidrs: [specs[at]!] }));
    const [cause, ...others] = causes({ ...evidence, nodes, controllerManagerAllocates: true });
    expect(cause).toMatchObject({
      reason: 'SecondAllocator',
      title: 'a second allocator writes blocks of its own: 4 nodes with records that differ',
    });
    expect(cause?.findings).toHaveLength(5);
    expect(others).toEqual([]);
  });

  test('every finding has exactly one cause', () => {
    const surveyed = survey(
      world((name, peer) => (name < 'c' && peer === 'tor1' ? 'Idle' : 'Idle')),
    );
    const findings = judgeSurvey(surveyed);
    const below = causesOf(surveyed, findings).flatMap((cause) => cause.findings);
    expect(new Set(below)).toEqual(new Set(findings));
    expect(below).toHaveLength(findings.length);
  });
});
