/** Whether a node was NotReady meanwhile: its condition says since when it is Ready. */
import type { Cluster } from './cluster.ts';

interface Condition {
  type: string;
  status: string;
  lastTransitionTime: string;
  message?: string;
}

export interface Node {
  metadata: { name: string; annotations?: Record<string, string> };
  spec: { taints?: Array<{ key: string }>; unschedulable?: boolean };
  status: { conditions: Condition[] };
}

/** `NODE True SINCE`: the same before and after if no node was NotReady in between. */
export async function readySince(cluster: Cluster): Promise<string[]> {
  const { items } = await cluster.get<{ items: Node[] }>('nodes');
  return items.map(({ metadata, status }) => {
    const ready = status.conditions.find(({ type }) => type === 'Ready');
    return `${metadata.name} ${ready?.status} ${ready?.lastTransitionTime}`;
  });
}

export async function conditionOf(
  cluster: Cluster,
  node: string,
  wanted: string,
): Promise<Condition | undefined> {
  const { status } = await cluster.get<Node>('node', node);
  return status.conditions.find(({ type }) => type === wanted);
}
