import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { getIfThere } from '../kube/get-if-there.ts';
import { ciliumNodes, nodeBlocks, nodes } from '../model/resources.ts';
import type { RepairStep } from '../plan/doctor/repair.ts';

export type Repaired = { kind: 'done' } | { kind: 'left'; why: string };

/** One step, fenced. What changed since it was planned is left as it is. */
export async function repair(
  client: KubeClient,
  step: RepairStep,
  nowMs: number,
): Promise<Repaired> {
  try {
    if (step.do === 'cool block' || step.do === 'delete ciliumnode') {
      if ((await getIfThere(client, nodes, step.node)) !== undefined) {
        return { kind: 'left', why: `there is a Node ${step.node} now` };
      }
    }
    await write(client, step, nowMs);
    return { kind: 'done' };
  } catch (error) {
    if (!(error instanceof ApiError) || error.outcome === 'unknown') throw error;
    if (error.isNotFound) return { kind: 'left', why: 'it is gone' };
    // A failed `test` of a JSON patch is answered with 422.
    if (error.isConflict || error.isInvalid) {
      return { kind: 'left', why: `it has changed meanwhile: ${error.detail}` };
    }
    throw error;
  }
}

async function write(client: KubeClient, step: RepairStep, nowMs: number): Promise<void> {
  switch (step.do) {
    case 'correct annotations':
      await client.patch(nodes, step.node, { type: 'json', body: step.operations });
      return;
    case 'cool block': {
      const { name, uid, resourceVersion } = step.block;
      const coolingSince = new Date(nowMs).toISOString();
      const body = { metadata: { uid, resourceVersion }, spec: { phase: 'Cooling', coolingSince } };
      await client.patch(nodeBlocks, name, { type: 'merge', body });
      return;
    }
    case 'delete ciliumnode': {
      const { name, uid, resourceVersion } = step.cilium;
      await client.delete(ciliumNodes, name, { uid, resourceVersion });
      return;
    }
  }
}
