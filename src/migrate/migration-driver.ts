import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { getIfThere } from '../kube/get-if-there.ts';
import { readCiliumNode } from '../model/cilium-node.ts';
import { drainAnnotation } from '../model/keys.ts';
import { readNode } from '../model/node.ts';
import type { WitnessName } from '../model/node-block.ts';
import { type NodeMigration, readMigration } from '../model/node-migration.ts';
import type { KubeObject } from '../model/object.ts';
import { ciliumNodes, nodeBlocks, nodeMigrations, nodes, pods } from '../model/resources.ts';
import { parsePrefix } from '../net/prefix.ts';
import { projectOnCiliumNode } from '../plan/blocks/projection.ts';
import type {
  MigrationAction,
  MigrationWorld,
  MovingPod,
} from '../plan/migration/migration-next.ts';
import { nodeWithoutRecords, nodeWithRecords, recordsOnlyForAdoption } from './migration-record.ts';

/**
 * The driver of a migration: one action, one write, each fenced by the uid (and
 * where it matters the version) of what it was decided on. A refusal is reported by
 * throwing; the runner looks again.
 */
export async function perform(
  client: KubeClient,
  world: MigrationWorld,
  action: MigrationAction,
): Promise<string | undefined> {
  const { migration, node } = world;
  const name = migration.nodeName;
  const onNode = (body: { metadata?: object; spec?: object }) =>
    client.patch(nodes, name, {
      type: 'merge',
      body: { ...body, metadata: { uid: node?.uid, ...body.metadata } },
    });
  switch (action.do) {
    case 'cordon':
      await onNode({ spec: { unschedulable: true } });
      return undefined;
    case 'uncordon':
      await onNode({
        metadata: { annotations: { [drainAnnotation]: null } },
        spec: { unschedulable: null },
      });
      return undefined;
    case 'withdraw':
      await onNode({ metadata: { annotations: { [drainAnnotation]: 'true' } } });
      return undefined;
    case 'announce':
      await onNode({ metadata: { annotations: { [drainAnnotation]: 'false' } } });
      return undefined;
    case 'evict':
      return evict(client, action.pods);
    case 'mark released':
      await changeMigration(client, migration, { hasReleased: true });
      return undefined;
    case 'drain block': {
      const { name: block, uid, resourceVersion } = action.block;
      const body = { metadata: { uid, resourceVersion }, spec: { phase: 'Draining' } };
      await client.patch(nodeBlocks, block, { type: 'merge', body });
      return undefined;
    }
    case 'delete node':
      await client.delete(nodes, name, { uid: action.uid });
      return undefined;
    case 'clear cilium': {
      const path = '/spec/ipam/podCIDRs';
      const body = [
        { op: 'test', path, value: action.podCidrs },
        { op: 'remove', path },
      ];
      await client.patch(ciliumNodes, name, { type: 'json', body });
      return undefined;
    }
    case 'create node': {
      const { saved, from } = migration;
      const body = action.withRecords ? nodeWithRecords(saved, from) : nodeWithoutRecords(saved);
      await client.create(nodes, body);
      return undefined;
    }
    case 'restart agent': {
      const { namespace, name: pod, uid } = action.pod;
      await client.delete(pods, pod, { namespace, uid });
      return undefined;
    }
    case 'write witness': {
      const { name: block, uid, resourceVersion } = action.block;
      const detail = `cadastre migrate undo saw that nothing on ${name} uses it`;
      const released = { by: 'NoRecord' satisfies WitnessName, detail };
      const body = { metadata: { uid, resourceVersion }, spec: { released } };
      await client.patch(nodeBlocks, block, { type: 'merge', body });
      return undefined;
    }
    case 'restore cilium':
      await restoreCilium(client, name, action.podCidrs);
      return undefined;
    case 'finish': {
      const annotations = {
        // It was cordoned before the move, and is to be treated as that again.
        ...(node?.keepsRoutesWhenCordoned ? { [drainAnnotation]: null } : {}),
        ...(node !== undefined && action.phase === 'Undone'
          ? recordsOnlyForAdoption(migration.saved, node)
          : {}),
      };
      if (Object.keys(annotations).length > 0) await onNode({ metadata: { annotations } });
      await changeMigration(client, migration, { phase: action.phase });
      return undefined;
    }
  }
}

/** undefined, or who holds a pod back. */
async function evict(client: KubeClient, all: readonly MovingPod[]): Promise<string | undefined> {
  let held: string | undefined;
  for (const { namespace, name, uid } of all) {
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
      deleteOptions: { preconditions: { uid } },
    };
    try {
      await client.create(pods, body, { name, namespace, subresource: 'eviction', retries: 0 });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.isNotFound || error.isConflict) continue;
      if (!error.isThrottled) throw error;
      held = `${namespace}/${name} may not go yet: ${error.detail}`;
    }
  }
  return held;
}

async function restoreCilium(
  client: KubeClient,
  name: string,
  podCidrs: readonly string[],
): Promise<void> {
  const blocks = podCidrs.flatMap((text) => parsePrefix(text) ?? []);
  const raw = await getIfThere(client, ciliumNodes, name);
  const known = raw === undefined ? undefined : readCiliumNode(raw);
  const switches = { annotations: false, nodeSpec: false, ciliumNode: true };
  const projection = projectOnCiliumNode(known, blocks, switches);
  if (projection.kind === 'patch') {
    const { operations } = projection;
    await client.patch(ciliumNodes, name, { type: 'json', body: operations });
  }
}

export async function changeMigration(
  client: KubeClient,
  { name, uid, resourceVersion }: Pick<NodeMigration, 'name' | 'uid' | 'resourceVersion'>,
  spec: object,
): Promise<NodeMigration> {
  const body = { metadata: { uid, resourceVersion }, spec };
  const answer = await client.patch<KubeObject>(nodeMigrations, name, { type: 'merge', body });
  return readMigration(answer);
}

export function readMovingNode(raw: KubeObject): NonNullable<MigrationWorld['node']> {
  const { unschedulable } = (raw.spec ?? {}) as { unschedulable?: boolean };
  return { ...readNode(raw), isUnschedulable: unschedulable === true };
}
