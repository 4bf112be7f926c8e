import { plural } from '../../base/count-text.ts';
import type { Pool } from '../../model/ip-pool.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import { planAllocation } from '../blocks/allocation-plan.ts';
import { registerOf } from '../blocks/register-of.ts';
import type { Survey, SurveyedBlock } from './survey.ts';
import { noPools, rulesOf } from './what-if-add.ts';
import type { ChangesAnswer, Denial, Loss, RouteMove } from './what-if-answer.ts';

/**
 * A pool goes, or becomes smaller. Nobody's block is taken away by that: the
 * operator waits until it is empty. So the answer is who stands in the way, where
 * each of them would have to move, and for whom there is no other place.
 */
export function removePool(survey: Survey, name: string): ChangesAnswer {
  return withoutCidrs(survey, name, undefined);
}

/** `to`: what the pool is left with. */
export function shrinkPool(survey: Survey, name: string, to: Prefix): ChangesAnswer {
  return withoutCidrs(survey, name, to);
}

function withoutCidrs(survey: Survey, name: string, to: Prefix | undefined): ChangesAnswer {
  const pool = survey.pools.find((one) => one.name === name);
  if (pool === undefined) {
    const known = survey.pools.map((one) => one.name).join(', ');
    const why = known === '' ? noPools(survey) : `there is no pool ${name} (${known})`;
    return { kind: 'unknown', why };
  }
  const left = to === undefined ? [] : partsOf(pool, to);
  if (to !== undefined && left.length === 0) {
    return { kind: 'unknown', why: `${to} has nothing of pool ${name} (${pool.cidrs.join(', ')})` };
  }
  const rest = PrefixSet.of(left);
  const displaced = survey.blocks.filter(
    ({ prefix }) =>
      pool.cidrs.some((cidr) => cidr.contains(prefix)) &&
      !rest.covers(prefix) &&
      !survey.pools.some((one) => one !== pool && one.cidrs.some((cidr) => cidr.contains(prefix))),
  );
  const { loses, moves } = newBlocksFor(survey, pool, left, displaced);
  const nodes = new Set(displaced.map(({ node }) => node)).size;
  const refused: Denial[] =
    displaced.length === 0
      ? []
      : [
          {
            node: null,
            prefix: null,
            reason: 'PoolInUse',
            detail: `${plural(displaced.length, 'block')} of ${plural(nodes, 'node')} ${displaced.length === 1 ? 'is' : 'are'} held there; ${to === undefined ? 'the pool stays until they are given back' : 'they would lie in no pool'}`,
          },
        ];
  return { kind: 'changes', loses, moves, refused };
}

function partsOf(pool: Pool, to: Prefix): Prefix[] {
  return pool.cidrs
    .filter((cidr) => cidr.overlaps(to))
    .map((cidr) => (cidr.length > to.length ? cidr : to));
}

/** Which blocks those nodes would get: the same choice that the operator makes for a new node. */
function newBlocksFor(
  survey: Survey,
  pool: Pool,
  left: readonly Prefix[],
  displaced: readonly SurveyedBlock[],
): { loses: Loss[]; moves: RouteMove[] } {
  if (displaced.length === 0) return { loses: [], moves: [] };
  const names = new Set(displaced.map(({ node }) => node));
  const register = registerOf(survey.evidence);
  if (left.length === 0) register.removePool(pool.name);
  else register.putPool({ ...pool, cidrs: left });
  for (const name of names) {
    for (const block of register.blocksOf(name)) register.removeBlock(block.name);
    register.removeCiliumNode(name);
    const node = register.nodes.get(name);
    if (node !== undefined) register.putNode({ ...node, podCidrs: [], annotations: {} });
  }
  const order = survey.evidence.nodes.map(({ name }) => name);
  const plan = planAllocation(register, order, rulesOf(survey));
  const rows = new Map(plan.nodes.map((row) => [row.name, row]));
  const loses: Loss[] = [];
  const moves: RouteMove[] = [];
  for (const { node, key, prefix } of displaced) {
    const row = rows.get(node);
    const next = row?.blocks.find(({ cidr }) => cidr.includes(':') === (prefix.family === 'ipv6'));
    if (next !== undefined) {
      const to = `${next.cidr} of pool ${next.pool}`;
      moves.push({ node, prefix: key, from: `pool ${pool.name}`, to, why: 'would have to move' });
    } else {
      const denied = row?.refused.find(({ family }) => family === prefix.family);
      const why = denied === undefined ? 'no pool has room' : `${denied.reason}: ${denied.detail}`;
      loses.push({ node, prefix: key, why, alternatives: [] });
    }
  }
  return { loses, moves };
}
