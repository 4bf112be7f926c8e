/** What the shipped alerts and the dashboard ask of Prometheus. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Alert {
  alert: string;
  of?: 'operator' | 'agent';
  expr: string;
  window?: string;
  for: string;
  severity: string;
  summary: string;
  description: string;
}

export const alerts = parse(readFileSync('charts/cadastre/files/alerts.yaml', 'utf8')) as Alert[];

interface Panel {
  title: string;
  type: string;
  targets?: Array<{ expr: string }>;
}

const dashboard = JSON.parse(readFileSync('charts/cadastre/files/dashboard.json', 'utf8')) as {
  panels: Panel[];
};

/** Every query of the dashboard, as it stands there. */
export const dashboardQueries: ReadonlyArray<{ panel: string; expr: string }> =
  dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ panel: title, expr })),
  );

/** An expression as Prometheus takes it, with the variables that Grafana or the chart fill in. */
export function filledIn(expr: string, window: string): string {
  return expr
    .replaceAll('$window', window)
    .replaceAll('$__rate_interval', window)
    .replaceAll('$node', '.*');
}

/** The rules as Prometheus reads them from a file. */
export function ruleFile(): string {
  const rules = alerts.map(({ alert, expr, window = '', ...rest }) => ({
    alert,
    expr: filledIn(expr, window),
    for: rest.for,
    labels: { severity: rest.severity },
    annotations: { summary: rest.summary, description: rest.description },
  }));
  return JSON.stringify({ groups: [{ name: 'cadastre', rules }] });
}

/** Metrics that an expression names, and the labels that it expects of one of them. */
export function namedIn(expr: string): { metrics: string[]; labels: string[] } {
  const metrics = [...expr.matchAll(/\b(cadastre|nodejs|process)_[a-z_]+/g)].map(([name]) => name);
  const matched = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, inner]) =>
    [...inner!.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => label!),
  );
  const grouped = [...expr.matchAll(/\b(?:by|without) \(([^)]*)\)/g)].flatMap(([, inner]) =>
    inner!.split(',').map((label) => label.trim()),
  );
  return { metrics, labels: [...matched, ...grouped] };
}
