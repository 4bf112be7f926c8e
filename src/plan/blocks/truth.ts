import type { CiliumNode } from '../../model/cilium-node.ts';
import type { ClusterState } from '../../model/cluster-state.ts';
import {
  type Mode,
  type ModeName,
  modeOfCilium,
  modes,
  type TruthRecord,
} from '../../model/modes.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { NodeReport } from '../../model/node-report.ts';
import { families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { type HoldingSource, readHoldings, trustedHoldings, usedHoldings } from './holdings.ts';
import { hostScopeSources } from './host-scope.ts';

/** Which record is the truth of a node's blocks. Everything else is compared with it. */
export interface Truth {
  mode: Mode;
  record: TruthRecord;
  /** Where that record is silent, these are believed, best first. */
  sources: readonly HoldingSource[];
  /** How we know, for people. */
  why: string;
}

export function findTruth(state: ClusterState): Truth {
  const { cilium, pools, ciliumNodes } = state;
  const { name, by } = statedMode(state);
  const stated = name === undefined ? undefined : modes[name];
  if (stated !== undefined && !stated.allocates) {
    return truth(stated, stated.truth, by);
  }
  const theirs = cilium === undefined ? undefined : modeOfCilium(cilium.ipam);
  if (state.blocks.some(({ phase }) => phase !== 'Guard')) {
    const byObjects = theirs?.isPooledByCilium ? theirs : modes['ip-pool'];
    const mode = stated ?? (pools.length > 0 ? byObjects : modes['cluster-pool']);
    return { mode, record: mode.truth, sources: mode.adoptsFrom, why: 'NodeBlocks exist' };
  }
  if (stated !== undefined) {
    const why = `${by}, and no NodeBlock exists yet`;
    return { mode: stated, record: stated.truthBefore, sources: stated.adoptsFrom, why };
  }
  // Cilium stands in mode kubernetes where IPPools serve; they count before the first block is cut.
  const byPools: Truth = {
    mode: modes['ip-pool'],
    record: modes['ip-pool'].truthBefore,
    sources: modes['ip-pool'].adoptsFrom,
    why: 'IPPools exist, and no NodeBlock yet',
  };
  if (pools.length > 0 && theirs?.truthBefore === 'node') return byPools;
  if (cilium !== undefined && theirs !== undefined) {
    return truth(theirs, theirs.truthBefore, `cilium-config says ipam: ${cilium.ipam}`);
  }
  if (cilium !== undefined) {
    // A cloud's addresses are no blocks of ours to judge; Node.spec means nothing there.
    const why = `cilium-config says ipam: ${cilium.ipam}, which has no blocks that we know`;
    return truth(modes['multi-pool'], 'ciliumnode', why);
  }
  if (ciliumNodes.some(({ podCidrs }) => podCidrs.length > 0)) {
    const why = 'CiliumNodes have blocks, and no cilium-config was seen';
    return truth(modes['cluster-pool'], 'ciliumnode', why);
  }
  if (pools.length > 0) return byPools;
  return truth(modes.kubernetes, 'node', 'nothing but Nodes has blocks');
}

/** A flag wins over what the operator was started with. */
function statedMode({ mode, operator }: ClusterState): { name?: ModeName; by: string } {
  if (mode !== undefined) return { name: mode, by: `--ipam ${mode}` };
  if (operator === undefined) return { by: '' };
  return { name: operator.mode, by: `OperatorReport says ${operator.mode}` };
}

/** Of a mode in which Cadastre gives out nothing: the record itself is all there is. */
function truth(mode: Mode, record: TruthRecord, why: string): Truth {
  return { mode, record, sources: record === 'node' ? hostScopeSources : ['ciliumnode'], why };
}

/**
 * A node's blocks by the record that is the truth; by what the node holds where that
 * is silent. What its agent uses and the register lost (`isFree`: no other node has it)
 * is the node's too: the operator takes it back.
 */
export function trueBlocks(
  { mode, record, sources }: Truth,
  node: ClusterNode,
  cilium: CiliumNode | undefined,
  registered: readonly Block[],
  report?: NodeReport | undefined,
  isFree: (prefix: Prefix) => boolean = () => true,
): Prefix[] {
  if (mode.isPooledByCilium && record !== 'register') {
    return readPrefixes(cilium?.poolCidrs ?? cilium?.podCidrs ?? []);
  }
  const own = record === 'register' ? registered.filter((block) => isHolder(node, block)) : [];
  const holdings = readHoldings(node, cilium, sources, report);
  const isLost = (used: Prefix) => !registered.some(({ prefix }) => prefix.contains(used));
  return families.flatMap((family) => {
    const blocks = own.map(({ prefix }) => prefix).filter((prefix) => prefix.family === family);
    if (blocks.length > 0) {
      const used = usedHoldings(holdings).filter((prefix) => prefix.family === family);
      return [...blocks, ...used.filter((prefix) => isLost(prefix) && isFree(prefix))];
    }
    return trustedHoldings(holdings, family);
  });
}

/** Objects in files often carry no uid; then the name has to do. */
export function isHolder(node: ClusterNode, { nodeName, nodeUid, phase }: Block): boolean {
  if (nodeName !== node.name || (phase !== 'Active' && phase !== 'Draining')) return false;
  return nodeUid === node.uid || nodeUid === '' || node.uid === '';
}

export function readPrefixes(texts: readonly string[]): Prefix[] {
  return texts.flatMap((text) => parsePrefix(text) ?? []);
}
