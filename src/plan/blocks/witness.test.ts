import { describe, expect, test } from 'vitest';
import {
  type BlockSpec,
  block,
  node,
  type PoolSpec,
  pool,
  type ReportSpec,
  reportObject,
} from '../../../test/register/objects.ts';
import { readNodeReport } from '../../model/node-report.ts';
import { awaitingWords, findWitness, type WitnessCase } from './witness.ts';

const cidr = '10.0.0.0/24';
const report = (spec: ReportSpec = {}) => readNodeReport(reportObject('n', spec));
const ofPool = (spec: Partial<PoolSpec> = {}) => pool('pool', { cidrs: ['10.0.0.0/16'], ...spec });
const clear = (forSeconds: number) =>
  ({ kind: 'clear', routers: ['tor1', 'tor2'], forSeconds }) as const;

/** A block of a node that is gone, has rested for an hour, and of which nobody says anything. */
function find(more: Partial<Omit<WitnessCase, 'block'>> & { spec?: BlockSpec } = {}) {
  const { spec, ...known } = more;
  return findWitness({
    block: block(cidr, 'n', { phase: 'Cooling', ...spec }),
    pool: ofPool(),
    cooldownSeconds: 300,
    restedSeconds: 3_600,
    node: undefined,
    report: undefined,
    isRecorded: false,
    routers: { kind: 'none' },
    ...known,
  });
}
const by = (...args: Parameters<typeof find>) => {
  const verdict = find(...args);
  return verdict.kind === 'witness' ? verdict.by : verdict.kind;
};
const missing = (...args: Parameters<typeof find>) => {
  const verdict = find(...args);
  return verdict.kind === 'awaiting' ? verdict.missing : [verdict.kind];
};

describe('an agent that only announces', () => {
  const announcer = (spec: ReportSpec = {}) =>
    readNodeReport({
      ...reportObject('n', spec),
      spec: { ...(reportObject('n', spec).spec as object), scope: 'Announcements' },
    });

  test('is no witness, whatever its report says', () => {
    expect(by({ report: announcer({ releases: [cidr] }) })).toBe('awaiting');
    expect(by({ report: announcer({ fenced: [cidr] }) })).toBe('awaiting');
    expect(missing({ report: announcer() })[0]).toBe(
      'the agent of n only announces its blocks, and does not know whether pods use them',
    );
  });

  test('routers are believed only if nothing else is left of the node', () => {
    const known = {
      report: { ...announcer(), reconfirmAfterSeconds: 150 },
      routers: clear(3_600),
    };
    expect(by(known)).toBe('look for traces');
    expect(by({ ...known, traces: ['2 Pods of n'] })).toBe('awaiting');
    expect(by({ ...known, traces: [] })).toBe('Routers');
  });

  test('a block of a live Node that no record names is free, as without an agent', () => {
    const live = { node: node('n', { uid: 'uid-n' }), report: announcer() };
    expect(by({ ...live, isRecorded: true })).toBe('awaiting');
  });
});

describe('the agent', () => {
  test('gave the block back, or fenced it', () => {
    expect(by({ report: report({ releases: [cidr] }) })).toBe('Agent');
    expect(by({ report: report({ fenced: [cidr] }) })).toBe('Fenced');
  });

  test('of another Node of that name, or about another block, says nothing', () => {
    const nodeUid = 'another';
    expect(by({ report: report({ nodeUid, fenced: [cidr] }) })).toBe('awaiting');
    expect(by({ report: report({ nodeUid, releases: [cidr] }) })).toBe('awaiting');
    expect(by({ report: report({ fenced: ['10.0.1.0/24'] }) })).toBe('awaiting');
  });

  test('whose report stays as it is, is not fenced', () => {
    expect(missing({ report: report() })).toEqual([
      'the agent of n has not reported the block as fenced',
      'no router of the node is known',
      'time alone does not release it: its pool has no releaseByTimeSeconds',
    ]);
  });

  test('is not asked whether it is fenced while its Node is there', () => {
    expect(by({ node: node('n'), report: report({ fenced: [cidr] }) })).toBe('awaiting');
    expect(by({ node: node('n'), report: report({ releases: [cidr] }) })).toBe('Agent');
  });

  test('where there is none, and no record names the block, a live node does not use it', () => {
    expect(by({ node: node('n'), traces: [] })).toBe('NoRecord');
    expect(by({ node: node('n'), isRecorded: true })).toBe('awaiting');
  });

  test('records alone are not enough: what lives in the block is looked for, and named', () => {
    expect(by({ node: node('n') })).toBe('look for traces');
    const traces = ['1 pod has addresses in it'];
    expect(find({ node: node('n'), traces })).toEqual({ kind: 'awaiting', missing: traces });
  });
});

