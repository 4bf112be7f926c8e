import type { CiliumNode } from '../../model/cilium-node.ts';
import type { WitnessReport } from '../../model/cluster-kinds.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { readHoldings } from '../blocks/holdings.ts';
import { readPrefixes } from '../blocks/truth.ts';
import type { Evidence } from './evidence.ts';

/** The records of a node's blocks, in the order in which they stand in a finding. */
export type RecordName =
  | 'NodeBlock'
  | 'CiliumNode'
  | 'Node.spec'
  | 'annotation'
  | 'agent'
  | 'kernel';

/** What each record says; a record that says nothing is left out. */
export type NodeRecords = ReadonlyMap<RecordName, readonly Prefix[]>;

export function nodeRecords(
  { kernel }: Pick<Evidence, 'kernel'>,
  node: ClusterNode,
  cilium: CiliumNode | undefined,
  report: WitnessReport | undefined,
  registered: readonly Block[],
): NodeRecords {
  const records = new Map<RecordName, Prefix[]>();
  const put = (name: RecordName, prefixes: Prefix[]) => {
    if (prefixes.length > 0) records.set(name, prefixes);
  };
  put('NodeBlock', [
    ...registered
      .filter(({ phase }) => phase === 'Active' || phase === 'Draining')
      .map(({ prefix }) => prefix),
  ]);
  put('CiliumNode', readPrefixes(cilium?.poolCidrs ?? cilium?.podCidrs ?? []));
  put('Node.spec', readPrefixes(node.podCidrs));
  put('annotation', annotated(node));
  put('agent', readPrefixes((report?.status?.blocks ?? []).map(({ cidr }) => cidr)));
  if (kernel?.node === node.name) {
    put(
      'kernel',
      kernel.routes.filter(({ isLocal }) => isLocal).map(({ prefix }) => prefix),
    );
  } else put('kernel', readPrefixes(report?.status?.kernel?.ownRoutes ?? []));
  return records;
}

function annotated(node: ClusterNode): Prefix[] {
  if (Object.keys(node.annotations).length === 0) return [];
  const found: Prefix[] = [];
  const { bySource } = readHoldings(node, undefined, ['annotation', 'old-annotation']);
  for (const held of bySource.values()) {
    for (const family of families) {
      for (const prefix of held[family]) {
        if (!found.some((known) => known.equals(prefix))) found.push(prefix);
      }
    }
  }
  return found;
}
