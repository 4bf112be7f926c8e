import { describe, expect, test } from 'vitest';
import { cleanWorlds, node } from '../../../test/doctor/worlds.ts';
import type { WitnessReport } from '../../model/cluster-kinds.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Evidence } from './evidence.ts';
import { judge } from './judge.ts';
import { isNodeNews, isReportNews } from './news.ts';

const world = cleanWorlds['ip-pool of Cadastre'];
const [first, ...rest] = world().reports as [WitnessReport, ...WitnessReport[]];
const firstBlock = first.status!.blocks![0]!;
const firstSession = first.status!.sessions![0]!;
const withStatus = (status: NonNullable<WitnessReport['status']>): WitnessReport => ({
  ...first,
  resourceVersion: '2',
  status: { ...first.status, ...status },
});
/** As the console and the operator judge: they are not shown the pods. */
const judged = (reports: readonly WitnessReport[]) =>
  judge({ ...world(), reports, pods: undefined } satisfies Evidence);

describe('of a report', () => {
  test('a first one is news, the same again is none', () => {
    expect(isReportNews(first, undefined)).toBe(true);
    expect(isReportNews({ ...first, resourceVersion: '2' }, first)).toBe(false);
  });

  test('pods that come and go are none, and change no finding', () => {
    const busier = withStatus({ blocks: [{ ...firstBlock, pods: 7, resting: 2 }] });
    expect(isReportNews({ ...busier, pods: 7 }, { ...first, pods: 1 })).toBe(false);
    expect(judged([busier, ...rest])).toEqual(judged([first, ...rest]));
  });

  test.each<[string, WitnessReport]>([
    ['block', withStatus({ blocks: [{ ...firstBlock, cidr: '10.1.9.0/24' }] })],
    ['route', withStatus({ kernel: { ...first.status!.kernel!, ownRoutes: ['10.1.9.0/24'] } })],
    ['announcement', withStatus({ sessions: [{ ...firstSession, announced: [] }] })],
  ])('another %s is news, because it is a finding', (_, next) => {
    expect(isReportNews(next, first)).toBe(true);
    expect(judged([next, ...rest])).not.toEqual(judged([first, ...rest]));
  });

  test('so are another node of the name, and a block that is given back', () => {
    expect(isReportNews({ ...first, nodeUid: 'another' }, first)).toBe(true);
    expect(isReportNews({ ...first, releases: [{ cidr: '10.1.0.0/24', uid: 'u' }] }, first)).toBe(
      true,
    );
  });
});

describe('of a Node', () => {
  const before = node('a', '10.0.0.1');
  const condition = { type: 'x', status: 'True' } as ClusterNode['condition'];

  test('a heartbeat, and what we say of it, are none', () => {
    expect(isNodeNews({ ...before, resourceVersion: '2' }, before)).toBe(false);
    expect(isNodeNews({ ...before, condition, drift: condition! }, before)).toBe(false);
  });

  test.each<[string, Partial<ClusterNode>]>([
    ['the uid', { uid: 'another' }],
    ['labels', { labels: { rack: '2' } }],
    ['spec.podCIDRs', { podCidrs: ['10.1.0.0/24'] }],
    ['annotations', { annotations: { 'network.cilium.io/ipv4-pod-cidr': '10.1.0.0/24' } }],
    ['addresses', { addresses: ['10.0.0.9'] }],
    ['readiness', { isNotReady: true }],
    ['leaving', { isLeaving: true }],
  ])('%s are news', (_, change) => {
    expect(isNodeNews({ ...before, ...change }, before)).toBe(true);
    expect(isNodeNews(before, { ...before, ...change })).toBe(true);
  });
});
