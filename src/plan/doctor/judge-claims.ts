import { cure } from '../../model/cures.ts';
import { isFromFlags } from '../../model/ip-pool.ts';
import {
  isReserved,
  prefixesText,
  refusedCause,
  refusedCure,
  refusedGroups,
  sourceText,
} from '../blocks/claim-findings.ts';
import { cellOf } from '../blocks/claim-limits.ts';
import { type DoctorFinding, finding, hurtsNow } from './finding.ts';
import type { Survey, SurveyedNode } from './survey.ts';

/** What nodes claim of pools without a NodeBlock: more than they may, or by an address of their own. */
export function judgeClaims(survey: Survey): DoctorFinding[] {
  return [...survey.nodes.values()].flatMap((surveyed) => [
    ...refusedClaims(survey, surveyed),
    ...addressesInPools(survey, surveyed),
  ]);
}

function refusedClaims(survey: Survey, { node, claims, blocks }: SurveyedNode): DoctorFinding[] {
  return refusedGroups(claims.refused).map((group) => {
    const [{ source, pool, kind }] = group as [(typeof group)[number]];
    const isServed = blocks.length > 0 || kind === 'address';
    return finding('ClaimRefused', isServed ? 'warning' : 'critical', {
      node: node.name,
      prefix: prefixesText(group),
      says: {
        [sourceText(source)]: node.name,
        pool: pool.name,
        refused: `it ${refusedCause(group, survey.limits.byDemand)}; it is kept from nobody else`,
      },
      hurts: isServed ? hurtsNow() : hurtsNow(node.name),
      fix: refusedCure(group),
    });
  });
}

/** Where a block lies there already, that is reported, and worse. */
function addressesInPools(survey: Survey, { node, claims }: SurveyedNode): DoctorFinding[] {
  return claims.kept.flatMap(({ prefix: address, kind }) => {
    const pool = kind === 'address' ? survey.limits.poolAt(address)?.pool : undefined;
    if (pool === undefined || isFromFlags(pool) || isReserved(pool, address)) return [];
    if (survey.claims.firstOverlap(address) !== undefined) return [];
    const cell = cellOf(address, pool).toString();
    return finding('OverlapsNetwork', 'warning', {
      node: node.name,
      prefix: cell,
      says: { pool: pool.name, network: `${address.first()} of node ${node.name}` },
      fix: cure(
        'ReserveNodeAddress',
        `reserve ${cell} in pool ${pool.name}, or take it out of its cidrs; until then it is given to no node`,
      ),
    });
  });
}
