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
  const level = (at: number) => `a${at}: &a${at} [${`*a${at - 1}, `.repeat(10)}]\n`;
  const bomb = `a0: &a0 [1, 2]\n${[1, 2, 3, 4, 5, 6, 7, 8, 9].map(level).join('')}`;
  const [problem] = readManifest('f', bomb).problems;
  expect(problem?.()).toBe(
    'f:6:20 (document 1): not YAML or JSON: aliases (*name) that add more than 100,000 values',
  );
});
