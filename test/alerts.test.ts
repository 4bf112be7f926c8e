import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtPrometheus } from '../scripts/parts.mjs';
import { Metrics } from '../src/base/metrics.ts';
import { registerProcessMetrics } from '../src/base/process-metrics.ts';
import { alerts, dashboardQueries, filledIn, namedIn, ruleFile } from './prometheus/expressions.ts';

/** docs/metrics.md, which test/metrics-page.test.ts compares with the code: labels by metric. */
const documented = new Map(
  [
    ...readFileSync('docs/metrics.md', 'utf8').matchAll(
      /^\| `(cadastre_[a-z_]+)` *\| (counter|gauge|histogram) *\| ([^|]*)\|/gm,
    ),
  ].map(([, name, kind, labels]) => [
    name!,
    {
      kind: kind!,
      labels: labels!
        .split(',')
        .map((label) => label.trim())
        .filter((label) => label !== ''),
    },
  ]),
);

/** Of every target: what Prometheus and the PodMonitor add; and of a histogram's buckets. */
const ofTargets = ['job', 'instance', 'node', 'le'];

const everyExpression = [
  ...alerts.map(({ alert, expr }) => ({ where: alert, expr })),
  ...dashboardQueries.map(({ panel, expr }) => ({ where: panel, expr })),
];

describe('every alert and every panel', () => {
  test('there are some of both', () => {
    expect(alerts.length).toBeGreaterThan(20);
    expect(dashboardQueries.length).toBeGreaterThan(30);
  });

  test.each(everyExpression)(
    '$where asks for metrics that there are, by labels that they have',
    ({ expr }) => {
      const { metrics, labels } = namedIn(expr);
      const ours = metrics.filter((name) => name.startsWith('cadastre_'));
      const known = ours.map((name) => {
        const base = documented.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
        return { name, ...documented.get(base) };
      });
      for (const { name, kind } of known) {
        expect(kind, name).toBeDefined();
        expect(name.endsWith('_bucket'), name).toBe(kind === 'histogram');
      }
      const allowed = new Set([...ofTargets, ...known.flatMap((one) => one.labels ?? [])]);
      for (const label of labels) expect([...allowed], expr).toContain(label);
    },
  );

  test.each(everyExpression)('$where reads a counter by what it grows', ({ expr }) => {
    for (const [counter] of expr.matchAll(/\bcadastre_[a-z_]+_total\b/g)) {
      expect(expr).toMatch(new RegExp(`(rate|increase)\\(${counter}`));
    }
  });
});

describe('every alert', () => {
  test('has a name of its own that says whose it is', () => {
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^Cadastre[A-Z][A-Za-z]+$/);
  });

  test.each(alerts)('$alert says how bad it is, what is wrong and what to do', (one) => {
    expect(['critical', 'warning', 'info']).toContain(one.severity);
    expect(one.summary.length).toBeGreaterThan(20);
    expect(one.description).toMatch(/\.$/);
    expect(one.for).toMatch(/^\d+[smh]$/);
    expect(one.expr.includes('$window')).toBe(one.window !== undefined);
  });

  test.each(alerts)('$alert names in its words only labels that its result has', (one) => {
    const by = /\bby \(([^)]*)\)/
      .exec(one.expr)?.[1]
      ?.split(',')
      .map((label) => label.trim());
    const { metrics } = namedIn(one.expr);
    const labels = by ?? [
      ...ofTargets,
      ...metrics.flatMap((name) => documented.get(name)?.labels ?? []),
    ];
    for (const [, label] of one.summary.matchAll(/\$labels\.([a-z_]+)/g)) {
      expect(labels, one.summary).toContain(label);
    }
  });
});

// The soak builds it (npm run soak -- prometheus).
const tools = builtPrometheus();

describe.skipIf(tools === undefined)("Prometheus' own tool", () => {
  const promtool = join(tools ?? '', 'promtool');

  function withFile(text: string, args: string[]): string {
    const dir = mkdtempSync(join(tmpdir(), 'cadastre-promtool-'));
    try {
      writeFileSync(join(dir, 'rules.yaml'), text);
      return execFileSync(promtool, [...args, join(dir, 'rules.yaml')], { encoding: 'utf8' });
    } finally {
      rmSync(dir, { recursive: true });
    }
  }

  test('takes every rule', () => {
    expect(withFile(ruleFile(), ['check', 'rules', '--lint=all', '--lint-fatal'])).toContain(
      `SUCCESS: ${alerts.length} rules found`,
    );
  });

  test('takes every query of the dashboard', () => {
    const rules = dashboardQueries.map(({ expr }, at) => ({
      record: `query:${at}`,
      expr: filledIn(expr, '5m'),
    }));
    const text = JSON.stringify({ groups: [{ name: 'dashboard', rules }] });
    expect(withFile(text, ['check', 'rules'])).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  test('reads what a process exposes, and finds nothing against the conventions', () => {
    const metrics = new Metrics();
    const stop = registerProcessMetrics(metrics, '1.2.3');
    metrics.histogram('wait_seconds', 'Wait.', [0.1, 1]).observe(0.5, { verb: 'a"b\\c\nd' });
    const text = metrics.text();
    stop();
    expect(execFileSync(promtool, ['check', 'metrics'], { input: text, encoding: 'utf8' })).toBe(
      '',
    );
  });
});
