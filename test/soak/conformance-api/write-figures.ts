/** The result of a whole run, between two marks of docs/apiserver.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Spec } from '../e2e/specs.ts';

const page = 'docs/apiserver.md';
const marks = ['<!-- conformance-api: begin -->', '<!-- conformance-api: end -->'] as const;

export interface Run {
  specs: Spec[];
  /** Tests that may fail, and why. */
  expected: Record<string, string>;
  /** Of Kubernetes. */
  version: string;
}

export function writeFigures({ specs, expected, version }: Run): void {
  const text = readFileSync(page, 'utf8');
  const [begin, end] = marks.map((mark) => text.indexOf(mark)) as [number, number];
  if (begin < 0 || end < begin) throw new Error(`${page} has no ${marks.join(' … ')}`);
  const passed = specs.filter(({ state }) => state === 'passed').length;
  const date = new Date().toISOString().slice(0, 10);
  const sentence = `Kubernetes ${version}, ${date}: **${passed} of ${specs.length}** tests passed.`;
  const failed = Object.entries(expected).map(([name, why]) => `- ${name}: ${why}`);
  const lines = [
    sentence,
    ...(failed.length === 0 ? [] : ['', 'Expected not to pass:', '', ...failed]),
  ];
  const before = text.slice(0, begin + marks[0].length);
  writeFileSync(page, `${before}\n\n${lines.join('\n')}\n\n${text.slice(end)}`);
}
