import type { ClusterState } from '../../model/cluster-state.ts';
import type { HoldingSource } from '../../model/holding-source.ts';
import { comparedIn } from '../../model/modes.ts';
import { servingPools } from '../pools/serving-pools.ts';
import { Register } from './register.ts';
import { findTruth } from './truth.ts';

export interface ChosenSources {
  /** Adopted from, best first. */
  sources: readonly HoldingSource[];
  /** Compared alone. */
  compared: readonly HoldingSource[];
}

/**
 * The register that an operator would have of this cluster. `chosen` are the
 * records it adopts from and compares, where somebody said so (--adopt-from).
 */
export function registerOf(state: ClusterState, chosen?: ChosenSources): Register {
  const truth = findTruth(state);
  const { sources, compared } = chosen ?? {
    sources: truth.sources,
    compared: comparedIn(truth.mode),
  };
  const register = new Register(sources, truth.mode.byDemand, compared);
  for (const pool of servingPools(state, truth.mode)) register.putPool(pool);
  register.putNetworks([...state.serviceNetworks]);
  for (const node of state.nodes) register.putNode(node);
  for (const cilium of state.ciliumNodes) register.putCiliumNode(cilium);
  for (const report of state.reports) register.putReport(report);
  for (const block of state.blocks) register.putBlock(block);
  return register;
}
