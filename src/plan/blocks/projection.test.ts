import { describe, expect, test } from 'vitest';
import { jsonPatched } from '../../../test/register/api-model.ts';
import {
  at,
  ciliumNodeObject,
  type NodeSpec,
  node,
  nodeObject,
} from '../../../test/register/objects.ts';
import { readCiliumNode } from '../../model/cilium-node.ts';
import { readNode } from '../../model/node.ts';
import type { KubeObject } from '../../model/object.ts';
import {
  immutableDisagreement,
  type ProjectionSwitches,
  projectOnCiliumNode,
  projectOnNode,
} from './projection.ts';

const off: ProjectionSwitches = { annotations: false, nodeSpec: false, ciliumNode: false };
const annotations = { ...off, annotations: true };
const nodeSpec = { ...off, nodeSpec: true };
const ciliumNode = { ...off, ciliumNode: true };
const both = [at('10.0.0.0/24'), at('fd00::/64')];

const uidTest = (uid: string) => ({ op: 'test', path: '/metadata/uid', value: uid });

describe('the annotations of a Node', () => {
  const all = {
    'network.cilium.io/ipv4-pod-cidr': '10.0.0.0/24',
    'io.cilium.network.ipv4-pod-cidr': '10.0.0.0/24',
    'network.cilium.io/ipv6-pod-cidr': 'fd00::/64',
    'io.cilium.network.ipv6-pod-cidr': 'fd00::/64',
  };

  test('carry both families under both names, all at once where there were none', () => {
    expect(projectOnNode(node('n'), both, true, annotations)).toEqual({
      kind: 'patch',
      operations: [
        uidTest('uid-n'),
        { op: 'test', path: '/metadata/annotations', value: null },
        { op: 'add', path: '/metadata/annotations', value: all },
      ],
      overwrites: [],
    });
  });

  test('are written one by one beside others, each testing what it replaces', () => {
    const before = { 'network.cilium.io/ipv4-pod-cidr': '10.9.0.0/24', 'example.com/x': 'y' };
    expect(
      projectOnNode(node('n', { annotations: before }), [both[0]!], true, annotations),
    ).toEqual({
      kind: 'patch',
      operations: [
        uidTest('uid-n'),
        {
          op: 'test',
          path: '/metadata/annotations/network.cilium.io~1ipv4-pod-cidr',
          value: '10.9.0.0/24',
        },
        {
          op: 'add',
          path: '/metadata/annotations/network.cilium.io~1ipv4-pod-cidr',
          value: '10.0.0.0/24',
        },
        {
          op: 'test',
          path: '/metadata/annotations/io.cilium.network.ipv4-pod-cidr',
          value: null,
        },
        {
          op: 'add',
          path: '/metadata/annotations/io.cilium.network.ipv4-pod-cidr',
          value: '10.0.0.0/24',
        },
      ],
      overwrites: ['10.9.0.0/24'],
    });
  });

  test('that are right already cost no write', () => {
    const right = node('n', { annotations: all });
    expect(projectOnNode(right, both, true, annotations)).toEqual({ kind: 'none' });
  });

  test('of several blocks carry the oldest', () => {
    const blocks = [at('10.0.7.0/24'), at('10.0.0.0/24')];
    const result = projectOnNode(node('n'), blocks, true, annotations);
    expect(JSON.stringify(result)).toContain('10.0.7.0/24');
    expect(JSON.stringify(result)).not.toContain('10.0.0.0/24');
  });

  test('are not touched where they are switched off, or where there is no block', () => {
    expect(projectOnNode(node('n'), both, true, off)).toEqual({ kind: 'none' });
    expect(projectOnNode(node('n'), [], true, annotations)).toEqual({ kind: 'none' });
  });
});

describe('Node.spec.podCIDRs', () => {
  test('is set once, with both families in one patch', () => {
    expect(projectOnNode(node('n'), both, true, nodeSpec)).toEqual({
      kind: 'patch',
      operations: [
        uidTest('uid-n'),
        { op: 'test', path: '/spec/podCIDR', value: null },
        { op: 'add', path: '/spec/podCIDR', value: '10.0.0.0/24' },
        { op: 'add', path: '/spec/podCIDRs', value: ['10.0.0.0/24', 'fd00::/64'] },
      ],
      overwrites: [],
    });
  });

  test('waits until every family is there: the other could never be added', () => {
    expect(projectOnNode(node('n'), [both[0]!], false, nodeSpec)).toEqual({ kind: 'none' });
  });

  test('is left alone once it says anything', () => {
    const taken = node('n', { podCIDRs: ['10.9.0.0/24'] });
    expect(projectOnNode(taken, both, true, nodeSpec)).toEqual({ kind: 'none' });
  });

  test.each<[string, NodeSpec, boolean]>([
    ['says the same', { podCIDRs: ['10.0.0.0/24', 'fd00::/64'] }, false],
    ['says the same with host bits', { podCIDRs: ['10.0.0.7/24', 'fd00::/64'] }, false],
    ['says something else', { podCIDRs: ['10.9.0.0/24', 'fd00::/64'] }, true],
    ['says something that is no CIDR', { podCIDRs: ['x', 'fd00::/64'] }, true],
    ['lacks a family', { podCIDRs: ['10.0.0.0/24'] }, true],
    ['says nothing yet', {}, false],
  ])('that %s: is it a disagreement for ever?', (_, spec, isOne) => {
    const said = immutableDisagreement(node('n', spec), both, nodeSpec);
    expect(said !== undefined).toBe(isOne);
    expect(immutableDisagreement(node('n', spec), both, off)).toBeUndefined();
    expect(immutableDisagreement(node('n', spec), [], nodeSpec)).toBeUndefined();
  });

  test('the sentence says what it is, what it should be and the only cure', () => {
    const other = node('n', { podCIDRs: ['10.9.0.0/24'] });
    expect(immutableDisagreement(other, both, nodeSpec)).toBe(
      'Node.spec.podCIDRs of n is 10.9.0.0/24 and cannot be changed to 10.0.0.0/24, fd00::/64 while the Node exists',
    );
  });
});

