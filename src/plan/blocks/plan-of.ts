import type { ClusterState, MalformedObject } from '../../model/cluster-state.ts';
import { differenceCure, type PoolDifference, poolDifferences } from '../cilium/pod-pools.ts';
import { type AllocationPlan, planAllocation } from './allocation-plan.ts';
import type { Rules } from './decide-node.ts';
import type { Finding } from './finding.ts';
import { planHostScope } from './host-scope.ts';
import type { Register } from './register.ts';
import { findTruth } from './truth.ts';

/** The dry run. The register is changed as if it had been done. */
export function planOf(register: Register, state: ClusterState, rules: Rules): AllocationPlan {
  const order = state.nodes.map((node) => node.name);
  const { mode } = findTruth(state);
  const plan = mode.allocates
    ? planAllocation(register, order, rules)
    : planHostScope(register, order, rules);
  const apart = mode.isPooledByCilium
    ? poolDifferences(state.pools, state.ciliumPodPools ?? []).map(differenceFinding)
    : [];
  const findings = [...plan.findings, ...apart, ...state.malformed.map(malformedFinding)];
  return { ...plan, findings };
}

function differenceFinding(difference: PoolDifference): Finding {
  const { pool, theirs, outside } = difference;
  return {
    reason: 'PoolsDiffer',
    nodes: [],
    cidr: outside.join(', '),
    detail: `IPPool ${pool.name} has ${pool.cidrs.join(', ')}, but CiliumPodIPPool ${pool.name} has ${theirs.cidrs.join(', ')}; ${differenceCure(difference)}`,
  };
}

/** An object of a live cluster that could not be understood: reported, not fatal. */
function malformedFinding({ kind, name, problems }: MalformedObject): Finding {
  const isHolder = kind === 'Node' || kind === 'CiliumNode' || kind === 'NodeReport';
  const isConfig = kind === 'OperatorReport';
  const isPool = kind.endsWith('Pool') || kind === 'ServiceCIDR';
  return {
    reason: isHolder
      ? 'MalformedHolding'
      : isConfig
        ? 'MalformedConfig'
        : isPool
          ? 'MalformedPool'
          : 'MalformedBlock',
    nodes: isHolder && kind !== 'NodeReport' ? [name] : [],
    cidr: '',
    detail: `${kind} ${name}: ${problems.join('; ')}`,
  };
}
