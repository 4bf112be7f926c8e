import { describe, expect, test } from 'vitest';
import {
  blockObject,
  ciliumNodeObject,
  nodeObject,
  poolObject,
} from '../../../test/register/objects.ts';
import { stateOfObjects } from '../../model/cluster-state.ts';
import type { KubeObject } from '../../model/object.ts';
import { evidenceOf } from './evidence.ts';
import { judgeSurvey } from './judge.ts';
import { planRepair } from './repair.ts';
import { survey } from './survey.ts';

const noonMs = Date.parse('2026-02-01T12:00:00Z');

function repairOf(objects: KubeObject[]) {
  const state = stateOfObjects(
    objects.map((object) => ({ ...object, metadata: { uid: 'c', ...object.metadata } })),
    { mode: 'ip-pool' },
  );
  const seen = survey(evidenceOf(state, { nowMs: noonMs }));
  const plan = planRepair(seen, judgeSurvey(seen));
  return {
    steps: plan.steps.map((step) => `${step.do} ${step.node}`),
    advice: plan.advice.map(({ reason }) => reason),
    plan,
  };
}

const pool = poolObject('p', { cidrs: ['10.0.0.0/16'], cooldownSeconds: 60 });
const annotated = (cidr: string) => ({ 'network.cilium.io/ipv4-pod-cidr': cidr });
const held = [pool, blockObject('10.0.1.0/24', 'a', { pool: 'p' })];

describe('what is cured', () => {
  test('an annotation that alone says something else than the register, fenced by uid and value', () => {
    const { steps, advice, plan } = repairOf([
      ...held,
      nodeObject('a', { annotations: annotated('10.0.9.0/24') }),
    ]);
    expect([steps, advice]).toEqual([['correct annotations a'], []]);
    const path = '/metadata/annotations/network.cilium.io~1ipv4-pod-cidr';
    expect(plan.steps[0]).toMatchObject({
      operations: [
        { op: 'test', path: '/metadata/uid', value: 'uid-a' },
        { op: 'test', path, value: '10.0.9.0/24' },
        { op: 'add', path, value: '10.0.1.0/24' },
      ],
    });
  });

  test('a block of a node that does not exist cools; one that should have rested stays advice; a CiliumNode without a Node goes', () => {
    const { steps, advice, plan } = repairOf([
      pool,
      nodeObject('a'),
      blockObject('10.0.1.0/24', 'a', { pool: 'p' }),
      blockObject('10.0.2.0/24', 'gone', { pool: 'p' }),
      blockObject('10.0.3.0/24', 'past', { pool: 'p', phase: 'Cooling', coolingSince: 1 }),
      ciliumNodeObject('ghost', ['10.0.4.0/24']),
    ]);
    expect(steps.sort()).toEqual(['cool block gone', 'delete ciliumnode ghost']);
    expect(advice).toEqual(['StrandedBlock']);
    expect(plan.steps.find((step) => step.do === 'cool block')).toMatchObject({
      block: { name: '10-0-2-0-24', uid: 'uid-10.0.2.0/24', resourceVersion: '1' },
    });
  });
});

describe('what stays advice', () => {
  test('an annotation, where what pods use differs from the register too', () => {
    const { steps, advice } = repairOf([
      ...held,
      nodeObject('a', { annotations: annotated('10.0.9.0/24') }),
      ciliumNodeObject('a', ['10.0.9.0/24']),
    ]);
    expect(steps).toEqual([]);
    expect(advice).toContain('SourcesDisagree');
  });

  test('Node.spec.podCIDRs, which nobody can change; the annotation beside it is corrected all the same', () => {
    const spec = repairOf([...held, nodeObject('a', { podCIDRs: ['10.0.9.0/24'] })]);
    expect([spec.steps, spec.advice.includes('SourcesDisagree')]).toEqual([[], true]);
    const both = repairOf([
      ...held,
      nodeObject('a', { podCIDRs: ['10.0.9.0/24'], annotations: annotated('10.0.9.0/24') }),
    ]);
    expect(both.steps).toEqual(['correct annotations a']);
    expect(both.advice).toContain('SourcesDisagree');
  });

  test('a block of an earlier node of the name: the operator gives it back', () => {
    const { steps } = repairOf([
      pool,
      nodeObject('a', { uid: 'newer' }),
      blockObject('10.0.1.0/24', 'a', { pool: 'p' }),
    ]);
    expect(steps).toEqual([]);
  });

  test('nothing at all of a clean cluster', () => {
    const { steps, advice } = repairOf([
      ...held,
      nodeObject('a', { annotations: annotated('10.0.1.0/24') }),
    ]);
    expect([steps, advice]).toEqual([[], []]);
  });
});
