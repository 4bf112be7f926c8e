import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Register } from '../plan/blocks/register.ts';

/** What every part of the operator is given. */
export interface OperatorBase {
  client: KubeClient;
  clock: Clock;
  log: Log;
  metrics: Metrics;
}

/** And what those parts need that decide by the register and write. */
export interface WriterBase extends OperatorBase {
  register: Register;
  /** Throws when this replica does not lead; asked before every write. */
  assertLeading(): void;
}
