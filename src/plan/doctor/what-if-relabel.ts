import { isPeerOf } from '../../model/bgp-peer.ts';
import { registerOf } from '../blocks/register-of.ts';
import type { Survey } from './survey.ts';
import type { ChangesAnswer, Loss, RouteMove } from './what-if-answer.ts';

/**
 * Labels change: which pool is for the node then, and which routers it has
 * sessions with. A block is never taken away for a label; it is lost to the outside if
 * the node has no router left.
 */
export function relabelNode(
  survey: Survey,
  name: string,
  change: Readonly<Record<string, string | null>>,
): ChangesAnswer {
  const known = survey.nodes.get(name);
  if (known === undefined) return { kind: 'unknown', why: `there is no node ${name}` };
  const before = known.node.labels;
  const after: Record<string, string> = { ...before };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete after[key];
    else after[key] = value;
  }
  const loses: Loss[] = [];
  const moves: RouteMove[] = [];
  const peersFor = (labels: Readonly<Record<string, string>>) =>
    survey.evidence.peers
      .filter((peer) => isPeerOf(peer, labels))
      .map((peer) => peer.name)
      .sort();
  const [routers, routersAfter] = [peersFor(before), peersFor(after)];
  const register = registerOf(survey.evidence);
  const selecting = [...register.poolSet.selecting(after)];
  for (const { prefix, key } of known.blocks) {
    if (routers.length > 0 && routersAfter.length === 0) {
      const why = `no BGP peer is for ${name} then; today ${routers.join(', ')}`;
      loses.push({ node: name, prefix: key, why, alternatives: [] });
    } else if (routers.join() !== routersAfter.join()) {
      const [from, to] = [routers.join(', ') || 'no router', routersAfter.join(', ')];
      moves.push({ node: name, prefix: key, from, to, why: 'it is announced to other routers' });
    }
    const home = register.poolSet.containing(prefix);
    if (home === undefined || selecting.includes(home)) continue;
    const next = selecting.find((pool) => pool.blockSize[prefix.family] !== undefined);
    moves.push({
      node: name,
      prefix: key,
      from: `pool ${home.name}`,
      to: next === undefined ? 'no pool' : `pool ${next.name}`,
      why:
        next === undefined
          ? 'it keeps the block, but no pool is for it: a new Node of this name would get none'
          : 'it keeps the block; a new Node of this name would get another',
    });
  }
  const isUnselected = survey.pools.length > 0 && selecting.length === 0;
  return {
    kind: 'changes',
    loses,
    moves,
    refused: isUnselected
      ? [
          {
            node: name,
            prefix: null,
            reason: 'NoPoolSelectsNode',
            detail: `no pool would select ${name}`,
          },
        ]
      : [],
  };
}
