/** The small version of `npm run soak -- newcomer`: everything that the README asks to be typed can be typed. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { fencesOf, readPage, root } from './docs-text.ts';
import { wordsOf } from './shell-lines.ts';
import { readmeSections, type Step } from './soak/newcomer/readme-steps.ts';

const sections = readmeSections(readPage('README.md'));
const steps = sections.flatMap((section) => section.steps);
const lines = steps.flatMap((step) => (step.kind === 'command' ? step.line : []));

test('the ways in are those for which the long run prepares a cluster', () => {
  expect(sections.map(({ title }) => title)).toEqual([
    'Check a cluster in 60 seconds',
    'Beside Cilium',
    'Standalone',
    'The lab',
  ]);
});

test('every block of code of the README is typed', () => {
  const typed = (step: Step) => (step.kind === 'file' ? step.text : step.line);
  for (const { text } of fencesOf('README.md')) {
    const joined = text.replace(/\\\n\s*/g, '');
    expect(steps.some((step) => joined.includes(typed(step)))).toBe(true);
  }
  expect(lines.length).toBeGreaterThan(12);
});

describe.each(lines)('%s', (line) => {
  const [first = '', second = '', third = ''] = wordsOf(line.replace(/^sudo /, ''));

  test('is of a program that a newcomer has by then', () => {
    expect(['npm', 'bin/cadastre', 'cadastre', 'helm', 'kubectl']).toContain(first);
    if (first === 'cadastre') {
      const at = lines.findIndex((one) => one.startsWith('npm install --global'));
      expect(lines.indexOf(line)).toBeGreaterThan(at);
    }
    if (first === 'npm') {
      const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
      const script = second === 'run' ? third : second;
      expect([...Object.keys(scripts), 'install']).toContain(script);
    }
  });

  test('names files and values that are there', () => {
    const words = wordsOf(line);
    const made = ['cadastre.tar', 'site.yaml'];
    const files = words
      .map((word) => word.replace(/^\w+=/, ''))
      .filter((word) => /^(test|charts)\/|\.(yaml|tar)$/.test(word));
    const missing = files.filter((file) => !made.includes(file) && !existsSync(join(root, file)));
    expect(missing).toEqual([]);
    const values = parse(readFileSync(join(root, 'charts/cadastre/values.yaml'), 'utf8'));
    const settings = words.filter((_, at) => words[at - 1] === '--set');
    for (const setting of settings) {
      const path = setting.split('=')[0]!.split('.');
      const found = path.reduce<unknown>((below, key) => (below as never)?.[key], values);
      expect(found, setting).toBeDefined();
    }
  });
});
