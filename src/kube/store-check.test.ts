import { describe, expect, test } from 'vitest';
import { checkStore, type Found, judgeStore } from './store-check.ts';

const seen = { name: 'a', uid: 'u1', version: '90', isDeleted: false };
const found = (uid: string, resourceVersion: string) => ({ name: 'a', uid, resourceVersion });

describe('an object was the newest that was seen', () => {
  const known = { completeTo: '100', listedAt: '85', newest: [seen] };
  test.each([
    ['the same, later', '120', found('u1', '110'), 'as seen'],
    ['the same, unchanged', '100', found('u1', '90'), 'as seen'],
    ['older than it was seen', '120', found('u1', '80'), 'went back'],
    ['another that is older', '120', found('u0', '80'), 'went back'],
    ['gone, and the count went on', '120', 'absent', 'newest is gone'],
    ['gone, and the count has fallen', '80', 'absent', 'fell back'],
    ['another that is younger', '120', found('u2', '110'), 'newest is gone'],
    ['nothing changed since the count that has fallen', '95', found('u1', '90'), 'fell back'],
    ['still there, and newer than the count', '80', found('u1', '90'), 'older version'],
    ['not for us to read, and the count has fallen', '80', 'unknown', 'older version'],
    ['not for us to read', '120', 'unknown', 'as seen'],
  ] as const)('%s', (_what, version, object, verdict) => {
    expect(judgeStore(known, version, [object])).toBe(verdict);
  });
});

describe('a deletion was the newest that was seen', () => {
  const known = { completeTo: '100', listedAt: '85', newest: [{ ...seen, isDeleted: true }] };
  test.each([
    ['still gone', '120', 'absent', 'as seen'],
    ['the same is back', '120', found('u1', '70'), 'went back'],
    ['one that is older is back', '120', found('u0', '70'), 'went back'],
    ['a new one of that name', '120', found('u2', '110'), 'as seen'],
    ['still gone, and the count has fallen below it', '87', 'absent', 'older version'],
  ] as const)('%s', (_what, version, object, verdict) => {
    expect(judgeStore(known, version, [object])).toBe(verdict);
  });
});

describe('the newest is gone and the count has fallen', () => {
  const newest = [seen, { name: 'b', uid: 'u5', version: '85', isDeleted: false }];
  const judge = (version: string, second: Found) =>
    judgeStore({ completeTo: '100', listedAt: '85', newest }, version, ['absent', second]);
  const b = { name: 'b', uid: 'u5', resourceVersion: '85' };

  test('all that is newer than the count is gone: it was lost', () => {
    expect(judge('80', 'absent')).toBe('fell back');
    expect(judge('88', b)).toBe('fell back');
  });

  test('an older one that is there says nothing', () => {
    const older = [seen, { name: 'b', uid: 'u5', version: '40', isDeleted: false }];
    const known = { completeTo: '100', listedAt: '85', newest: older };
    expect(judgeStore(known, '87', ['absent', { ...b, resourceVersion: '40' }])).toBe('fell back');
  });

  test('a deletion that is still true says nothing', () => {
    const deleted = { name: 'c', uid: 'u6', version: '95', isDeleted: true };
    const known = { completeTo: '100', listedAt: '85', newest: [deleted, seen] };
    expect(judgeStore(known, '80', ['absent', 'absent'])).toBe('fell back');
    expect(judgeStore(known, '80', ['absent', found('u1', '90')])).toBe('older version');
  });

  test('something newer than the count is there: the count is stale, and one was deleted', () => {
    expect(judge('80', b)).toBe('older version');
  });
});

test('nothing was seen yet: only the count can tell', () => {
  const nothing = { completeTo: '100', listedAt: '85', newest: [] };
  expect(judgeStore(nothing, '100', [])).toBe('as seen');
  expect(judgeStore(nothing, '99', [])).toBe('fell back');
  expect(judgeStore(nothing, '84', [])).toBe('older version');
});

test('whoever follows one object by its name asks for that one alone: RBAC may grant no more', async () => {
  const asked: string[] = [];
  const client = {
    rawGet: async (path: string) => {
      asked.push(path);
      return { metadata: { resourceVersion: '100' } };
    },
    get: async () => undefined as never,
  };
  const configMaps = {
    group: '',
    version: 'v1',
    plural: 'configmaps',
    kind: 'ConfigMap',
    namespaced: true,
  };
  const where = { resource: configMaps, namespace: 'kube-system' };
  const known = { completeTo: '100', listedAt: '85', newest: [] };
  const { signal } = new AbortController();
  const fieldSelector = 'metadata.name=bgp-config';
  await checkStore(client, { ...where, fieldSelector }, known, signal);
  await checkStore(client, where, known, signal);
  const path = '/api/v1/namespaces/kube-system/configmaps?limit=1';
  expect(asked).toEqual([`${path}&fieldSelector=metadata.name%3Dbgp-config`, path]);
});
