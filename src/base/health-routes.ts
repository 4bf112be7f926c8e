import type { HttpAnswer, HttpRequest, HttpServer } from './http-server.ts';
import { type Metrics, metricsContentType } from './metrics.ts';

/** A named claim about the process: undefined if it holds, else a sentence why not. */
type HealthChecks = ReadonlyMap<string, () => string | undefined>;

interface HealthParts {
  metrics: Metrics;
  /** What only a restart would cure. Default: that we answer at all. */
  live?: HealthChecks;
  ready: HealthChecks;
}

/**
 * /metrics, /livez and /readyz as Kubernetes components serve them: `ok`, or
 * 503 with a line per check; `?verbose` shows the lines either way.
 */
export function addHealthRoutes(server: HttpServer, parts: HealthParts): HttpServer {
  return server
    .on('GET', '/metrics', () => ({ body: parts.metrics.text(), contentType: metricsContentType }))
    .on('GET', '/livez', (request) => report('livez', parts.live ?? new Map(), request))
    .on('GET', '/readyz', (request) => report('readyz', parts.ready, request));
}

function report(name: string, checks: HealthChecks, request: HttpRequest): HttpAnswer {
  const lines: string[] = [];
  let failed = 0;
  for (const [check, reasonAgainst] of checks) {
    const reason = reasonAgainst();
    if (reason !== undefined) failed++;
    lines.push(reason === undefined ? `[+]${check} ok` : `[-]${check} failed: ${reason}`);
  }
  lines.push(`${name} check ${failed === 0 ? 'passed' : 'failed'}`);
  if (failed === 0 && !request.query.has('verbose')) return { body: 'ok' };
  return { status: failed === 0 ? 200 : 503, body: `${lines.join('\n')}\n` };
}
