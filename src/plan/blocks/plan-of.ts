import type { ClusterState, MalformedObject } from '../../model/cluster-state.ts';
import { type AllocationPlan, planAllocation } from './allocation-plan.ts';
import type { Rules } from './decide-node.ts';
import type { Finding } from './finding.ts';
import { planHostScope } from './host-scope.ts';
import type { Register } from './register.ts';
import { findTruth } from './truth.ts';

/** The dry run. The register is changed as if it had been done. */
export function planOf(register: Register, state: ClusterState, rules: Rules): AllocationPlan {
  const order = state.nodes.map((node) => node.name);
  const plan = findTruth(state).mode.allocates
    ? planAllocation(register, order, rules)
    : planHostScope(register, order, rules);
  return { ...plan, findings: [...plan.findings, ...state.malformed.map(malformedFinding)] };
}

/** An object of a live cluster that could not be understood: reported, not fatal. */
function malformedFinding({ kind, name, problems }: MalformedObject): Finding {
  const isHolder = kind === 'Node' || kind === 'CiliumNode' || kind === 'NodeReport';
  const isPool = kind.endsWith('Pool') || kind === 'ServiceCIDR';
  return {
    reason: isHolder ? 'MalformedHolding' : isPool ? 'MalformedPool' : 'MalformedBlock',
    nodes: isHolder && kind !== 'NodeReport' ? [name] : [],
    cidr: '',
    detail: `${kind} ${name}: ${problems.join('; ')}`,
  };
}
