import type { HttpAnswer, HttpServer } from './http-server.ts';
import { type Metrics, metricsContentType } from './metrics.ts';

/** Whether a claim about the process holds, and in words how it is, either way. */
export interface HealthCheck {
  readonly isOk: boolean;
  readonly says: string;
}

/** By the name of the claim. */
export type HealthChecks = ReadonlyMap<string, () => HealthCheck>;

interface HealthParts {
  metrics: Metrics;
  /** What only a restart would cure. Default: that we answer at all. */
  live?: HealthChecks;
  ready: HealthChecks;
}

/**
 * /metrics, /livez and /readyz as Kubernetes components serve them: 200 or 503, with a
 * line for each check. The lines are there also when all is well: who leads, and how old
 * the caches are, is asked for by people.
 */
export function addHealthRoutes(server: HttpServer, parts: HealthParts): HttpServer {
  return server
    .on('GET', '/metrics', () => ({ body: parts.metrics.text(), contentType: metricsContentType }))
    .on('GET', '/livez', () => report('livez', parts.live ?? new Map()))
    .on('GET', '/readyz', () => report('readyz', parts.ready));
}

function report(name: string, checks: HealthChecks): HttpAnswer {
  const lines: string[] = [];
  let failed = 0;
  for (const [check, ask] of checks) {
    const { isOk, says } = ask();
    if (!isOk) failed++;
    lines.push(isOk ? `[+]${check} ok: ${says}` : `[-]${check} failed: ${says}`);
  }
  if (lines.length === 0) return { body: 'ok' };
  lines.push(`${name} check ${failed === 0 ? 'passed' : 'failed'}`);
  return { status: failed === 0 ? 200 : 503, body: `${lines.join('\n')}\n` };
}
