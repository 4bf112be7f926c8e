/** docs/runbook.md has a section for each finding and each alert, and links lead to it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reasons } from '../src/model/reasons.ts';
import { doctorReasons } from '../src/plan/doctor/finding.ts';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/runbook.md'), 'utf8');

/** What every section says, in this order. */
const parts = ['**Hurts:** ', '**Check:**\n\n```sh\n', '**Cure:** ', '**Cured when:** '];

function sectionsOf(heading: string) {
  const [, after = ''] = page.split(`\n## ${heading}\n`);
  const [chapter = ''] = after.split(/^## /m);
  const sections = chapter.split(/^### /m).slice(1);
  return sections.map((section) => {
    const [name = '', sentence = '', ...rest] = section.split('\n\n');
    return { name, sentence, text: rest.join('\n\n') };
  });
}

const charts = join(root, 'charts/cadastre');
const chartFiles = readdirSync(charts, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.(yaml|tpl|json|txt)$/.test(path))
  .map((path) => readFileSync(join(charts, path), 'utf8'));
const alerts = chartFiles.flatMap((text) => [...text.matchAll(/^ *- alert: (\w+)$/gm)]);

describe('docs/runbook.md', () => {
  test('has a section for each finding, in the order and words of the source', () => {
    const told = sectionsOf('Findings').map(({ name, sentence }) => [name, sentence]);
    expect(told).toEqual(doctorReasons.map((reason) => [reason, reasons[reason]]));
  });

  test('has a section for each alert of the chart', () => {
    expect(alerts.length).toBeGreaterThan(5);
    const told = sectionsOf('Alerts').map(({ name }) => name);
    expect(told.sort()).toEqual([...new Set(alerts.map(([, name]) => name!))].sort());
  });

  test.each([...sectionsOf('Findings'), ...sectionsOf('Alerts')])(
    '$name says whom it hurts, how to check, the cure, and when it is cured',
    ({ text }) => {
      const places = parts.map((part) => text.indexOf(part));
      expect(places).not.toContain(-1);
      expect(places).toEqual([...places].sort((a, b) => a - b));
    },
  );

  test('the anchors that the chart links to are there', () => {
    const linked = chartFiles.flatMap((text) => [...text.matchAll(/runbook\.md#([\w-]+)/g)]);
    const anchors = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name!.toLowerCase());
    expect(linked.map(([, anchor]) => anchor!).filter((one) => !anchors.includes(one))).toEqual([]);
  });
});
