import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import { timeText } from '../base/time-text.ts';
import type { KubeClient } from '../kube/client.ts';
import { EventRecorder } from '../kube/events.ts';
import type { ReportedHijack } from '../model/node-report-status.ts';
import { hijackText } from '../plan/node/hijacks.ts';
import type { Hijack } from '../plan/node/router-contact.ts';

interface HijackAlarmOptions {
  client: KubeClient;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  nodeName: string;
}

/** Says that a router reaches a block of this node elsewhere: an Event on the Node, a metric, the report. */
export class HijackAlarm {
  readonly #o: HijackAlarmOptions;
  readonly #events: EventRecorder;
  readonly #count: Gauge;
  /** By the message of its Event. */
  #raised = new Map<string, ReportedHijack>();

  constructor(options: HijackAlarmOptions) {
    this.#o = options;
    const { client, clock, log, metrics, nodeName } = options;
    this.#events = new EventRecorder({
      client,
      component: 'cadastre-agent',
      instance: nodeName,
      clock,
      log,
      metrics,
    });
    this.#count = metrics.gauge(
      'cadastre_agent_hijacks',
      'Routes of routers that reach a block of this node, or a piece of it, elsewhere.',
    );
    this.#count.set(0);
  }

  /** All that there are now. What is new becomes an Event, what is over is logged. */
  declare(node: { name: string; uid: string }, hijacks: readonly Hijack[]): ReportedHijack[] {
    const before = this.#raised;
    // A moment that does not move, or every report would be another one.
    const now = timeText(this.#o.clock.wallMs());
    this.#raised = new Map(
      hijacks.map(({ sinceMs: _, ...hijack }) => {
        const message = hijackText(hijack);
        return [message, { ...hijack, since: before.get(message)?.since ?? now }];
      }),
    );
    this.#count.set(hijacks.length);
    const object = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid };
    for (const message of this.#raised.keys()) {
      if (before.has(message)) continue;
      this.#events.record({ object, type: 'Warning', reason: 'Hijacked', message });
    }
    for (const [message, { cidr, prefix, peer }] of before) {
      if (this.#raised.has(message)) continue;
      this.#o.log.info({ reason: 'Hijacked', block: cidr, prefix, peer }, `over: ${message}`);
    }
    return [...this.#raised.values()];
  }

  stop(): Promise<void> {
    return this.#events.stop();
  }
}
