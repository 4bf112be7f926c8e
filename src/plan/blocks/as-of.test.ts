import { describe, expect, test } from 'vitest';
import { node, nowMs, pool } from '../../../test/doctor/worlds.ts';
import { emptyState } from '../../model/cluster-state.ts';
import { evidenceOf } from '../doctor/evidence.ts';
import { judge } from '../doctor/judge.ts';
import { stateAsOf } from './as-of.ts';

const at = (time: string) => Date.parse(`2026-01-${time}Z`);
const entry = (time: string, event: string, of: string, more: object = {}) =>
  ({
    at: `2026-01-${time}Z`,
    event,
    node: of,
    nodeUID: `uid-${of}`,
    pool: 'all',
    ...more,
  }) as never;

/** node1 had the block, left, and master2 got it; for a day node1 still announced it. */
const state = {
  ...emptyState,
  mode: 'ip-pool' as const,
  nodes: [node('master2', '10.0.0.2', { createdMs: at('02T00:00:00') })],
  pools: [pool('all', ['10.1.0.0/16'], { ipv4: 24 })],
  history: [
    {
      cidr: '10.1.0.0/24',
      dropped: 0,
      entries: [
        entry('03T10:00:00', 'Assigned', 'node1'),
        entry('03T10:00:05', 'Announced', 'node1', { peers: ['tor1', 'tor2'] }),
        entry('10T10:00:00', 'Cooling', 'node1'),
        entry('11T10:00:00', 'Released', 'node1'),
        entry('12T10:00:00', 'Assigned', 'master2'),
        entry('13T10:00:00', 'Withdrawn', 'node1'),
        entry('13T10:00:01', 'Announced', 'master2', { peers: ['tor1'] }),
      ],
    },
  ],
};

describe('as of a moment', () => {
  const asOf = (time: string) => {
    const { nodes, blocks, reports } = stateAsOf(state, at(time));
    return {
      nodes: nodes.map(({ name }) => name),
      blocks: blocks.map(({ nodeName, phase }) => `${nodeName} ${phase}`),
      sessions: reports.flatMap(({ name, status }) =>
        (status?.sessions ?? []).map(({ peer }) => `${name} ${peer}`),
      ),
    };
  };

  test.each([
    ['01T00:00:00', { nodes: [], blocks: [], sessions: [] }],
    ['03T10:00:01', { nodes: ['master2', 'node1'], blocks: ['node1 Active'], sessions: [] }],
    [
      '05T00:00:00',
      {
        nodes: ['master2', 'node1'],
        blocks: ['node1 Active'],
        sessions: ['node1 tor1', 'node1 tor2'],
      },
    ],
    [
      '10T12:00:00',
      {
        nodes: ['master2', 'node1'],
        blocks: ['node1 Cooling'],
        sessions: ['node1 tor1', 'node1 tor2'],
      },
    ],
    [
      '12T12:00:00',
      {
        nodes: ['master2', 'node1'],
        blocks: ['master2 Active'],
        sessions: ['node1 tor1', 'node1 tor2'],
      },
    ],
    ['14T00:00:00', { nodes: ['master2'], blocks: ['master2 Active'], sessions: ['master2 tor1'] }],
  ])('%s', (time, expected) => expect(asOf(time)).toEqual(expected));

  test('the same judgement finds what was wrong then, and nothing before and after', () => {
    const found = (time: string) =>
      judge(evidenceOf(stateAsOf(state, at(time)), { nowMs: at(time) })).map(
        ({ reason, node: of }) => `${reason} ${of}`,
      );
    expect(found('05T00:00:00')).toEqual([]);
    expect(found('12T12:00:00')).toContain('Detour node1');
    expect(found('14T00:00:00')).toEqual([]);
    expect(nowMs).toBeGreaterThan(at('14T00:00:00'));
  });
});
