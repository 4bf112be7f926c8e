import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import { Operator } from '../operator/operator.ts';
import { providerOf } from '../operator/providers.ts';

/** The real operator, as the only one there ever is. */
export function demoOperator({
  client,
  log,
  metrics,
}: {
  client: KubeClient;
  log: Log;
  metrics: Metrics;
}): Operator {
  const provider = providerOf('ip-pool');
  return new Operator({
    client,
    settings: {
      provider,
      rules: { families: 'auto', byDemand: false },
      sources: ['ciliumnode', 'spec', 'annotation'],
      clusterPool: undefined,
      serviceNetworks: [],
      switches: { annotations: true, nodeSpec: false, ciliumNode: false },
      // The folder is ours alone, so whoever left the lease there was us.
      lease: {
        namespace: 'kube-system',
        name: 'cadastre-operator',
        identity: 'cadastre-up',
        // Nobody waits to take over; a busy laptop should not cost the leadership.
        timings: { leaseDurationSeconds: 60, renewDeadlineSeconds: 45, retryPeriodSeconds: 5 },
      },
      concurrency: 16,
    },
    log,
    metrics,
  });
}
