import { holdingSources } from '../blocks/holdings.ts';
import { hostScopeSources } from '../blocks/host-scope.ts';
import { Register } from '../blocks/register.ts';
import type { Survey } from './survey.ts';

/** The register that an operator would have of this cluster; what-ifs change it freely. */
export function registerOf({ evidence, pools, truth }: Survey): Register {
  const sources = truth.record === 'node' ? hostScopeSources : holdingSources;
  const register = new Register(sources);
  for (const pool of pools) register.putPool(pool);
  register.putNetworks('services', [...evidence.serviceNetworks]);
  for (const node of evidence.nodes) register.putNode(node);
  for (const cilium of evidence.ciliumNodes) register.putCiliumNode(cilium);
  for (const report of evidence.reports) register.putReport(report);
  for (const block of evidence.blocks) register.putBlock(block);
  return register;
}
