import { expect, test } from 'vitest';
import { readManifest } from './manifest.ts';

const namesIn = (text: string) => {
  const { objects, problems } = readManifest('f', text);
  expect(problems.map((tell) => tell())).toEqual([]);
  return objects.map(
    ({ object }) => `${object.apiVersion} ${object.kind} ${object.metadata?.name}`,
  );
};

const node = (name: string) => `{apiVersion: v1, kind: Node, metadata: {name: ${name}}}`;

test('several documents, empty ones left out', () => {
  const text = `---\n# nothing\n---\n${node('a')}\n---\n---\n${node('b')}\n...\n`;
  expect(namesIn(text)).toEqual(['v1 Node a', 'v1 Node b']);
});

test('JSON, with a mark of its byte order or without', () => {
  expect(
    namesIn(JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } })),
  ).toEqual(['v1 Node a']);
});

test('a List of anything, and lists in lists', () => {
  const text = `{apiVersion: v1, kind: List, items: [${node('a')}, {apiVersion: v1, kind: List, items: [${node('b')}]}]}`;
  expect(namesIn(text)).toEqual(['v1 Node a', 'v1 Node b']);
});

test('the items of a typed list need not say what they are', () => {
  const text = '{apiVersion: cilium.io/v2, kind: CiliumNodeList, items: [{metadata: {name: a}}]}';
  expect(namesIn(text)).toEqual(['cilium.io/v2 CiliumNode a']);
});

test('a list of nothing, as Go writes it', () => {
  expect(namesIn('{apiVersion: v1, kind: NodeList, items: null}')).toEqual([]);
});

test('a kind that merely ends in List is an object', () => {
  expect(namesIn('{apiVersion: x/v1, kind: AllowList, metadata: {name: a}}')).toEqual([
    'x/v1 AllowList a',
  ]);
});

test('anchors are followed, but not into the ground', () => {
  const shared = 'labels: &l {a: b}\napiVersion: v1\nkind: Node\nmetadata: {name: a, labels: *l}';
  expect(readManifest('f', shared).objects[0]?.object.metadata?.labels).toEqual({ a: 'b' });
  const nested = ['a: &a [1, 2]', 'b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]'];
  const bomb = [...nested, 'c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]', 'd: [*c, *c, *c]'];
  const [problem] = readManifest('f', bomb.join('\n')).problems;
  expect(problem?.()).toMatch(/^f \(document 1\): Excessive alias count/);
});
