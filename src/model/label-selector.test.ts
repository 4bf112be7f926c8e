import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  formatSelector,
  type LabelSelector,
  selectorProblems,
  selects,
  specificity,
  unmetRequirements,
} from './label-selector.ts';

interface Table {
  labels: Array<Record<string, string>>;
  cases: Array<{ selector: LabelSelector; error?: string; matches: number[] }>;
}

/** What Kubernetes' own code answers, for selectors of every operator, alone and together. */
const table: Table = JSON.parse(
  readFileSync(new URL('./testdata/label-selectors.json', import.meta.url), 'utf8'),
);

describe('a selector as Kubernetes means it', () => {
  test('the table has the selectors that Kubernetes accepts and those it refuses', () => {
    expect(table.labels).toHaveLength(11);
    expect(table.cases).toHaveLength(137);
    expect(table.cases.filter((one) => one.error !== undefined)).toHaveLength(29);
  });

  test.each(table.cases)('$selector', ({ selector, error, matches }) => {
    const problems = selectorProblems(selector, 'selector');
    if (error !== undefined) {
      expect(problems).not.toEqual([]);
      return;
    }
    expect(problems).toEqual([]);
    const ours = table.labels.flatMap((labels, at) => (selects(selector, labels) ? [at] : []));
    expect(ours).toEqual(matches);
  });

  test('an absent selector selects every node, as an empty one does', () => {
    expect(selects(undefined, {})).toBe(true);
    expect(selects({}, { rack: '83' })).toBe(true);
    expect(selects({ matchLabels: {}, matchExpressions: [] }, {})).toBe(true);
  });
});

describe('a selector that is wrong', () => {
  test.each([
    [[], 'nodeSelector is a list, not a map'],
    ['rack=83', 'nodeSelector is "rack=83", not a map'],
    [{ matchLabel: { rack: '83' } }, 'nodeSelector.matchLabel is no field of a label selector'],
    [{ nodeSelectorTerms: [] }, 'nodeSelector.nodeSelectorTerms is no field of a label selector'],
    [{ matchLabels: ['rack'] }, 'nodeSelector.matchLabels is a list, not a map'],
    [{ matchLabels: { rack: 83 } }, 'nodeSelector.matchLabels["rack"] is 83, not a string'],
    [{ matchLabels: { rack: null } }, 'nodeSelector.matchLabels["rack"] is missing'],
    [
      { matchLabels: { rack: 'a b' } },
      'nodeSelector.matchLabels["rack"] is "a b", not a label value',
    ],
    [{ matchLabels: { 'a/b/c': 'x' } }, 'nodeSelector.matchLabels["a/b/c"] is not a label key'],
    [{ matchExpressions: {} }, 'nodeSelector.matchExpressions is a map, not a list'],
    [{ matchExpressions: ['rack'] }, 'nodeSelector.matchExpressions[0] is "rack", not a map'],
    [
      { matchExpressions: [{ operator: 'Exists' }] },
      'nodeSelector.matchExpressions[0].key is missing',
    ],
    [
      { matchExpressions: [{ key: '-rack', operator: 'Exists' }] },
      'nodeSelector.matchExpressions[0].key is "-rack", not a label key',
    ],
    [
      { matchExpressions: [{ key: 'rack', operator: 'Gt', values: ['1'] }] },
      'nodeSelector.matchExpressions[0].operator is "Gt", not one of In, NotIn, Exists, DoesNotExist',
    ],
    [
      { matchExpressions: [{ key: 'rack', operator: 'In', values: [83] }] },
      'nodeSelector.matchExpressions[0].values[0] is 83, not a string',
    ],
    [
      { matchExpressions: [{ key: 'rack', operator: 'In', values: null }] },
      'nodeSelector.matchExpressions[0].values is missing: In needs values',
    ],
    [
      { matchExpressions: [{ key: 'rack', operator: 'Exists', values: ['x'] }] },
      'nodeSelector.matchExpressions[0].values is given, but Exists takes none',
    ],
  ])('%j says so in a sentence', (selector, problem) => {
    expect(selectorProblems(selector, 'nodeSelector')).toEqual([problem]);
  });

  test('null is an absent selector, and null lists are absent lists', () => {
    expect(selectorProblems(null, 's')).toEqual([]);
    expect(selectorProblems({ matchLabels: null, matchExpressions: null }, 's')).toEqual([]);
  });
});

describe('a selector in words', () => {
  const selector: LabelSelector = {
    matchLabels: { rack: '83' },
    matchExpressions: [
      { key: 'zone', operator: 'In', values: ['a', 'b'] },
      { key: 'gpu', operator: 'DoesNotExist' },
      { key: 'role', operator: 'NotIn', values: ['edge'] },
      { key: 'site', operator: 'Exists' },
    ],
  };

  test('each requirement counts once towards how specific it is', () => {
    expect(specificity(selector)).toBe(5);
    expect(specificity({ matchLabels: { a: '1', b: '2' } })).toBe(2);
    expect(specificity({})).toBe(0);
    expect(specificity(undefined)).toBe(0);
  });

  test('it reads as kubectl -l would have it', () => {
    expect(formatSelector(selector)).toBe('rack=83,zone in (a,b),!gpu,role notin (edge),site');
    expect(formatSelector(undefined)).toBe('');
  });

  test('what a node lacks is said with what it has', () => {
    expect(
      unmetRequirements(selector, { rack: '94', zone: 'a', gpu: 'yes', role: 'edge' }),
    ).toEqual([
      'wants rack=83, has rack=94',
      'wants no gpu, has gpu=yes',
      'wants role not in (edge), has role=edge',
      'wants any site, has no site',
    ]);
    expect(unmetRequirements(selector, { rack: '83', zone: 'b', site: 'x' })).toEqual([]);
    expect(unmetRequirements(undefined, {})).toEqual([]);
  });
});
