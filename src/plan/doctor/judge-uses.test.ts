import { describe, expect, test } from 'vitest';
import {
  block,
  ciliumNode,
  cleanWorlds,
  node,
  nowMs,
  pool,
  report,
} from '../../../test/doctor/worlds.ts';
import { emptyState } from '../../model/cluster-state.ts';
import type { ClusterPod } from '../../model/pod.ts';
import { type Evidence, evidenceOf } from './evidence.ts';
import { judge } from './judge.ts';

/**
 * A move that went wrong, as it was seen with real agents: the register and CiliumNode
 * give n1 another block, n4 got the old one, and the agent of n1 never noticed.
 */
const moved = (more: Partial<Evidence> = {}): Evidence => ({
  ...evidenceOf(emptyState, { nowMs }),
  pools: [pool('all', ['10.50.0.0/16', '10.60.0.0/16'], { ipv4: 24 })],
  nodes: [node('n1', '192.0.2.1'), node('n4', '192.0.2.4')],
  blocks: [block('10.60.0.0/24', 'n1'), block('10.50.0.0/24', 'n4')],
  ciliumNodes: [ciliumNode('n1', '10.60.0.0/24'), ciliumNode('n4', '10.50.0.0/24')],
  ...more,
});

const pod = (name: string, at: string, address: string, more: Partial<ClusterPod> = {}) => ({
  name,
  uid: name,
  resourceVersion: '',
  namespace: 'shop',
  node: at,
  addresses: [address],
  ...more,
});
const endpoint = (name: string, nodeIp: string, address: string) => ({
  name,
  uid: name,
  resourceVersion: '',
  namespace: 'shop',
  nodeIp,
  addresses: [address],
});
const brief = (evidence: Evidence) =>
  judge(evidence).map(
    ({ reason, severity, node: name, prefix }) => `${reason} ${severity} ${name} ${prefix}`,
  );

describe('an address on two pods of two nodes is found', () => {
  const both = ['DuplicateAddress critical n1 10.50.0.28/32', 'PodsOutsideBlocks critical n1 null'];

  test('by the status of pods alone', () => {
    const pods = [pod('a', 'n1', '10.50.0.28'), pod('b', 'n4', '10.50.0.28')];
    expect(brief(moved({ pods }))).toEqual(both);
  });

  test('by CiliumEndpoints alone', () => {
    const ciliumEndpoints = [
      endpoint('a', '192.0.2.1', '10.50.0.28'),
      endpoint('b', '192.0.2.4', '10.50.0.28'),
    ];
    expect(brief(moved({ ciliumEndpoints }))).toEqual(both);
  });

  test('by CiliumInternalIP alone, before any pod has the address', () => {
    const n1 = { ...ciliumNode('n1', '10.60.0.0/24'), internalIps: ['10.50.0.17'] };
    const [finding, ...more] = judge(
      moved({ ciliumNodes: [n1, ciliumNode('n4', '10.50.0.0/24')] }),
    );
    expect(more).toEqual([]);
    expect(finding).toMatchObject({
      reason: 'AgentOnOldBlock',
      severity: 'critical',
      node: 'n1',
      owner: 'n4',
      prefix: '10.50.0.0/24',
      says: { CiliumInternalIP: '10.50.0.17 of n1', 'NodeBlock of n1': '10.60.0.0/24' },
      hurts: { now: ['n1', 'n4'], if: [] },
    });
    expect(finding?.fix).toMatch(/^move its pods away .* restart the agent .*nodeName=n1/);
  });

  test('and the cure is the restart, where the agent would give such addresses again', () => {
    const n1 = { ...ciliumNode('n1', '10.60.0.0/24'), internalIps: ['10.50.0.17'] };
    const pods = [pod('a', 'n1', '10.50.0.28'), pod('b', 'n4', '10.50.0.28')];
    const found = judge(moved({ pods, ciliumNodes: [n1, ciliumNode('n4', '10.50.0.0/24')] }));
    expect(new Set(found.map(({ fix }) => fix)).size).toBe(1);
    expect(found.map(({ reason }) => reason)).toEqual([
      'DuplicateAddress',
      'AgentOnOldBlock',
      'PodsOutsideBlocks',
    ]);
  });
});

describe('an agent that serves from another block', () => {
  const old = block('10.50.0.0/24', 'n1', { phase: 'Draining' });
  const draining = (internal: string, pods?: ClusterPod[]) =>
    moved({
      blocks: [block('10.60.0.0/24', 'n1'), old],
      nodes: [node('n1', '192.0.2.1')],
      ciliumNodes: [{ ...ciliumNode('n1', '10.60.0.0/24'), internalIps: [internal] }],
      pods,
    });
  const only = (evidence: Evidence) =>
    brief(evidence).filter((one) => one.startsWith('AgentOnOldBlock'));

  test('is a warning as long as nobody is hurt by it', () => {
    expect(only(draining('10.50.0.17'))).toEqual(['AgentOnOldBlock warning n1 10.50.0.0/24']);
    expect(only(draining('10.60.0.17'))).toEqual([]);
  });

  test('is critical with pods in that block, which nothing leads to', () => {
    expect(only(draining('10.50.0.17', [pod('a', 'n1', '10.50.0.28')]))).toEqual([
      'AgentOnOldBlock critical n1 10.50.0.0/24',
    ]);
  });

  test('is none where the address is of no block: link-local, or a delegated plugin', () => {
    expect(only(draining('169.254.23.0'))).toEqual([]);
    const [settings] = [cleanWorlds['cluster-pool of Cilium']().cilium!];
    const delegated = { ...settings, ipam: 'delegated-plugin' };
    expect(only({ ...draining('10.50.0.17'), cilium: delegated })).toEqual([]);
  });
});

describe('pods outside of their node’s blocks', () => {
  test('are not judged where pods get their addresses from elsewhere', () => {
    const nodes = [node('n1', '192.0.2.1', { podCidrs: ['10.1.0.0/24'] })];
    const pods = [pod('a', 'n1', '172.16.0.9')];
    const calico = { ...evidenceOf(emptyState, { nowMs }), nodes, pods };
    expect(brief(calico)).toEqual([]);
    const settings = cleanWorlds['cluster-pool of Cilium']().cilium!;
    expect(brief({ ...calico, cilium: { ...settings, ipam: 'eni' } })).toEqual([]);
    expect(
      brief({
        ...calico,
        cilium: { ...settings, ipam: 'kubernetes', bgp: 'off' },
      }),
    ).toEqual(['PodsOutsideBlocks critical n1 null']);
  });

  test('are not judged while they are being deleted', () => {
    const pods = [pod('a', 'n1', '10.50.0.28', { isEnding: true })];
    expect(brief(moved({ pods }))).toEqual([]);
  });

  test('are one finding, whether their agent reports it or their status shows it', () => {
    const findings = [{ reason: 'PodsOutsideBlocks', cidr: '', detail: '10.50.0.28 of shop/a' }];
    const reports = [report('n1', { findings })];
    const pods = [pod('a', 'n1', '10.50.0.28')];
    const found = judge(moved({ pods, reports })).filter(
      ({ reason }) => reason === 'PodsOutsideBlocks',
    );
    expect(found).toMatchObject([{ says: { agent: '10.50.0.28 of shop/a' } }]);
  });
});
