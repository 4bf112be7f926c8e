import type { CiliumNode } from '../../model/cilium-node.ts';
import type { HoldingSource } from '../../model/holding-source.ts';
import { podCidrAnnotations } from '../../model/keys.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { NodeReport } from '../../model/node-report.ts';
import { type Family, families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { isReportOf, statedUses } from './report-uses.ts';

/**
 * Blocks that a node holds according to records other than the register. They
 * are read for one purpose: to take over what is in use before anything new is
 * cut. The order is the order of trust. Our own agent reports what it uses; Cilium's
 * agent writes CiliumNode with what its pods really use; in its `kubernetes` mode it
 * prefers Node.spec over the annotation.
 *
 * The report is unlike the others. They are lists that say what a node is to have; it
 * says block by block what is in use, and may be behind the register. So it is never
 * compared as a list: each block in it that the register lacks is claimed by itself.
 */
export { type HoldingSource, holdingSources } from '../../model/holding-source.ts';

/** Where a person finds the record. */
export const sourceNames: Readonly<Record<HoldingSource, string>> = {
  report: 'NodeReport.spec.uses',
  ciliumnode: 'CiliumNode.spec.ipam.podCIDRs',
  spec: 'Node.spec.podCIDRs',
  annotation: 'the annotation network.cilium.io/…-pod-cidr',
  'old-annotation': 'the annotation io.cilium.network.…-pod-cidr',
  pools: 'CiliumNode.spec.ipam.pools.allocated',
};

export interface Holdings {
  /** Per source and family, in the order the record gives them. */
  bySource: Map<HoldingSource, Record<Family, Prefix[]>>;
  /**
   * Records that are not adopted from in this mode: compared, and given to nobody else,
   * because whatever wrote them may use them.
   */
  compared: Map<HoldingSource, Record<Family, Prefix[]>>;
  /**
   * What multi-pool gave the node, by its CiliumNode: in use, whatever our mode is. Its agent
   * drops a block from that list when it is empty: as with the report, each counts by itself,
   * and one that is missing says nothing about the others.
   */
  pooled: Prefix[];
  /** We serve those pools: what is in the list is adopted. */
  adoptsPooled: boolean;
  malformed: Array<{ source: HoldingSource; value: string }>;
}

export function readHoldings(
  node: ClusterNode | undefined,
  cilium: CiliumNode | undefined,
  sources: readonly HoldingSource[],
  report?: NodeReport | undefined,
  compared: readonly HoldingSource[] = [],
): Holdings {
  const holdings: Holdings = {
    ...noHoldings(),
    pooled: pooledOf(cilium),
    adoptsPooled: sources.includes('pools'),
  };
  for (const source of [...sources, ...compared]) {
    if (source === 'pools') continue;
    const into = sources.includes(source) ? holdings.bySource : holdings.compared;
    const seen = new Set<string>();
    const records = recordsOf(source, node, cilium, report);
    for (const value of records.slice(0, mostRecords)) {
      const prefix = parsePrefix(value);
      if (prefix === undefined) {
        holdings.malformed.push({ source, value });
        continue;
      }
      const found = into.get(source) ?? { ipv4: [], ipv6: [] };
      into.set(source, found);
      const text = prefix.toString();
      if (!seen.has(text)) found[prefix.family].push(prefix);
      seen.add(text);
    }
    if (records.length > mostRecords) {
      holdings.malformed.push({ source, value: `… and ${records.length - mostRecords} more` });
    }
  }
  return holdings;
}

export function noHoldings(): Holdings {
  return {
    bySource: new Map(),
    compared: new Map(),
    pooled: [],
    adoptsPooled: false,
    malformed: [],
  };
}

function pooledOf(cilium: CiliumNode | undefined): Prefix[] {
  const texts = new Set(cilium?.poolCidrs ?? []);
  return [...texts].slice(0, mostRecords).flatMap((text) => parsePrefix(text) ?? []);
}

/** More blocks than a node can hold of any pool: one record must not cost everybody's time. */
const mostRecords = 4_096;

function recordsOf(
  source: HoldingSource,
  node: ClusterNode | undefined,
  cilium: CiliumNode | undefined,
  report: NodeReport | undefined,
): readonly string[] {
  if (source === 'report') return isReportOf(report, node) ? statedUses(report) : [];
  if (source === 'ciliumnode') return cilium?.podCidrs ?? [];
  if (source === 'spec') return node?.podCidrs ?? [];
  const name = source === 'annotation' ? 0 : 1;
  return families
    .map((family) => node?.annotations[podCidrAnnotations[family][name]])
    .filter((value) => value !== undefined);
}

/** What a node holds of a family: the word of the most trusted source that has one. */
export function trustedHoldings(holdings: Holdings, family: Family): Prefix[] {
  for (const found of holdings.bySource.values()) {
    if (found[family].length > 0) return found[family];
  }
  return [];
}

/** The same without the report: the list that says what a node is to have, and where it is. */
export function recordedHoldings(
  holdings: Holdings,
  family: Family,
): { source: HoldingSource; prefixes: Prefix[] } {
  for (const [source, found] of holdings.bySource) {
    if (source !== 'report' && found[family].length > 0) return { source, prefixes: found[family] };
  }
  return { source: 'spec', prefixes: [] };
}

/** What the node's own agent says that it uses. */
export function usedHoldings(holdings: Holdings): Prefix[] {
  const used = holdings.bySource.get('report');
  return used === undefined ? [] : [...used.ipv4, ...used.ipv6];
}

/**
 * Whether a list of holdings is the node's own word for what it is to have: it
 * names every block of the family that is registered. Then the rest of it is yet
 * to be adopted (nothing was so far, or a crash came between two adoptions). A
 * list that leaves a registered block out means something else.
 */
export function isRestOf(
  held: readonly Prefix[],
  registered: ReadonlyArray<{ prefix: Prefix }>,
): boolean {
  return registered.every(
    ({ prefix }) => prefix.family !== held[0]?.family || held.some((other) => other.equals(prefix)),
  );
}

export function allHoldings(holdings: Holdings, without?: HoldingSource): Prefix[] {
  const { bySource, compared, pooled } = holdings;
  const lists = [...bySource, ...compared].flatMap(([source, found]) =>
    source === without ? [] : [...found.ipv4, ...found.ipv6],
  );
  return [...lists, ...pooled];
}