describe('a report that another agent may have written', () => {
  const doubt = 'there is no policy';

  test('gives nothing back and fences nothing, and that is said', () => {
    expect(missing({ doubt, report: report({ fenced: [cidr] }) })[0]).toBe(
      'the report of n says that it does not use the block, but any agent could have written it: there is no policy',
    );
    expect(find({ doubt, report: report({ fenced: [cidr] }) })).toMatchObject({ isDoubted: true });
    expect(missing({ doubt, node: node('n'), report: report({ releases: [cidr] }) })).toEqual([
      'the report of n says that it gave the block back, but any agent could have written it: there is no policy',
    ]);
  });

  test('that says nothing for a release needs no belief', () => {
    expect(find({ doubt, report: report() })).not.toHaveProperty('isDoubted');
  });

  test('does not make the block one without a record by naming another Node', () => {
    const another = report({ nodeUid: 'another' });
    expect(by({ node: node('n'), report: another, traces: [] })).toBe('NoRecord');
    expect(by({ doubt, node: node('n'), report: another })).toBe('awaiting');
  });

  test('does not shorten how long routers must have been clear', () => {
    const hasty = report({ reconfirmAfterSeconds: 1 });
    expect(by({ report: hasty, routers: clear(2) })).toBe('Routers');
    expect(by({ doubt, report: hasty, routers: clear(2) })).toBe('awaiting');
    expect(by({ doubt, report: hasty, routers: clear(300) })).toBe('Routers');
  });

  test('promises nothing that would let time alone release the block', () => {
    const spec = { releaseByTimeSeconds: 600 };
    const promise = report({ silentAfter: { [cidr]: 300 } });
    expect(by({ spec, report: promise, traces: [] })).toBe('Time');
    expect(by({ doubt, spec, report: promise, traces: [] })).toBe('awaiting');
    expect(by({ doubt, spec: {}, report: undefined, traces: [] })).toBe('Time');
  });
});

describe('the routers', () => {
  test('are enough when they were clear for twice the time after which the agent asks again', () => {
    const own = report({ reconfirmAfterSeconds: 60 });
    expect(by({ report: own, routers: clear(120) })).toBe('Routers');
    expect(by({ report: own, routers: clear(119) })).toBe('awaiting');
    // As long as that the block itself must have been cooling, too.
    expect(by({ report: own, routers: clear(120), restedSeconds: 119 })).toBe('awaiting');
  });

  test('are not enough for an agent that does not say when it asks again', () => {
    expect(by({ report: report(), routers: clear(1e9) })).toBe('awaiting');
    const other = report({ nodeUid: 'another', reconfirmAfterSeconds: 60 });
    expect(by({ report: other, routers: clear(1e9) })).toBe('awaiting');
  });

  test('that are silent or still hold the block are named', () => {
    const routers = { kind: 'not clear', unheard: ['tor1'], holding: ['tor2'] } as const;
    expect(missing({ report: report({ reconfirmAfterSeconds: 1 }), routers })).toEqual([
      'the agent of n has not reported the block as fenced',
      'not heard completely: tor1',
      'still with a route to 10.0.0.0/24 or a session with the node: tor2',
      'time alone does not release it: its pool has no releaseByTimeSeconds',
    ]);
  });

  test('of a node without an agent: clear for the cool-down, and nothing else left of the node', () => {
    const routers = clear(300);
    const restedSeconds = 300;
    expect(by({ routers, restedSeconds })).toBe('look for traces');
    expect(by({ routers, restedSeconds, traces: [] })).toBe('Routers');
    expect(missing({ routers, restedSeconds, traces: ['2 Pods of n still exist'] })).toContain(
      '2 Pods of n still exist',
    );
    expect(by({ routers: clear(299), restedSeconds, traces: [] })).toBe('awaiting');
  });
});

describe('time', () => {
  test('releases the block of a node that never had an agent after an hour, if nothing is left of it', () => {
    expect(by({ restedSeconds: 3_599 })).toBe('awaiting');
    expect(by()).toBe('look for traces');
    expect(by({ traces: [] })).toBe('Time');
    expect(by({ traces: ['CiliumNode n still exists'] })).toBe('awaiting');
  });

  test('or when the pool says so, or never', () => {
    const early = ofPool({ releaseByTimeSeconds: 600 });
    expect(by({ pool: early, restedSeconds: 600, traces: [] })).toBe('Time');
    const never = ofPool({ releaseByTimeSeconds: 0 });
    expect(by({ pool: never, restedSeconds: 1e9, traces: [] })).toBe('awaiting');
  });

  test('counts for an agent only if it has reported half of the number that is in the block', () => {
    const timed = (half: number, releaseByTimeSeconds = 600) => ({
      spec: { releaseByTimeSeconds },
      report: report({ silentAfter: { [cidr]: half } }),
      traces: [],
    });
    expect(by(timed(300))).toBe('Time');
    expect(by(timed(301))).toBe('awaiting');
    expect(by({ ...timed(300), restedSeconds: 599 })).toBe('awaiting');
    expect(by({ ...timed(300), report: report() })).toBe('awaiting');
    // A policy that came after the node was cut off: the agent does not know of it.
    const late = ofPool({ releaseByTimeSeconds: 600 });
    expect(by({ pool: late, report: report(), traces: [] })).toBe('awaiting');
  });

  test('says nothing against a router that still holds the block', () => {
    const routers = { kind: 'not clear', unheard: [], holding: ['tor1'] } as const;
    expect(by({ routers, traces: [] })).toBe('awaiting');
  });
});

test('what is missing is said with the command that cures it', () => {
  expect(awaitingWords(block(cidr, 'n'), ['one', 'two'])).toBe(
    'nobody says that n does not use it: one; two. If the machine is off: cadastre blocks release 10.0.0.0/24 --machine-is-off "why"',
  );
});
