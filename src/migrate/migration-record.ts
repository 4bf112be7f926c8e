import { allPodCidrAnnotations, drainAnnotation, podCidrAnnotations } from '../model/keys.ts';
import { type ClusterNode, readNode } from '../model/node.ts';
import type { SavedNode } from '../model/node-migration.ts';
import type { KubeObject, ObjectMeta } from '../model/object.ts';
import { families } from '../net/family.ts';
import { parsePrefix } from '../net/prefix.ts';

/** What the API server and the kubelet give a Node by themselves is not kept. */
const ownStatus = ['images', 'volumesInUse', 'volumesAttached'];

export function savedNode(node: KubeObject): KubeObject {
  const { name, labels, annotations } = (node.metadata ?? {}) as ObjectMeta;
  const status = Object.fromEntries(
    Object.entries((node.status ?? {}) as object).filter(([key]) => !ownStatus.includes(key)),
  );
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: name ?? '', labels: labels ?? {}, annotations: annotations ?? {} },
    spec: (node.spec ?? {}) as object,
    status,
  };
}

/** The Node as it is made anew: without a word of its blocks, and still cordoned. */
export function nodeWithoutRecords(saved: SavedNode): KubeObject {
  const {
    podCIDR: _one,
    podCIDRs: _all,
    ...spec
  } = (saved.node.spec ?? {}) as Record<string, unknown>;
  return withAnnotations(saved.node, {}, { ...spec, unschedulable: true });
}

/**
 * The Node as it was, cordoned. Its records say what it held, so that it is
 * adopted again; if none of its own did (the register alone, or a CiliumNode, which
 * is collected with the Node that it belongs to), the annotation says it now.
 */
export function nodeWithRecords(saved: SavedNode, from: readonly string[]): KubeObject {
  const spec = { ...((saved.node.spec ?? {}) as object), unschedulable: true };
  const before = readNode(saved.node);
  const said = [...before.podCidrs, ...Object.values(before.annotations)];
  const isSaid = (cidr: string) => {
    const prefix = parsePrefix(cidr);
    return said.some((text) => prefix !== undefined && parsePrefix(text)?.equals(prefix));
  };
  const records: Record<string, string> = { ...before.annotations };
  for (const family of families) {
    const unsaid = from.find((cidr) => parsePrefix(cidr)?.family === family && !isSaid(cidr));
    if (unsaid === undefined) continue;
    for (const key of podCidrAnnotations[family]) records[key] = unsaid;
  }
  return withAnnotations(saved.node, records, spec);
}

/** Records that the Node has only for its adoption: nobody would keep them true afterwards. */
export function recordsOnlyForAdoption(
  saved: SavedNode,
  { annotations }: ClusterNode,
): Record<string, null> {
  const before = readNode(saved.node).annotations;
  const added = Object.keys(annotations).filter((key) => before[key] === undefined);
  return Object.fromEntries(added.map((key) => [key, null]));
}

/**
 * The labels that a Node goes back with, as a merge patch: those it has now. Pools select
 * nodes by them, and whoever wants a node back has often changed them first.
 */
export function savedLabels(saved: SavedNode, { labels }: ClusterNode): object {
  const gone = Object.keys(saved.node.metadata?.labels ?? {}).map((key) => [key, null]);
  return { node: { metadata: { labels: { ...Object.fromEntries(gone), ...labels } } } };
}

function withAnnotations(
  node: KubeObject,
  records: Record<string, string>,
  spec: object,
): KubeObject {
  const { annotations, ...metadata } = (node.metadata ?? {}) as ObjectMeta;
  const others = Object.entries(annotations ?? {}).filter(
    ([key]) => !allPodCidrAnnotations.includes(key) && key !== drainAnnotation,
  );
  return {
    ...node,
    metadata: { ...metadata, annotations: { ...Object.fromEntries(others), ...records } },
    spec,
  };
}
