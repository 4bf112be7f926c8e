import { describe, expect, test } from 'vitest';
import { node } from '../../../test/register/objects.ts';
import type { Condition } from '../../model/object.ts';
import { conditionWrites, DriftRecord, driftWords } from './drift.ts';
import type { DoctorFinding } from './finding.ts';

function finding(more: Partial<DoctorFinding> = {}): DoctorFinding {
  return {
    reason: 'NotAnnounced',
    severity: 'critical',
    node: 'node1',
    prefix: '10.5.112.0/24',
    owner: 'node1',
    says: { register: 'node1', 'session tor1': 'Established, not announced' },
    hurts: { now: ['node1'], if: [] },
    fix: 'see the sessions of node1',
    ...more,
  };
}

describe('what stays wrong', () => {
  test('is told at the second look, once, and is cured by one look without it', () => {
    const record = new DriftRecord();
    expect(record.take([finding()]).fresh).toEqual([]);
    expect([record.hasUnconfirmed, record.counts().size]).toEqual([true, 0]);
    expect(record.take([finding()]).fresh).toHaveLength(1);
    expect([...record.counts()]).toEqual([['NotAnnounced', 1]]);
    // The same fault with other words is not another fault.
    expect(record.take([finding({ says: {} })]).fresh).toEqual([]);
    expect(record.take([]).cured).toHaveLength(1);
    expect([record.hasUnconfirmed, record.counts().size]).toEqual([false, 0]);
  });

  test('what comes and goes is never told', () => {
    const record = new DriftRecord();
    for (let turn = 0; turn < 6; turn++) {
      const { fresh, cured } = record.take(turn % 2 === 0 ? [finding()] : []);
      expect([fresh, cured]).toEqual([[], []]);
    }
  });
});

describe('the condition', () => {
  const at = '2026-02-01T12:00:00.000Z';
  const drifting = (message: string, status: 'True' | 'False' = 'True'): Condition => ({
    type: 'CadastreDrift',
    status,
    reason: status === 'True' ? 'NotAnnounced' : 'NoDrift',
    message,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const standing = (...findings: DoctorFinding[]) => new Map([['node1', findings]]);

  test('comes with a fault, changes with its words, goes with its cure, and else costs no write', () => {
    const plain = node('node1');
    expect(conditionWrites([plain, node('other')], standing(), at)).toEqual([]);
    const [first, ...others] = conditionWrites([plain, node('other')], standing(finding()), at);
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      node: 'node1',
      condition: { status: 'True', reason: 'NotAnnounced', lastTransitionTime: at },
    });
    const told = { ...plain, drift: first!.condition };
    expect(conditionWrites([told], standing(finding()), at)).toEqual([]);
    const [cured] = conditionWrites([told], new Map(), at);
    expect(cured?.condition).toMatchObject({ status: 'False', reason: 'NoDrift' });
    expect(conditionWrites([{ ...plain, drift: cured!.condition }], new Map(), at)).toEqual([]);
    const [again] = conditionWrites(
      [{ ...plain, drift: drifting('old words') }],
      standing(finding()),
      at,
    );
    // Still drifting: other words are no transition.
    expect(again?.condition.lastTransitionTime).toBe('2026-01-01T00:00:00Z');
  });

  test('names the worst first, and counts what has no room', () => {
    const many = [
      finding({ reason: 'SourcesDisagree', severity: 'warning' }),
      ...['a', 'b', 'c'].map((prefix) => finding({ prefix })),
    ];
    const [write] = conditionWrites([node('node1')], standing(...many), at);
    expect(write?.condition.reason).toBe('NotAnnounced');
    expect(write?.condition.message).toMatch(/^NotAnnounced: a of node1.* \| and 1 more$/);
  });

  test('says the place, the records and the cure', () => {
    expect(driftWords(finding())).toBe(
      '10.5.112.0/24 of node1: register says node1, session tor1 says Established, not announced; see the sessions of node1',
    );
  });
});
