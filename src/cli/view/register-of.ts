import type { Pool } from '../../model/ip-pool.ts';
import { providerOf } from '../../operator/providers.ts';
import { type AllocationPlan, planAllocation } from '../../plan/blocks/allocation-plan.ts';
import type { Finding } from '../../plan/blocks/finding.ts';
import { planHostScope } from '../../plan/blocks/host-scope.ts';
import { Register } from '../../plan/blocks/register.ts';
import type { ClusterView, MalformedObject } from './cluster-view.ts';
import type { IpamSettings } from './ipam-flags.ts';

/** The register that an operator with these settings would have of the cluster. */
export function registerOf(view: ClusterView, settings: IpamSettings): Register {
  const register = new Register(settings.sources);
  for (const pool of poolsOf(view, settings)) register.putPool(pool);
  register.putNetworks('services', [...settings.serviceNetworks, ...view.serviceNetworks]);
  for (const node of view.nodes) register.putNode(node);
  for (const cilium of view.ciliumNodes) register.putCiliumNode(cilium);
  for (const report of view.reports) register.putReport(report);
  for (const block of view.blocks) register.putBlock(block);
  return register;
}

function poolsOf(view: ClusterView, settings: IpamSettings): readonly Pool[] {
  const { clusterPool } = settings;
  if (clusterPool === undefined) {
    return providerOf(settings.mode).pools === 'objects' ? view.pools : [];
  }
  // A Service network is kept out of the cluster's own land, whoever names it.
  const services = view.serviceNetworks.map(({ prefix }) => prefix);
  const inside = services.filter((range) => clusterPool.cidrs.some((cidr) => cidr.overlaps(range)));
  return [{ ...clusterPool, reserved: [...clusterPool.reserved, ...inside] }];
}

/** The dry run. The register is changed as if it had been done. */
export function planOf(
  register: Register,
  view: ClusterView,
  settings: IpamSettings,
): AllocationPlan {
  const order = view.nodes.map((node) => node.name);
  const plan = providerOf(settings.mode).allocates
    ? planAllocation(register, order, settings.rules)
    : planHostScope(register, order, settings.rules);
  return { ...plan, findings: [...plan.findings, ...view.malformed.map(malformedFinding)] };
}

const malformedReasons = {
  Node: 'MalformedHolding',
  CiliumNode: 'MalformedHolding',
  NodeReport: 'MalformedHolding',
  IPPool: 'MalformedPool',
  ServiceCIDR: 'MalformedPool',
  LoadBalancerPool: 'MalformedPool',
  ServiceAddress: 'MalformedBlock',
  NodeBlock: 'MalformedBlock',
  BlockHistory: 'MalformedBlock',
  NodeMigration: 'MalformedBlock',
} as const;

/** An object of a live cluster that could not be understood: reported, not fatal. */
function malformedFinding({ kind, name, problems }: MalformedObject): Finding {
  const isNode = kind === 'Node' || kind === 'CiliumNode';
  return {
    reason: malformedReasons[kind],
    nodes: isNode ? [name] : [],
    cidr: '',
    detail: `${kind} ${name}: ${problems.join('; ')}`,
  };
}
