/** The chart by itself: what it renders, what it refuses, and that all that is made from it is up to date. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { chartFiles, manifestFiles } from '../../scripts/chart.mjs';
import { alerts } from '../prometheus/expressions.ts';
import { chartDir, Helm, profiles } from './helm.ts';
import { named, type Rendered, render } from './rendered.ts';

const helm = new Helm();
afterAll(() => helm.end());

describe('what is made is up to date (npm run chart)', () => {
  test('the version, and the resource definitions, in the chart', async () => {
    const made = await chartFiles();
    for (const [path, text] of made) expect(readFileSync(path, 'utf8'), path).toBe(text);
    const folder = readdirSync(join(chartDir, 'definitions'));
    expect(folder.map((name) => `charts/cadastre/definitions/${name}`).sort()).toEqual(
      [...made.keys()].filter((path) => path.includes('/definitions/')).sort(),
    );
  });

  test('the plain manifests, from the chart', async () => {
    for (const [path, text] of await manifestFiles()) {
      expect(existsSync(path) ? readFileSync(path, 'utf8') : '', path).toBe(text);
    }
  });

  test('the kustomization names manifests that are there', () => {
    const { resources } = parse(readFileSync('deploy/kustomization.yaml', 'utf8'));
    for (const name of resources) expect(existsSync(`deploy/${name}`), name).toBe(true);
  });
});

test.each(profiles)('helm lint finds nothing in profile %s', async (profile) => {
  const said = await helm.must('lint', chartDir, '--strict', '--set', `profile=${profile}`);
  expect(said).not.toMatch(/WARNING|ERROR/);
});

describe('a profile has its own parts, and no others', () => {
  const workloads = async (values: object) =>
    named((await render(values)).filter(({ kind }) => /^(Deployment|DaemonSet)$/.test(kind)));

  test('standalone: operator and agents', async () => {
    expect(await workloads({})).toEqual([
      'DaemonSet cadastre-agent',
      'Deployment cadastre-operator',
    ]);
  });

  test('beside-cilium: the operator, and nothing on the nodes', async () => {
    const objects = await render({ profile: 'beside-cilium' });
    expect(await workloads({ profile: 'beside-cilium' })).toEqual(['Deployment cadastre-operator']);
    expect(named(objects).filter((name) => name.includes('agent'))).toEqual([]);
  });

  test('doctor: shadow and console, which change nothing', async () => {
    const objects = await render({ profile: 'doctor' });
    expect(await workloads({ profile: 'doctor' })).toEqual([
      'Deployment cadastre-console',
      'Deployment cadastre-shadow',
    ]);
    const verbs = objects.flatMap(({ rules = [] }) => rules.flatMap((rule) => rule.verbs));
    expect([...new Set(verbs)].sort()).toEqual(['get', 'list', 'watch']);
    expect(named(objects).filter((name) => name.startsWith('CustomResource'))).toEqual([]);
  });
});

describe('the operator', () => {
  const ofCluster = async (values: object = {}) =>
    (await render(values)).find(({ kind }) => kind === 'Deployment')!;

  // Three replicas that may not share a node, and a rollout that adds one first: no node is free.
  test('is rolled out without a node to spare', async () => {
    expect((await ofCluster()).spec.strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 0, maxUnavailable: 1 },
    });
  });

  test('has two replicas, or as many as are asked for', async () => {
    expect((await ofCluster()).spec.replicas).toBe(2);
    expect((await ofCluster({ operator: { replicas: 5 } })).spec.replicas).toBe(5);
  });

  test('has its lease in the namespace of the release', async () => {
    const there = await helm.must('template', 'x', chartDir, '--namespace', 'network');
    expect(there).toContain('--lease-namespace=network');
    const namespaces = parseAllDocuments(there)
      .map((one) => one.toJS() as Rendered)
      .map(({ metadata }) => metadata.namespace);
    expect([...new Set(namespaces)].sort()).toEqual([
      'default',
      'kube-node-lease',
      'kube-system',
      'network',
      undefined,
    ]);
  });
});

describe('a wrong value is refused in words', () => {
  test.each([
    ['operator.replica=3', "at '/operator': additional properties 'replica' not allowed"],
    [
      'profile=cilium',
      "at '/profile': value must be one of 'standalone', 'beside-cilium', 'doctor'",
    ],
    ['ipam.mode=eni', "at '/ipam/mode': value must be one of"],
    ['operator.replicas=many', "at '/operator/replicas': got string, want null or integer"],
    ['agent.metrics.port=70000', "at '/agent/metrics/port': maximum: got 70,000, want 65,535"],
    [
      'agent.extraArgs={masquerade}',
      "at '/agent/extraArgs/0': 'masquerade' does not match pattern",
    ],
    ['ipam.serviceCIDRs={10.96.0.0}', "at '/ipam/serviceCIDRs/0': '10.96.0.0' does not match"],
  ])('%s', async (setting, sentence) => {
    const { exitCode, stderr } = await helm.run('template', 'x', chartDir, '--set', setting);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(sentence);
  });

  test('every value that the chart has is described in its schema', async () => {
    const known = (schema: { properties?: Record<string, object> }): unknown =>
      schema.properties === undefined
        ? undefined
        : Object.fromEntries(
            Object.entries(schema.properties).map(([key, one]) => [key, known(one)]),
          );
    const keys = (value: unknown, schema: Record<string, unknown> | undefined): string[] =>
      schema === undefined || typeof value !== 'object' || value === null
        ? []
        : [
            ...Object.keys(schema).filter((key) => !(key in value) && key !== 'global'),
            ...Object.entries(value).flatMap(([key, one]) =>
              keys(one, schema[key] as Record<string, unknown> | undefined),
            ),
          ];
    const schema = JSON.parse(readFileSync(join(chartDir, 'values.schema.json'), 'utf8'));
    const values = parse(readFileSync(join(chartDir, 'values.yaml'), 'utf8'));
    // That the schema has every value is what helm lint says.
    expect(keys(values, known(schema) as Record<string, unknown>)).toEqual([]);
  });
});

describe('monitoring', () => {
  const rulesOf = async (values: object) => {
    const { profile, ...rule } = values as { profile?: string };
    const objects = await render({
      ...(profile === undefined ? {} : { profile }),
      monitoring: { prometheusRule: { enabled: true, ...rule } },
    });
    const { spec } = objects.find(({ kind }) => kind === 'PrometheusRule')!;
    return (spec as unknown as { groups: [{ rules: unknown }] }).groups[0].rules as Array<{
      alert: string;
      expr: string;
      for: string;
      labels: { severity: string };
      annotations: Record<string, string>;
    }>;
  };

  test('every alert is installed as it is written, with the link to its section', async () => {
    const rules = await rulesOf({});
    expect(rules).toEqual(
      alerts.map((one) => ({
        alert: one.alert,
        expr: one.expr.replaceAll('$window', one.window ?? ''),
        for: one.for,
        labels: { severity: one.severity },
        annotations: {
          summary: one.summary,
          description: one.description,
          runbook_url: `docs/runbook.md#${one.alert.toLowerCase()}`,
        },
      })),
    );
  });

  test('one value replaces every duration, and nothing else', async () => {
    const [usual, short] = [await rulesOf({}), await rulesOf({ duration: '15s' })];
    for (const [at, rule] of short.entries()) {
      expect(rule.for).toBe('15s');
      const window = alerts[at]!.window ?? 'no window';
      expect(rule.expr).toBe(usual[at]!.expr.replaceAll(`[${window}]`, '[15s]'));
    }
  });

  test('a profile without agents has no alert about them', async () => {
    const named = (await rulesOf({ profile: 'beside-cilium' })).map(({ alert }) => alert);
    const ofAgents = alerts.filter(({ of }) => of === 'agent').map(({ alert }) => alert);
    expect(named.filter((name) => ofAgents.includes(name))).toEqual([]);
    expect(named).toContain('CadastreNoLeader');
  });

  test('the dashboard is a ConfigMap that holds it as it is', async () => {
    const objects = await render({ monitoring: { grafanaDashboard: { enabled: true } } });
    const map = objects.find(({ metadata }) => metadata.name === 'cadastre-dashboard')!;
    const text = (map as unknown as { data: Record<string, string> }).data['cadastre.json']!;
    expect(JSON.parse(text)).toEqual(
      JSON.parse(readFileSync(join(chartDir, 'files/dashboard.json'), 'utf8')),
    );
  });

  test('pods can be scraped by their annotations', async () => {
    const objects = await render({ monitoring: { scrapeAnnotations: true } });
    const ports = objects
      .filter(({ kind }) => /^(Deployment|DaemonSet)$/.test(kind))
      .map(({ spec }) => spec.template as unknown as { metadata: { annotations: object } })
      .map(({ metadata }) => metadata.annotations as Record<string, string>);
    expect(ports.map((one) => one['prometheus.io/port']).sort()).toEqual(['9470', '9471']);
  });
});
