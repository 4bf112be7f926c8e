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
    const problems = selectorProblems(selector);
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
    [[], 'must be an object with matchLabels and matchExpressions'],
    ['rack=83', 'must be an object with matchLabels and matchExpressions'],
    [{ matchLabel: { rack: '83' } }, 'has the unknown field "matchLabel"'],
    [{ nodeSelectorTerms: [] }, 'has the unknown field "nodeSelectorTerms"'],
    [{ matchLabels: ['rack'] }, 'matchLabels must be a map of strings'],
    [{ matchLabels: { rack: 83 } }, 'matchLabels["rack"] has the value 83, not a label'],
    [{ matchLabels: { rack: null } }, 'matchLabels["rack"] has the value null, not a label'],
    [{ matchLabels: { 'a/b/c': 'x' } }, 'matchLabels has the key "a/b/c", not a label key'],
    [{ matchExpressions: {} }, 'matchExpressions must be a list'],
    [{ matchExpressions: ['rack'] }, 'matchExpressions[0] must be an object'],
    [
      { matchExpressions: [{ operator: 'Exists' }] },
      'matchExpressions[0] has the key undefined, not a label key',
    ],
    [
      { matchExpressions: [{ key: 'rack', operator: 'Gt', values: ['1'] }] },
      'matchExpressions[0] has the operator "Gt", not one of In, NotIn, Exists, DoesNotExist',
    ],
    [
      { matchExpressions: [{ key: 'rack', operator: 'In', values: [83] }] },
      'matchExpressions[0] has values [83], not a list of labels',
    ],
    [
      { matchExpressions: [{ key: 'rack', operator: 'In', values: null }] },
      'matchExpressions[0]: In needs values',
    ],
    [
      { matchExpressions: [{ key: 'rack', operator: 'Exists', values: ['x'] }] },
      'matchExpressions[0]: Exists takes no values',
    ],
  ])('%j says so in a sentence', (selector, problem) => {
    expect(selectorProblems(selector)).toEqual([problem]);
  });

  test('null is an absent selector, and null lists are absent lists', () => {
    expect(selectorProblems(null)).toEqual([]);
    expect(selectorProblems({ matchLabels: null, matchExpressions: null })).toEqual([]);
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
