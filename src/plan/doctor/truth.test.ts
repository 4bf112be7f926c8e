import { describe, expect, test } from 'vitest';
import { block, cilium, ciliumNode, cleanWorlds, node, pool } from '../../../test/doctor/worlds.ts';
import {
  parseCiliumVersion,
  readCiliumConfig,
  readCiliumVersion,
} from '../../model/cilium-config.ts';
import { modes } from '../../model/modes.ts';
import { findTruth, type Truth, trueBlocks } from '../blocks/truth.ts';
import { announcedRecord } from './announced.ts';
import type { Evidence } from './evidence.ts';
import { judge } from './judge.ts';

const bare = (): Evidence => ({ ...cleanWorlds['kubernetes without Cilium'](), nodes: [] });

describe('which record is the truth', () => {
  const withCilium = (ipam: string): Evidence => ({ ...bare(), cilium: cilium({ ipam }) });
  const onePool = pool('p', ['10.1.0.0/16'], { ipv4: 24 });

  test.each([
    ['nothing but Nodes', bare(), 'node'],
    ['NodeBlocks', { ...bare(), blocks: [block('10.1.0.0/24', 'a')] }, 'register'],
    [
      'NodeBlocks beside a Cilium',
      { ...withCilium('kubernetes'), blocks: [block('10.1.0.0/24', 'a')] },
      'register',
    ],
    [
      'guards alone',
      { ...bare(), blocks: [block('10.1.0.0/24', '', { phase: 'Guard' as const })] },
      'node',
    ],
    ['ipam: cluster-pool', withCilium('cluster-pool'), 'ciliumnode'],
    ['ipam: cluster-pool-v2beta', withCilium('cluster-pool-v2beta'), 'ciliumnode'],
    ['ipam: multi-pool', withCilium('multi-pool'), 'ciliumnode'],
    ['ipam: kubernetes', withCilium('kubernetes'), 'node'],
    ['ipam: eni', withCilium('eni'), 'ciliumnode'],
    [
      'IPPools over a running cluster-pool',
      { ...withCilium('cluster-pool'), pools: [onePool] },
      'ciliumnode',
    ],
    [
      'CiliumNodes without cilium-config',
      { ...bare(), ciliumNodes: [ciliumNode('a', '10.1.0.0/24')] },
      'ciliumnode',
    ],
    ['CiliumNodes that say nothing', { ...bare(), ciliumNodes: [ciliumNode('a')] }, 'node'],
    [
      '--ipam kubernetes over all',
      {
        ...withCilium('cluster-pool'),
        mode: 'kubernetes' as const,
        blocks: [block('10.1.0.0/24', 'a')],
      },
      'node',
    ],
    [
      '--ipam cluster-pool, nothing registered',
      { ...bare(), mode: 'cluster-pool' as const },
      'ciliumnode',
    ],
  ])('%s', (_, evidence, record) => {
    expect(findTruth(evidence).record).toBe(record);
  });

  test('IPPools are known before the first block is cut, whatever else is silent', () => {
    for (const world of [bare(), withCilium('kubernetes')]) {
      const { mode, record } = findTruth({ ...world, pools: [onePool] });
      expect([mode.name, record]).toEqual(['ip-pool', 'register']);
    }
  });

  test("a cloud's addresses are not judged, whatever Node.spec says", () => {
    const evidence = {
      ...withCilium('eni'),
      nodes: [
        node('a', '10.0.0.1', { podCidrs: ['10.1.0.0/24'] }),
        node('b', '10.0.0.2', { podCidrs: ['10.1.0.0/24'] }),
      ],
    };
    expect(judge(evidence)).toEqual([]);
  });

  test('a NodeBlock of an earlier node of the same name is not this one’s', () => {
    const evidence = { ...bare(), blocks: [block('10.1.0.0/24', 'a', { nodeUid: 'older' })] };
    const truth = findTruth(evidence);
    expect(trueBlocks(truth, node('a', '10.0.0.1'), undefined, evidence.blocks)).toEqual([]);
    // Objects in files may have no uid.
    const unnamed = [block('10.1.0.0/24', 'a', { nodeUid: '' })];
    expect(trueBlocks(truth, node('a', '10.0.0.1'), undefined, unnamed).map(String)).toEqual([
      '10.1.0.0/24',
    ]);
  });

  test('an IPPool without NodeBlocks: nothing is given out yet, and what nodes hold counts', () => {
    const evidence = {
      ...bare(),
      mode: 'ip-pool' as const,
      pools: [pool('all', ['10.1.0.0/16'], { ipv4: 24 })],
    };
    const truth = findTruth(evidence);
    expect(truth.record).toBe('register');
    const held = node('a', '10.0.0.1', { podCidrs: ['10.1.7.0/24'] });
    expect(trueBlocks(truth, held, undefined, []).map(String)).toEqual(['10.1.7.0/24']);
  });
});

