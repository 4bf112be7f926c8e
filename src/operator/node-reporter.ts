import type { Gauge } from '../base/metrics.ts';
import { ApiError } from '../kube/api-error.ts';
import type { EventRecorder } from '../kube/events.ts';
import { nodeConditionType } from '../model/keys.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Condition } from '../model/object.ts';
import type { Reason } from '../model/reasons.ts';
import { nodes } from '../model/resources.ts';
import type { NodeDecision } from '../plan/blocks/decide-node.ts';
import { type BlockRefusal, type Finding, refusalText } from '../plan/blocks/finding.ts';
import { dated } from '../plan/pools/pool-conditions.ts';
import type { WriterBase } from './operator-base.ts';

/**
 * Reports what the operator found about nodes: a condition on the Node, an
 * Event, a metric and a log line, all with the same reason. A node that has what
 * it should, and never lacked it, costs no write.
 */
interface NodeReporterOptions extends WriterBase {
  events: EventRecorder;
  nodeStore: { put(raw: unknown): void };
}

export class NodeReporter {
  readonly unserved = new Map<string, readonly BlockRefusal[]>();
  readonly findings = new Map<string, readonly Finding[]>();
  readonly #o: NodeReporterOptions;
  readonly #refusedGauge: ReasonGauge;
  readonly #findingGauge: ReasonGauge;

  constructor(options: NodeReporterOptions) {
    this.#o = options;
    this.#refusedGauge = new ReasonGauge(
      options.metrics.gauge('cadastre_nodes_unserved', 'Nodes that lack a block, by reason.'),
    );
    this.#findingGauge = new ReasonGauge(
      options.metrics.gauge('cadastre_findings', 'Nodes with findings, by reason.'),
    );
  }

  /** Takes a decision's refusals and findings in; says what is new. */
  note({ node, refused, findings }: NodeDecision): void {
    this.#o.assertLeading();
    const before = this.unserved.get(node.name) ?? [];
    for (const refusal of refused) {
      if (before.some((known) => sameText(known, refusal))) continue;
      const { family, reason, detail } = refusal;
      this.#o.log.warn({ reason, node: node.name, family }, detail);
      this.event(node, 'Warning', reason, detail);
    }
    const known = this.findings.get(node.name) ?? [];
    for (const finding of findings) {
      if (known.some((other) => sameText(other, finding))) continue;
      const { reason, cidr, detail, nodes: concerned } = finding;
      this.#o.log.warn({ reason, nodes: concerned, block: cidr }, detail);
      if (!refused.some((refusal) => refusal.reason === reason)) {
        this.event(node, 'Warning', reason, detail);
      }
    }
    this.#refusedGauge.change(before, refused);
    this.#findingGauge.change(known, findings);
    keep(this.unserved, node.name, refused);
    keep(this.findings, node.name, findings);
  }

  forget(name: string): void {
    this.#refusedGauge.change(this.unserved.get(name) ?? [], []);
    this.#findingGauge.change(this.findings.get(name) ?? [], []);
    this.unserved.delete(name);
    this.findings.delete(name);
  }

  /** Only a leader reports what it finds. */
  forgetAll(): void {
    for (const name of new Set([...this.unserved.keys(), ...this.findings.keys()])) {
      this.forget(name);
    }
  }

  event(node: ClusterNode, type: 'Normal' | 'Warning', reason: Reason, message: string): void {
    const object = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid };
    this.#o.events.record({ object, type, reason, message });
  }

  /** Brings the Node's condition in line; a node that always had its blocks needs none. */
  async report({ node, refused }: NodeDecision): Promise<void> {
    const before = node.condition;
    if (refused.length === 0 && (before === undefined || before.status === 'True')) return;
    const wanted: Omit<Condition, 'lastTransitionTime'> =
      refused.length > 0
        ? {
            type: nodeConditionType,
            status: 'False',
            reason: refused[0]!.reason,
            message: refusalText(refused),
          }
        : {
            type: nodeConditionType,
            status: 'True',
            reason: 'BlocksAssigned',
            message: 'the node holds its blocks',
          };
    if (before !== undefined && sameText({ ...before, ...wanted }, before)) return;
    const nowText = new Date(this.#o.clock.wallMs()).toISOString();
    const condition = dated(wanted, before === undefined ? [] : [before], nowText);
    const body = { status: { conditions: [{ ...condition, lastHeartbeatTime: nowText }] } };
    this.#o.assertLeading();
    try {
      const options = { type: 'strategic', subresource: 'status', body } as const;
      this.#o.nodeStore.put(await this.#o.client.patch(nodes, node.name, options));
      if (refused.length === 0) {
        this.event(node, 'Normal', 'BlocksAssigned', 'the node got the blocks it lacked');
      }
    } catch (error) {
      if (!(error instanceof ApiError) || error.outcome === 'unknown') throw error;
      if (!error.isNotFound) this.#o.log.warn({ node: node.name }, error.message);
    }
  }
}

/** A gauge per reason, kept up by differences so that a change costs no recount. */
class ReasonGauge {
  readonly #gauge: Gauge;
  readonly #counts = new Map<string, number>();

  constructor(gauge: Gauge) {
    this.#gauge = gauge;
  }

  change(
    before: ReadonlyArray<{ reason: Reason }>,
    after: ReadonlyArray<{ reason: Reason }>,
  ): void {
    // A node that lacks both families for one reason is one node.
    for (const reason of new Set(before.map((one) => one.reason))) this.#add(reason, -1);
    for (const reason of new Set(after.map((one) => one.reason))) this.#add(reason, 1);
  }

  #add(reason: Reason, by: number): void {
    const count = (this.#counts.get(reason) ?? 0) + by;
    this.#counts.set(reason, count);
    this.#gauge.set(count, { reason });
  }
}

function keep<T>(map: Map<string, readonly T[]>, key: string, values: readonly T[]): void {
  if (values.length > 0) map.set(key, values);
  else map.delete(key);
}

function sameText(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
