import { describe, expect, test } from 'vitest';
import { readCiliumNode } from '../../model/cilium-node.ts';
import { readNode } from '../../model/node.ts';
import { hostScopeSources, planHostScope } from './host-scope.ts';
import { Register } from './register.ts';

interface Given {
  podCIDRs?: string[];
  annotations?: Record<string, string>;
  cilium?: string[];
}

function plan(nodes: Record<string, Given>, families: 'auto' | Set<'ipv4' | 'ipv6'> = 'auto') {
  const register = new Register([...hostScopeSources, 'ciliumnode']);
  for (const [name, { podCIDRs = [], annotations = {}, cilium }] of Object.entries(nodes)) {
    register.putNode(readNode({ metadata: { name, annotations }, spec: { podCIDRs } }));
    if (cilium === undefined) continue;
    const spec = { ipam: { podCIDRs: cilium } };
    register.putCiliumNode(readCiliumNode({ metadata: { name }, spec }));
  }
  const { nodes: rows, findings } = planHostScope(register, Object.keys(nodes), { families });
  return {
    blocks: Object.fromEntries(rows.map(({ name, blocks }) => [name, blocks.map((b) => b.cidr)])),
    refused: rows.flatMap(({ name, refused }) =>
      refused.map(({ family, reason }) => `${name} ${family} ${reason}`),
    ),
    findings: findings.map(({ reason, nodes: names }) => `${reason} ${names.join(' ')}`),
  };
}

const newName = 'network.cilium.io/ipv4-pod-cidr';
const oldName = 'io.cilium.network.ipv4-pod-cidr';

describe('mode kubernetes', () => {
  test('Node.spec is the truth; the annotation speaks where it is silent, the new name first', () => {
    const { blocks, refused } = plan({
      a: { podCIDRs: ['10.0.1.0/24'], annotations: { [newName]: '10.0.9.0/24' } },
      b: { annotations: { [newName]: '10.0.2.0/24', [oldName]: '10.0.8.0/24' } },
      c: { annotations: { [oldName]: '10.0.3.0/24' } },
    });
    expect(blocks).toEqual({ a: ['10.0.1.0/24'], b: ['10.0.2.0/24'], c: ['10.0.3.0/24'] });
    expect(refused).toEqual([]);
  });

  test('a CiliumNode is never believed, but heard: the incident is found in this mode too', () => {
    const { blocks, refused, findings } = plan({
      a: { podCIDRs: ['10.0.1.0/24'], cilium: ['10.0.2.0/24'] },
      b: { cilium: ['10.0.1.0/24'] },
    });
    expect(blocks).toEqual({ a: ['10.0.1.0/24'], b: [] });
    expect(refused).toEqual(['b ipv4 NoBlockRecorded']);
    expect(findings).toEqual(['SourcesDisagree a']);
  });

  test('a family that others have is missed; one that is switched on is missed anyway', () => {
    const both = ['10.0.1.0/24', 'fd00:1::/64'];
    expect(plan({ a: { podCIDRs: both }, b: { podCIDRs: ['10.0.2.0/24'] } }).refused).toEqual([
      'b ipv6 NoBlockRecorded',
    ]);
    expect(plan({ a: { podCIDRs: both } }, new Set(['ipv4', 'ipv6'])).refused).toEqual([]);
    expect(plan({ a: {} }, new Set(['ipv6'])).refused).toEqual(['a ipv6 NoBlockRecorded']);
    expect(plan({ a: {} }).refused).toEqual(['a ipv4 NoBlockRecorded']);
  });

  test('blocks that two nodes hold, and blocks that overlap, name both', () => {
    const { findings } = plan({
      a: { podCIDRs: ['10.0.1.0/24'] },
      b: { podCIDRs: ['10.0.1.0/24'] },
      c: { podCIDRs: ['10.0.0.0/23'] },
    });
    expect(findings).toEqual([
      'DuplicateBlock a b',
      'OverlappingBlocks a c',
      'OverlappingBlocks b c',
    ]);
  });
});
