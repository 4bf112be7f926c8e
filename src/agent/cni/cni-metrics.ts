import type { Counter, Histogram, Metrics } from '../../base/metrics.ts';
import { commands } from './cni-call.ts';
import type { CniCode } from './cni-error.ts';

/** From a pod's usual millisecond to the end of the plugin's patience. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** Calls of the CNI plugin by verb and outcome, and how long they take. */
export class CniMetrics {
  readonly #requests: Counter;
  readonly #seconds: Histogram;

  constructor(metrics: Metrics) {
    this.#requests = metrics.counter(
      'cadastre_cni_requests_total',
      'Calls of the CNI plugin, by verb and outcome: ok, or the code of the error.',
    );
    this.#seconds = metrics.histogram(
      'cadastre_cni_request_duration_seconds',
      'Time from the arrival of a call at the agent to its answer, by verb.',
      buckets,
    );
    // A series that begins with its first failure has no increase that could be seen.
    for (const outcome of ['ok', 'NoFreeAddress', 'NotWritten', 'TryAgainLater', 'WiringFailed']) {
      this.#requests.inc({ verb: 'ADD', outcome }, 0);
    }
    this.#requests.inc({ verb: 'DEL', outcome: 'ok' }, 0);
  }

  answered(command: string, code: CniCode | undefined, seconds: number): void {
    // What a caller makes up must not become a series.
    const verb = commands.find((known) => known === command) ?? 'unknown';
    this.#requests.inc({ verb, outcome: code ?? 'ok' });
    this.#seconds.observe(seconds, { verb });
  }
}
