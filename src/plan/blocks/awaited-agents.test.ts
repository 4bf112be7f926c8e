import { describe, expect, test } from 'vitest';
import {
  block,
  nodeObject,
  type ReportSpec,
  registerOf,
  reportObject,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { type KnownBefore, reportVersions, unheardAgents } from './awaited-agents.ts';

const report = (name: string, version: string, spec: ReportSpec): KubeObject => {
  const object = reportObject(name, spec);
  return { ...object, metadata: { ...object.metadata, resourceVersion: version } };
};
const reportsOf = (...objects: KubeObject[]) => registerOf(objects).reports;

describe('who remembers', () => {
  const before: KnownBefore = {
    reports: reportsOf(report('a', '9', { uses: ['10.0.0.0/24'] })),
    lost: [],
  };
  const unheard = (now: KubeObject[], known = before) => {
    const register = registerOf(now);
    return unheardAgents(register, { versions: reportVersions(register), before: known });
  };

  test('waits for an agent whose report is gone, or lacks what it said before', () => {
    expect(unheard([])).toEqual(['a']);
    expect(unheard([report('a', '3', { uses: ['10.0.1.0/24'] })])).toEqual(['a']);
  });

  test('takes a report that says what it said before for an answer, for whichever Node', () => {
    expect(unheard([report('a', '3', { uses: ['10.0.0.0/24'] })])).toEqual([]);
    const anew = { nodeUid: 'made anew', uses: ['10.0.0.0/24', '10.0.2.0/24'] };
    expect(unheard([report('a', '3', anew)])).toEqual([]);
  });

  test('has heard an agent that wrote since, whatever it says', () => {
    const versions = reportVersions(registerOf([report('a', '3', {})]));
    const register = registerOf([report('a', '4', {})]);
    expect(unheardAgents(register, { versions, before })).toEqual([]);
  });

  test('waits for a node that lost a block before its agent had reported it', () => {
    const known = { ...before, lost: [block('10.0.5.0/24', 'b')] };
    const a = report('a', '3', { uses: ['10.0.0.0/24'] });
    expect(unheard([a], known)).toEqual(['b']);
    expect(unheard([a, report('b', '4', {})], known)).toEqual(['b']);
    expect(unheard([a, report('b', '4', { uses: ['10.0.5.0/24'] })], known)).toEqual([]);
  });
});

test('who remembers nothing waits for a new report of every Node', () => {
  const versions = reportVersions(registerOf([report('a', '3', {}), report('b', '4', {})]));
  const register = registerOf([
    ...['a', 'b', 'c', 'd'].map((name) => nodeObject(name)),
    report('a', '3', {}),
    report('b', '5', {}),
    report('c', '6', {}),
    report('d', '7', { nodeUid: 'an earlier one' }),
  ]);
  expect(unheardAgents(register, { versions, before: undefined })).toEqual(['a', 'd']);
});
