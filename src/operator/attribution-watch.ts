import { describeError } from '../base/errors.ts';
import type { Gauge } from '../base/metrics.ts';
import { ApiError } from '../kube/api-error.ts';
import { pause } from '../kube/backoff.ts';
import { getIfThere, ifFound } from '../kube/get-if-there.ts';
import {
  type AgentPolicyObjects,
  agentPolicyName,
  agentPolicyParts,
} from '../model/agent-policy.ts';
import type { KubeObject } from '../model/object.ts';
import type { Reason } from '../model/reasons.ts';
import { admissionPolicies } from '../model/resources.ts';
import { type Attribution, attributionOf, believeAll } from '../plan/blocks/attribution.ts';
import type { Register } from '../plan/blocks/register.ts';
import type { OperatorBase } from './operator-base.ts';

/** Whose word counts: only what can be attributed to the node's own agent, or any report's. */
export const reportBeliefs = ['attributed', 'all'] as const;
export type ReportBelief = (typeof reportBeliefs)[number];

interface AttributionWatchOptions extends OperatorBase {
  register: Register;
  belief: ReportBelief;
  everyMs: number;
  /** What the register says of it has changed: blocks may be released now, or not any more. */
  onChange(): void;
}

/**
 * Follows the admission policy that binds each agent to its own node (plan/blocks/attribution
 * says what follows from it): by two small reads every now and then, and before a block is
 * released. Those come after the report was read: a policy that is still the one that the
 * report names was there when it was written.
 */
export class AttributionWatch {
  readonly #o: AttributionWatchOptions;
  readonly #gauge: Gauge | undefined;

  constructor(options: AttributionWatchOptions) {
    this.#o = options;
    const { register, belief, metrics } = options;
    if (belief === 'all') {
      register.attribution = believeAll;
      return;
    }
    register.attribution = { kind: 'impossible', why: 'the operator has not looked yet' };
    this.#gauge = metrics.gauge(
      'cadastre_reports_attributed',
      'Whether each agent is bound to its own node by the admission policy (1), so that what it reports can release a block.',
    );
    this.#gauge.set(0);
  }

  /** Until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#o.belief === 'all') {
      const words = 'every NodeReport is believed (--believe-reports=all)';
      this.#o.log.info({}, `${words}: any agent can report that any node does not use its block`);
      return;
    }
    while (!signal.aborted) {
      await pause(this.#o.everyMs, signal);
      if (signal.aborted) return;
      try {
        await this.look();
      } catch (error) {
        const fields = { error: describeError(error) };
        this.#o.log.debug?.(fields, `could not read the policy ${agentPolicyName}; trying again`);
      }
    }
  }

  /** Throws when the API server does not say. What may not be read is not in force. */
  async look(): Promise<void> {
    const { register, belief, onChange } = this.#o;
    if (belief === 'all') return;
    const before = register.attribution;
    const now = await this.#read();
    if (JSON.stringify(now) === JSON.stringify(before)) return;
    register.attribution = now;
    this.#say(now);
    onChange();
  }

  async #read(): Promise<Attribution> {
    const live: AgentPolicyObjects = { policy: undefined, binding: undefined };
    try {
      for (const { part, resource } of agentPolicyParts) {
        live[part] = await getIfThere<KubeObject>(this.#o.client, resource, agentPolicyName);
      }
      if (live.policy === undefined && !(await this.#isServed())) {
        const why =
          'this API server has no ValidatingAdmissionPolicy; Kubernetes 1.30 is the first that has';
        return { kind: 'impossible', why };
      }
      return attributionOf(live);
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isForbidden) throw error;
      const why = `the operator may not read the ValidatingAdmissionPolicy ${agentPolicyName} and its binding (deploy/operator.yaml has the right)`;
      return { kind: 'impossible', why };
    }
  }

  async #isServed(): Promise<boolean> {
    const { group, version, plural } = admissionPolicies;
    const served = (await ifFound(this.#o.client.rawGet(`/apis/${group}/${version}`))) as
      | { resources?: { name: string }[] }
      | undefined;
    return served?.resources?.some(({ name }) => name === plural) ?? false;
  }

  #say(now: Attribution): void {
    const { log } = this.#o;
    this.#gauge?.set(now.kind === 'by policy' ? 1 : 0);
    if (now.kind !== 'impossible') {
      const words = 'what it reports about the release of its blocks is believed';
      log.info({ object: agentPolicyName }, `each agent is bound to its own node: ${words}`);
      return;
    }
    const reason: Reason = 'ReportNotAttributed';
    const words = 'what agents report about the release of blocks is not believed';
    log.warn({ reason }, `${words}, any of them could have written it: ${now.why}`);
  }
}
