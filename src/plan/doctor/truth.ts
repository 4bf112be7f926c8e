import type { CiliumNode } from '../../model/cilium-node.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { holdingSources, readHoldings, trustedHoldings } from '../blocks/holdings.ts';
import { hostScopeSources } from '../blocks/host-scope.ts';
import type { Evidence, Mode } from './evidence.ts';

/**
 * Which record is the truth of a node's blocks. Everything else is compared
 * with it.
 *
 *   register     NodeBlocks: wherever Cadastre gives out the blocks
 *   ciliumnode   CiliumNode.spec.ipam: Cilium's own cluster-pool and multi-pool
 *   node         Node.spec.podCIDRs, then the annotation: mode kubernetes
 */
export type TruthRecord = 'register' | 'ciliumnode' | 'node';

export interface Truth {
  mode: Mode;
  record: TruthRecord;
  /** How we know, for people. */
  why: string;
}

const ciliumModes: Readonly<Record<string, Mode>> = {
  kubernetes: 'kubernetes',
  'cluster-pool': 'cluster-pool',
  'cluster-pool-v2': 'cluster-pool-v2',
  'cluster-pool-v2beta': 'cluster-pool-v2',
  'multi-pool': 'multi-pool',
};

export function findTruth(evidence: Evidence): Truth {
  const { mode, cilium, pools, ciliumNodes } = evidence;
  const isRegistered = evidence.blocks.some(({ phase }) => phase !== 'Guard');
  if (mode === 'kubernetes') return { mode, record: 'node', why: '--ipam kubernetes' };
  if (mode === 'multi-pool') return { mode, record: 'ciliumnode', why: '--ipam multi-pool' };
  if (isRegistered) {
    const read = mode ?? (pools.length > 0 ? 'ip-pool' : 'cluster-pool');
    return { mode: read, record: 'register', why: 'NodeBlocks exist' };
  }
  if (mode !== undefined) {
    const record = mode === 'ip-pool' ? 'node' : 'ciliumnode';
    return { mode, record, why: `--ipam ${mode}, and no NodeBlock exists yet` };
  }
  const theirs = cilium === undefined ? undefined : ciliumModes[cilium.ipam];
  // Cilium stands in mode kubernetes where IPPools serve; they count before the first block is cut.
  const byPools: Truth = {
    mode: 'ip-pool',
    record: 'node',
    why: 'IPPools exist, and no NodeBlock yet',
  };
  if (pools.length > 0 && theirs === 'kubernetes') return byPools;
  if (cilium !== undefined && theirs !== undefined) {
    const record = theirs === 'kubernetes' ? 'node' : 'ciliumnode';
    return { mode: theirs, record, why: `cilium-config says ipam: ${cilium.ipam}` };
  }
  if (cilium !== undefined) {
    // A cloud's addresses are no blocks of ours to judge; Node.spec means nothing there.
    const why = `cilium-config says ipam: ${cilium.ipam}, which has no blocks that we know`;
    return { mode: 'multi-pool', record: 'ciliumnode', why };
  }
  if (ciliumNodes.some(({ podCidrs }) => podCidrs.length > 0)) {
    return {
      mode: 'cluster-pool',
      record: 'ciliumnode',
      why: 'CiliumNodes have blocks, and no cilium-config was seen',
    };
  }
  if (pools.length > 0) return byPools;
  return { mode: 'kubernetes', record: 'node', why: 'nothing but Nodes has blocks' };
}

/** A node's blocks by the record that is the truth; by what the node holds where that is silent. */
export function trueBlocks(
  { mode, record }: Truth,
  node: ClusterNode,
  cilium: CiliumNode | undefined,
  registered: readonly Block[],
): Prefix[] {
  if (record === 'node') {
    const holdings = readHoldings(node, undefined, hostScopeSources);
    return families.flatMap((family) => trustedHoldings(holdings, family));
  }
  if (mode === 'multi-pool') return readAll(cilium?.poolCidrs ?? cilium?.podCidrs ?? []);
  const own = record === 'register' ? registered.filter((block) => isHolder(node, block)) : [];
  const holdings = readHoldings(
    node,
    cilium,
    record === 'register' ? holdingSources : ['ciliumnode'],
  );
  return families.flatMap((family) => {
    const blocks = own.filter(({ prefix }) => prefix.family === family);
    if (blocks.length > 0) return blocks.map(({ prefix }) => prefix);
    return trustedHoldings(holdings, family);
  });
}

/** Objects in files often carry no uid; then the name has to do. */
export function isHolder(node: ClusterNode, { nodeName, nodeUid, phase }: Block): boolean {
  if (nodeName !== node.name || (phase !== 'Active' && phase !== 'Draining')) return false;
  return nodeUid === node.uid || nodeUid === '' || node.uid === '';
}

export function readAll(texts: readonly string[]): Prefix[] {
  return texts.flatMap((text) => parsePrefix(text) ?? []);
}
