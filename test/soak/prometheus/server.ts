/** A Prometheus that scrapes the site and judges the shipped rules, every second. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { chartDir } from '../../../scripts/chart.mjs';
import { ensureGoTool } from '../../../scripts/go-tools.mjs';
import { freePort } from '../../parts/free-port.ts';
import { type PartProcess, startPart, untilReady } from '../../parts/part-process.ts';
import type { Site } from './site.ts';

export interface FiringAlert {
  name: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** The rules as the chart installs them, with every duration replaced. */
async function chartRules(duration: string): Promise<{ groups: unknown[] }> {
  const helm = join(await ensureGoTool('helm'), 'helm');
  const text = execFileSync(
    helm,
    [
      ...['template', 'cadastre', chartDir, '--show-only', 'templates/alerts.yaml'],
      ...['--set', 'monitoring.prometheusRule.enabled=true'],
      ...['--set', `monitoring.prometheusRule.duration=${duration}`],
    ],
    { encoding: 'utf8' },
  );
  return (parse(text) as { spec: { groups: unknown[] } }).spec;
}

export class PrometheusServer {
  readonly #url: string;
  readonly #part: PartProcess;

  private constructor(url: string, part: PartProcess) {
    this.#url = url;
    this.#part = part;
  }

  static async start(programs: string, site: Site, duration: string): Promise<PrometheusServer> {
    const port = await freePort();
    const rules = site.write('rules.yaml', stringify(await chartRules(duration)));
    const config = site.write(
      'prometheus.yaml',
      stringify({
        global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
        rule_files: [rules],
        scrape_configs: (['operator', 'agent', 'console'] as const).map((job) => ({
          job_name: `cadastre-${job}`,
          static_configs: site.programs
            .filter((program) => program.job === job)
            .map(({ node, port: at }) => ({
              targets: [`127.0.0.1:${at}`],
              labels: { node: node || 'n1' },
            })),
        })),
      }),
    );
    execFileSync(join(programs, 'promtool'), ['check', 'config', config]);
    const url = `http://127.0.0.1:${port}`;
    const part = startPart({
      name: 'prometheus',
      binary: join(programs, 'prometheus'),
      args: [
        ...[`--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`],
        `--storage.tsdb.path=${join(site.dir, 'tsdb')}`,
      ],
      logFile: join(site.dir, 'prometheus.log'),
      dir: site.dir,
    });
    await untilReady(part, async () => (await fetch(`${url}/-/ready`)).ok);
    return new PrometheusServer(url, part);
  }

  async rules(): Promise<string[]> {
    const { groups } = (await this.#ask('rules')) as {
      groups: Array<{ rules: Array<{ name: string; health: string; lastError?: string }> }>;
    };
    const all = groups.flatMap(({ rules }) => rules);
    const sick = all.filter(({ health }) => health === 'err');
    if (sick.length > 0) throw new Error(`rules that fail: ${JSON.stringify(sick)}`);
    return all.map(({ name }) => name);
  }

  async firing(): Promise<FiringAlert[]> {
    const { alerts } = (await this.#ask('alerts')) as {
      alerts: Array<{
        state: string;
        labels: Record<string, string>;
        annotations: Record<string, string>;
      }>;
    };
    return alerts
      .filter(({ state }) => state === 'firing')
      .map(({ labels, annotations }) => ({ name: labels.alertname ?? '', labels, annotations }));
  }

  async query(expr: string): Promise<unknown[]> {
    const { result } = (await this.#ask(`query?query=${encodeURIComponent(expr)}`)) as {
      result: unknown[];
    };
    return result;
  }

  stop(): Promise<void> {
    return this.#part.stop();
  }

  async #ask(path: string): Promise<unknown> {
    const answer = await fetch(`${this.#url}/api/v1/${path}`);
    const { data, error } = (await answer.json()) as { data: unknown; error?: string };
    if (error !== undefined) throw new Error(`${path}: ${error}`);
    return data;
  }
}
