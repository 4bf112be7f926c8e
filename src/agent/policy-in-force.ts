import { ApiError } from '../kube/api-error.ts';
import { getIfThere } from '../kube/get-if-there.ts';
import {
  type AgentPolicyObjects,
  agentPolicyIdentity,
  agentPolicyName,
  agentPolicyParts,
} from '../model/agent-policy.ts';
import type { KubeObject } from '../model/object.ts';
import type { AgentWorld } from './agent-world.ts';

/** A spec is written at a bounded rate, but on every node. */
const validForMs = 60_000;

/**
 * Which admission policy binds this agent to its node, as far as it is known: the report
 * names it, so that the operator can tell that the report was written under it.
 */
export class PolicyInForce {
  readonly #o: Pick<AgentWorld, 'client' | 'clock'>;
  #identity: string | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: Pick<AgentWorld, 'client' | 'clock'>) {
    this.#o = options;
  }

  /** Undefined: there is none, or it may not be read. */
  async identity(signal: AbortSignal): Promise<string | undefined> {
    const { client, clock } = this.#o;
    if (clock.monotonicMs() - this.#readAtMs < validForMs) return this.#identity;
    const live: AgentPolicyObjects = { policy: undefined, binding: undefined };
    try {
      for (const { part, resource } of agentPolicyParts) {
        live[part] = await getIfThere<KubeObject>(client, resource, agentPolicyName, { signal });
        if (live[part] === undefined) break;
      }
    } catch (error) {
      // Of an earlier version's rights; the report itself matters more.
      if (!(error instanceof ApiError) || !error.isForbidden) throw error;
    }
    this.#identity = agentPolicyIdentity(live);
    this.#readAtMs = clock.monotonicMs();
    return this.#identity;
  }
}
