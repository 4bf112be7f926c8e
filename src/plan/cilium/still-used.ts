import { plural } from '../../base/count-text.ts';
import type { CiliumNode } from '../../model/cilium-node.ts';
import { type Cure, cure } from '../../model/cures.ts';
import type { Prefix } from '../../net/prefix.ts';
import { type NodeUses, type UsedAddress, usedWords } from './agent-uses.ts';

/**
 * Why a block of a node that is there cannot be let go, in words that a person can act
 * on; empty: nothing lives in it. That no record names the block is not enough beside
 * Cilium: an agent serves from what was there when it started, and pods keep their
 * addresses over every change of a record.
 */
export function stillUsed(uses: NodeUses, block: Prefix): string[] {
  const agent = agentStillServes(uses, block);
  const pods = podsStillIn(uses.podsIn(block), block);
  return [...(agent === undefined ? [] : [agent]), ...(pods === undefined ? [] : [pods])];
}

/** The agent's own address lies in the block. */
export function agentStillServes(uses: NodeUses, block: Prefix): string | undefined {
  const { node, internal } = uses;
  const own = internal.filter((address) => block.contains(address));
  if (own.length === 0) return undefined;
  return `the agent of Cilium on ${node} serves from ${block} (CiliumInternalIP ${own.join(', ')}): ${restartAgent(node)}`;
}

export function podsStillIn(used: readonly UsedAddress[], block: Prefix): string | undefined {
  if (used.length === 0) return undefined;
  const pods = new Set(used.map(({ pod }) => pod)).size;
  return `${plural(pods, 'pod has', 'pods have')} addresses in ${block} (${usedWords(used)}): ${cure('DeletePods', 'delete them, so that they come back with others')}`;
}

/**
 * An agent runs on the node (it wrote the node's addresses), and says of no block that
 * it serves from it.
 */
export function agentIsSilent(cilium: CiliumNode | undefined): string | undefined {
  if (cilium?.nodeIps === undefined || cilium.internalIps !== undefined) return undefined;
  return `CiliumNode ${cilium.name} has no CiliumInternalIP, so nobody knows which block its agent serves from`;
}

/**
 * The one way to make an agent serve from another block in the modes with one block a
 * node. Pods first: after the restart it does not take back those of the old block.
 */
export function restartAgent(node: string): Cure {
  return cure(
    'RestartCiliumAgent',
    `move its pods away (kubectl drain ${node} --ignore-daemonsets), restart the agent (kubectl -n kube-system delete pod -l k8s-app=cilium --field-selector spec.nodeName=${node}), then kubectl uncordon ${node}`,
  );
}
