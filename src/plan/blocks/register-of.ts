import type { ClusterState } from '../../model/cluster-state.ts';
import { servingPools } from '../pools/serving-pools.ts';
import type { HoldingSource } from './holdings.ts';
import { Register } from './register.ts';
import { findTruth } from './truth.ts';

/**
 * The register that an operator would have of this cluster. `sources` are the
 * records it adopts from, best first, where somebody said so (--adopt-from).
 */
export function registerOf(state: ClusterState, sources?: readonly HoldingSource[]): Register {
  const truth = findTruth(state);
  const register = new Register(sources ?? truth.sources, truth.mode.byDemand);
  for (const pool of servingPools(state, truth.mode)) register.putPool(pool);
  register.putNetworks([...state.serviceNetworks]);
  for (const node of state.nodes) register.putNode(node);
  for (const cilium of state.ciliumNodes) register.putCiliumNode(cilium);
  for (const report of state.reports) register.putReport(report);
  for (const block of state.blocks) register.putBlock(block);
  return register;
}
