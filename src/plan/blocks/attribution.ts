import {
  type AgentPolicyObjects,
  agentPolicyBindingSpec,
  agentPolicyIdentity,
  agentPolicyName,
  agentPolicyParts,
  agentPolicySpec,
} from '../../model/agent-policy.ts';
import type { NodeReport } from '../../model/node-report.ts';

/**
 * Whether a NodeReport can be attributed to the agent of its node (decision 34). RBAC gives
 * the agents of all nodes the same rights, so by itself any of them could write that
 * another node does not use its block. The admission policy lets each write its own report
 * alone; a report was written under it if it names that policy, whose uid nobody could know
 * before it was installed.
 *
 * What a report says for a release counts only if it can be attributed. What it says against
 * one always counts.
 */
export type Attribution =
  /** Every report is believed. */
  | { kind: 'not asked for' }
  | { kind: 'by policy'; identity: string }
  | { kind: 'impossible'; why: string };

export const believeAll: Attribution = { kind: 'not asked for' };

const shipped = { policy: agentPolicySpec, binding: agentPolicyBindingSpec };

/** By the policy and its binding as the API server has them now. */
export function attributionOf(live: AgentPolicyObjects): Attribution {
  for (const { part, resource } of agentPolicyParts) {
    const object = live[part];
    const name = `the ${resource.kind} ${agentPolicyName}`;
    if (object === undefined || object.metadata?.deletionTimestamp) {
      return { kind: 'impossible', why: `${name} is not installed (deploy/agent.yaml has it)` };
    }
    const place = firstDifference(object.spec, shipped[part], 'spec');
    if (place !== undefined) {
      const why = `${name} is not the one of deploy/agent.yaml of this version: ${place} differs`;
      return { kind: 'impossible', why };
    }
  }
  const identity = agentPolicyIdentity(live);
  if (identity === undefined) return { kind: 'impossible', why: 'the policy has no uid' };
  return { kind: 'by policy', identity };
}

/** Why another agent may have written the report; undefined: nobody else can have. */
export function whyUnattributed(
  attribution: Attribution,
  report: NodeReport | undefined,
): string | undefined {
  if (report === undefined || attribution.kind === 'not asked for') return undefined;
  if (attribution.kind === 'impossible') return attribution.why;
  if (report.underPolicy === attribution.identity) return undefined;
  return `it was written before the policy ${agentPolicyName} was installed or changed, or by an agent of an earlier version`;
}

/** What is said of a report that would release a block if it were believed. */
export function unattributedWords(nodeName: string, what: string, why: string): string {
  return `the report of ${nodeName} says that ${what}, but any agent could have written it: ${why}`;
}

/** The path of the first field that is not the same. What is empty is as good as absent. */
function firstDifference(live: unknown, wanted: unknown, path: string): string | undefined {
  if (isEmpty(live) && isEmpty(wanted)) return undefined;
  if (!isRecord(live) || !isRecord(wanted) || Array.isArray(live) !== Array.isArray(wanted)) {
    return live === wanted ? undefined : path;
  }
  for (const key of new Set([...Object.keys(wanted), ...Object.keys(live)])) {
    const place = firstDifference(live[key], wanted[key], `${path}.${key}`);
    if (place !== undefined) return place;
  }
  return undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return isRecord(value) && Object.keys(value).length === 0;
}
