import type { KubeClient } from '../../kube/client.ts';
import { getIfThere } from '../../kube/get-if-there.ts';
import {
  agentConditionType,
  driftConditionType,
  fullTaint,
  nodeConditionType,
  podAddressesConditionType,
} from '../../model/keys.ts';
import type { Condition, KubeObject } from '../../model/object.ts';
import { nodes } from '../../model/resources.ts';
import type { Removal } from './remove-files.ts';

const ownConditions: readonly string[] = [
  agentConditionType,
  podAddressesConditionType,
  // The operator's: it writes none about a node that has its blocks.
  nodeConditionType,
  driftConditionType,
];

/** Our conditions and our taint on the Node, which nobody would renew any more. */
export async function removeNodeMarks(
  client: Pick<KubeClient, 'get' | 'patch'>,
  nodeName: string,
): Promise<Removal> {
  const node = await getIfThere<KubeObject>(client, nodes, nodeName);
  if (node === undefined) return { removed: [], kept: [] };
  const removed: string[] = [];
  const { conditions = [] } = (node.status ?? {}) as { conditions?: Condition[] };
  const ours = conditions.filter(({ type }) => ownConditions.includes(type));
  if (ours.length > 0) {
    const body = { status: { conditions: ours.map(({ type }) => ({ type, $patch: 'delete' })) } };
    await client.patch(nodes, nodeName, { type: 'strategic', subresource: 'status', body });
    removed.push(...ours.map(({ type }) => `condition ${type} of Node ${nodeName}`));
  }
  const { taints = [] } = (node.spec ?? {}) as { taints?: Array<{ key?: string }> };
  if (taints.some(({ key }) => key === fullTaint.key)) {
    // Other writers add to the list: a JSON patch that tests what was read.
    const rest = taints.filter(({ key }) => key !== fullTaint.key);
    const body = [
      { op: 'test', path: '/spec/taints', value: taints },
      { op: 'replace', path: '/spec/taints', value: rest },
    ];
    await client.patch(nodes, nodeName, { type: 'json', body });
    removed.push(`taint ${fullTaint.key} of Node ${nodeName}`);
  }
  return { removed, kept: [] };
}