describe('the CiliumNode', () => {
  const project = (object: KubeObject | undefined, blocks = both) =>
    projectOnCiliumNode(object && readCiliumNode(object), blocks, ciliumNode);
  const bare = (spec?: object): KubeObject => ({
    kind: 'CiliumNode',
    metadata: { name: 'n', uid: 'c' },
    ...(spec ? { spec } : {}),
  });

  test('is never made: the agent makes its own, and without one nobody reads it', () => {
    expect(project(undefined)).toEqual({ kind: 'none' });
  });

  test.each([
    [undefined, '/spec', null, { ipam: { podCIDRs: ['10.0.0.0/24', 'fd00::/64'] } }],
    [{ health: {} }, '/spec/ipam', null, { podCIDRs: ['10.0.0.0/24', 'fd00::/64'] }],
    [{ ipam: { pools: {} } }, '/spec/ipam/podCIDRs', null, ['10.0.0.0/24', 'fd00::/64']],
    [{ ipam: { podCIDRs: [] } }, '/spec/ipam/podCIDRs', [], ['10.0.0.0/24', 'fd00::/64']],
    [
      { ipam: { podCIDRs: ['10.9.0.0/24'] } },
      '/spec/ipam/podCIDRs',
      ['10.9.0.0/24'],
      ['10.0.0.0/24', 'fd00::/64'],
    ],
  ])(
    'with spec %j is patched at %s, testing that nobody was quicker',
    (spec, path, before, after) => {
      expect(project(bare(spec))).toMatchObject({
        kind: 'patch',
        operations: [
          uidTest('c'),
          { op: 'test', path, value: before },
          { op: 'add', path, value: after },
        ],
      });
    },
  );

  test('a patch from an old copy does not wipe out what the agent wrote meanwhile', () => {
    const patch = project(bare());
    const meanwhile = bare({ addresses: [{ ip: '10.4.0.1' }] });
    expect(patch.kind === 'patch' && jsonPatched(meanwhile, patch.operations)).toBeUndefined();
    expect(patch.kind === 'patch' && jsonPatched(bare(), patch.operations)).toMatchObject({
      spec: { ipam: { podCIDRs: ['10.0.0.0/24', 'fd00::/64'] } },
    });
  });

  test('carries all blocks; what it names and the register does not is an overwrite', () => {
    const result = project(ciliumNodeObject('n', ['10.9.0.0/24', '10.0.0.0/24']));
    expect(result).toMatchObject({ overwrites: ['10.9.0.0/24'] });
  });

  test('costs no write when it is right, in any order, or off, or there is no block', () => {
    const right = ciliumNodeObject('n', ['fd00::/64', '10.0.0.0/24']);
    expect(project(right)).toEqual({ kind: 'none' });
    expect(project(right, [])).toEqual({ kind: 'none' });
    expect(projectOnCiliumNode(readCiliumNode(bare()), both, off)).toEqual({ kind: 'none' });
  });
});

describe('a patch made from an old copy', () => {
  const object = nodeObject('n', { annotations: { 'example.com/x': 'y' } });
  const project = (from: KubeObject) => projectOnNode(readNode(from), both, true, annotations);
  const apply = (to: KubeObject) => {
    const patch = project(object);
    return patch.kind === 'patch' ? jsonPatched(to, patch.operations) : undefined;
  };

  test('is refused as a whole if the Node is another one by now', () => {
    expect(apply(nodeObject('n', { uid: 'another' }))).toBeUndefined();
  });

  test('is refused if somebody wrote the record meanwhile', () => {
    const written = { 'io.cilium.network.ipv6-pod-cidr': 'fd00:9::/64' };
    expect(apply(nodeObject('n', { annotations: written }))).toBeUndefined();
  });

  test('is not disturbed by what is none of its business', () => {
    const labelled = nodeObject('n', { labels: { a: 'b' }, annotations: { 'example.com/x': 'z' } });
    const patched = apply(labelled);
    expect(patched?.metadata?.annotations).toMatchObject({
      'example.com/x': 'z',
      'network.cilium.io/ipv6-pod-cidr': 'fd00::/64',
    });
    expect(project(patched!)).toEqual({ kind: 'none' });
  });
});
