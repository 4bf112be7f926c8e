import type { CiliumNode } from '../../model/cilium-node.ts';
import type { WitnessReport } from '../../model/cluster-kinds.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { readHoldings } from '../blocks/holdings.ts';
import { readPrefixes } from '../blocks/truth.ts';
import type { Evidence } from './evidence.ts';
import type { Survey } from './survey.ts';

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

export function recordsOf(
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

/** Whom each record gives a prefix to: by the prefix's text, by record, names of nodes. */
export type Claimants = Map<string, Map<string, string[]>>;

export function claimantsOf(survey: Survey): Claimants {
  const all: Claimants = new Map();
  const gone = (name: string) => (survey.down.has(name) ? 'is down' : 'no such Node');
  const put = (key: string, record: string, who: string) => {
    let records = all.get(key);
    if (records === undefined) {
      records = new Map();
      all.set(key, records);
    }
    const known = records.get(record);
    if (known === undefined) records.set(record, [who]);
    else known.push(who);
  };
  for (const [name, surveyed] of survey.nodes) {
    for (const [record, prefixes] of surveyed.records) {
      for (const prefix of prefixes) put(prefix.toString(), record, name);
    }
    for (const { prefix } of new Set(surveyed.announces ?? [])) {
      const key = prefix.toString();
      if (!all.get(key)?.get('announced')?.includes(name)) put(key, 'announced', name);
    }
  }
  for (const { name, podCidrs, poolCidrs } of survey.evidence.ciliumNodes) {
    if (survey.nodes.has(name)) continue;
    for (const text of poolCidrs ?? podCidrs) {
      const prefix = parsePrefix(text);
      if (prefix !== undefined) put(prefix.toString(), 'CiliumNode', `${name} (${gone(name)})`);
    }
  }
  for (const { nodeName, prefix, phase } of survey.evidence.blocks) {
    if (nodeName === '' || survey.nodes.has(nodeName)) continue;
    put(prefix.toString(), 'NodeBlock', `${nodeName} (${gone(nodeName)}, ${phase})`);
  }
  return all;
}

const order: readonly string[] = [
  'NodeBlock',
  'CiliumNode',
  'Node.spec',
  'annotation',
  'agent',
  'kernel',
  'announced',
];

/** What the records say about one prefix, in the fixed order. */
export function saysAbout(claimants: Claimants, key: string): Record<string, string> {
  const records = claimants.get(key);
  const says: Record<string, string> = {};
  for (const record of order) {
    const who = records?.get(record);
    if (who !== undefined) says[record] = [...who].sort().join(', ');
  }
  return says;
}
