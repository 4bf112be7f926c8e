import { expect, test } from 'vitest';
import type { Component } from './components.ts';
import { cycloneDx } from './cyclonedx.ts';

interface Document {
  metadata: { component: Record<string, unknown> };
  components: Array<Record<string, unknown>>;
  dependencies: unknown;
}

const components: Component[] = [
  { name: '@pinojs/redact', version: '0.4.0', license: 'MIT', origin: 'npm' },
  { name: 'node', version: '24.1.0', license: 'MIT', origin: 'node' },
  {
    ...{ name: 'libstdc++6', version: '2:12+b1', license: 'GPL-3+', origin: 'debian' },
    architecture: 'arm64',
  },
];
const document = cycloneDx('1.2.3', components) as Document;

test('names packages as scanners do', () => {
  expect(document.components.map(({ purl }) => purl)).toEqual([
    'pkg:npm/%40pinojs/redact@0.4.0',
    'pkg:generic/node@24.1.0',
    'pkg:deb/debian/libstdc%2B%2B6@2%3A12%2Bb1?arch=arm64',
  ]);
  expect(document.components[1]).toMatchObject({
    cpe: 'cpe:2.3:a:nodejs:node.js:24.1.0:*:*:*:*:*:*:*',
  });
  expect(document.metadata.component).toMatchObject({
    ...{ type: 'application', name: 'cadastre', version: '1.2.3' },
    licenses: [{ license: { id: 'Apache-2.0' } }],
  });
});

test('a licence that SPDX does not know goes by its name', () => {
  expect(document.components.map(({ licenses }) => licenses)).toEqual([
    [{ license: { id: 'MIT' } }],
    [{ license: { id: 'MIT' } }],
    [{ license: { name: 'GPL-3+' } }],
  ]);
});

test('is the same for the same program', () => {
  expect(cycloneDx('1.2.3', components)).toEqual(document);
});