describe('what a Cilium announces', () => {
  const truth: Truth = {
    mode: modes['cluster-pool'],
    record: 'ciliumnode',
    sources: ['ciliumnode'],
    why: '',
  };
  const bgp = { ipam: 'cluster-pool', 'bgp-announce-pod-cidr': 'true' };

  test.each([
    [10, bgp, 'Node.spec'],
    [11, bgp, 'Node.spec'],
    [12, bgp, 'CiliumNode'],
    [14, { ipam: 'kubernetes', 'bgp-announce-pod-cidr': 'true' }, 'Node.spec'],
    [16, { ipam: 'cluster-pool', 'enable-bgp-control-plane': 'true' }, 'unknown'],
  ])('1.%i with %j: %s', (minor, data, record) => {
    const by = announcedRecord({ cilium: cilium(data, minor) }, truth);
    expect(by.kind === 'record' ? by.record : by.kind).toBe(record);
  });

  test('nothing where BGP is off, and nobody knows without the version', () => {
    expect(announcedRecord({ cilium: cilium({ ipam: 'cluster-pool' }, 11) }, truth).kind).toBe(
      'nothing',
    );
    expect(announcedRecord({ cilium: cilium(bgp) }, truth).kind).toBe('unknown');
    expect(announcedRecord({}, truth).kind).toBe('unknown');
  });

  test.each([
    ['quay.io/cilium/cilium:v1.11.4@sha256:d9d4c77', '1.11'],
    ['registry.example:5000/cilium/cilium:v1.15.0-rc.1', '1.15'],
    ['docker.io/cilium/cilium:1.9.18', '1.9'],
    ['rancher/mirrored-cilium-cilium:v1.12.3', '1.12'],
    ['1.11', '1.11'],
    ['v1.13', '1.13'],
    ['quay.io/cilium/cilium:latest', undefined],
    ['registry.example:5000/cilium', undefined],
    ['quay.io/cilium/cilium-ci@sha256:0123', undefined],
  ])('the version of %s is %s', (text, version) => {
    const read = parseCiliumVersion(text);
    expect(read && `${read.major}.${read.minor}`).toBe(version);
  });

  test('the agent’s container decides, not the one before it', () => {
    const containers = [
      { name: 'mesh', image: 'envoy:v1.30.0' },
      { name: 'cilium-agent', image: 'quay.io/cilium/cilium:v1.11.4' },
    ];
    const read = readCiliumVersion({
      kind: 'DaemonSet',
      spec: { template: { spec: { containers } } },
    });
    expect(read?.minor).toBe(11);
  });

  test('settings that cannot be understood are said, and the rest is used', () => {
    const read = readCiliumConfig({
      kind: 'ConfigMap',
      data: {
        ipam: 'cluster-pool',
        'enable-ipv6': 'yes',
        'cluster-pool-ipv4-mask-size': 'large',
        'cluster-pool-ipv4-cidr': '10.1.0.0/16, 10.2.0.0/16',
      },
    });
    expect(read.clusterPool.ipv4).toEqual({ cidrs: ['10.1.0.0/16', '10.2.0.0/16'], maskSize: 24 });
    expect(read.problems).toEqual([
      'cluster-pool-ipv4-mask-size: "large" is not a prefix length',
      'enable-ipv6: "yes" is neither true nor false',
    ]);
  });
});
