import { describe, expect, test } from 'vitest';
import { nodeConditionType } from '../../model/keys.ts';
import { readNode } from '../../model/node.ts';
import { type BlockPhase, readBlock } from '../../model/node-block.ts';
import type { KubeObject } from '../../model/object.ts';
import { nodeTruth, ownedBlocksByNode } from './node-truth.ts';

const node = (name = 'n1', more: KubeObject = {}, uid = `uid-${name}`) =>
  readNode({ ...more, metadata: { name, uid, ...more.metadata } });

function block(cidr: string, nodeName = 'n1', phase: BlockPhase = 'Active', uid?: string) {
  const spec = { cidr, pool: 'p', phase, node: { name: nodeName, uid: uid ?? `uid-${nodeName}` } };
  const read = readBlock({ metadata: { name: cidr, uid: `of ${cidr}` }, spec });
  if (read.kind === 'malformed') throw new Error(read.problem);
  return read.block;
}

describe('in the register', () => {
  const rules = { source: 'register', families: 'auto' } as const;

  test("a node's blocks are those that name it and its uid, sorted, with the draining ones marked", () => {
    const truth = nodeTruth(rules, node(), [
      block('10.5.114.0/24', 'n1', 'Draining'),
      block('10.5.113.0/24'),
      block('10.5.115.0/24', 'n2'),
      block('10.5.116.0/24', 'n1', 'Active', 'an earlier n1'),
      block('10.5.117.0/24', 'n1', 'Cooling'),
    ]);
    expect(truth.kind).toBe('blocks');
    expect(truth.blocks.map(({ prefix, isDraining }) => `${prefix} ${isDraining}`)).toEqual([
      '10.5.113.0/24 false',
      '10.5.114.0/24 true',
    ]);
  });

  test('Node.spec and annotations are projections and count for nothing', () => {
    const truth = nodeTruth(
      rules,
      node('n1', {
        metadata: { annotations: { 'network.cilium.io/ipv4-pod-cidr': '10.5.112.0/24' } },
        spec: { podCIDRs: ['10.5.112.0/24'] },
      }),
      [],
    );
    expect(truth).toMatchObject({ kind: 'incomplete', blocks: [], reason: 'WaitingForBlocks' });
  });

  test('with both families wanted one is not enough, and a draining one is no use to a new pod', () => {
    const both = { source: 'register', families: new Set(['ipv4', 'ipv6'] as const) } as const;
    expect(nodeTruth(both, node(), [block('10.5.113.0/24')])).toMatchObject({
      kind: 'incomplete',
      missing: ['ipv6'],
      detail: 'no NodeBlock gives n1 (uid uid-n1) a ipv6 block yet',
    });
    const draining = [block('10.5.113.0/24'), block('fd00::/64', 'n1', 'Draining')];
    expect(nodeTruth(both, node(), draining)).toMatchObject({ missing: ['ipv6'] });
    expect(nodeTruth(both, node(), [block('10.5.113.0/24'), block('fd00::/64')]).kind).toBe(
      'blocks',
    );
  });

  test("why there is none is the operator's word, where it has left one", () => {
    const condition = {
      type: nodeConditionType,
      status: 'False',
      reason: 'PoolExhausted',
      message: 'ipv4: pool rack-83 is full',
    };
    expect(nodeTruth(rules, node('n1', { status: { conditions: [condition] } }), [])).toMatchObject(
      {
        reason: 'PoolExhausted',
        detail: 'the operator could not serve n1: ipv4: pool rack-83 is full',
      },
    );
  });

  test('of all nodes at once it says the same as of each', () => {
    const nodes = [node('n1'), node('n2'), node('n3')];
    const blocks = [block('10.0.1.0/24', 'n2'), block('10.0.0.0/24'), block('10.0.2.0/24')];
    const byNode = ownedBlocksByNode('register', nodes, blocks);
    expect([...byNode].map(([name, own]) => [name, own.map((b) => `${b.prefix}`)])).toEqual([
      ['n1', ['10.0.0.0/24', '10.0.2.0/24']],
      ['n2', ['10.0.1.0/24']],
    ]);
  });
});

describe('in mode kubernetes', () => {
  const rules = { source: 'node', families: 'auto' } as const;
  const annotated = (annotations: Record<string, string>, podCIDRs?: string[]) =>
    nodeTruth(rules, node('n1', { metadata: { annotations }, spec: { podCIDRs } }), [
      block('10.9.9.0/24'),
    ]).blocks.map(({ prefix }) => prefix.toString());

  test('Node.spec.podCIDRs first, then the annotation, the new name before the old', () => {
    const fresh = { 'network.cilium.io/ipv4-pod-cidr': '10.0.1.0/24' };
    const old = { 'io.cilium.network.ipv4-pod-cidr': '10.0.2.0/24' };
    expect(annotated({ ...fresh, ...old }, ['10.0.0.0/24'])).toEqual(['10.0.0.0/24']);
    expect(annotated({ ...fresh, ...old })).toEqual(['10.0.1.0/24']);
    expect(annotated(old)).toEqual(['10.0.2.0/24']);
  });

  test('a family at a time, and host bits are cleared', () => {
    const six = { 'network.cilium.io/ipv6-pod-cidr': 'fd00::/64' };
    expect(annotated(six, ['10.10.5.3/24'])).toEqual(['10.10.5.0/24', 'fd00::/64']);
  });

  test('nothing recorded is said as it is', () => {
    expect(nodeTruth(rules, node(), [])).toMatchObject({ reason: 'NoBlockRecorded' });
  });
});
