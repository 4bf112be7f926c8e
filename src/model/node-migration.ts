import { apiVersion } from './keys.ts';
import { type Identity, identityOf, type KubeObject, textList } from './object.ts';

/**
 * NodeMigration: one node on its way from its blocks to others. It is named after
 * the node, so a node cannot be moved twice at once; it holds what was there
 * before, so that whoever comes after a crash can go on, or go back.
 *
 * Where the node is on its way is not believed from here but looked at: each step
 * has a sign in the cluster itself. `status.step` is for people.
 */
export type MigrationMethod =
  /** The node's agent empties the old block and gives it back; the Node stays. */
  | 'release'
  /** The Node is deleted and made anew: the only way past Node.spec.podCIDRs. */
  | 'recreate';

export const migrationMethods: readonly MigrationMethod[] = ['release', 'recreate'];

export type MigrationPhase = 'Moving' | 'Moved' | 'Undoing' | 'Undone';

export const migrationPhases: readonly MigrationPhase[] = ['Moving', 'Moved', 'Undoing', 'Undone'];

export interface SavedNode {
  /** The Node without what the API server gives it. */
  node: KubeObject;
  /** CiliumNode.spec.ipam.podCIDRs; absent if there was no CiliumNode. */
  ciliumPodCidrs?: readonly string[];
}

export interface NodeMigration extends Identity {
  nodeName: string;
  /** Of the Node as it was before the first step. */
  nodeUid: string;
  from: readonly string[];
  /** Pools that the new blocks are to come from. */
  pools: readonly string[];
  method: MigrationMethod;
  phase: MigrationPhase;
  wasUnschedulable: boolean;
  /** It had told routers of its blocks, so it is not back before it has again. */
  wasAnnounced: boolean;
  /** The old blocks were let go: from here the way back is a way of its own. */
  hasReleased: boolean;
  /** The uid of the Node that the way back begins with; empty before. */
  undoUid: string;
  saved: SavedNode;
  step: string;
  message: string;
}

export function readMigration(object: KubeObject): NodeMigration {
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const status = (object.status ?? {}) as Record<string, unknown>;
  const node = (spec.node ?? {}) as { name?: string; uid?: string };
  const saved = (spec.saved ?? {}) as { node?: KubeObject; ciliumPodCIDRs?: unknown };
  const oneOf = <T extends string>(value: unknown, known: readonly T[], byDefault: T): T =>
    known.find((word) => word === value) ?? byDefault;
  return {
    ...identityOf(object),
    nodeName: node.name ?? '',
    nodeUid: node.uid ?? '',
    from: textList(spec.from),
    pools: textList(spec.pools),
    method: oneOf(spec.method, migrationMethods, 'release'),
    phase: oneOf(spec.phase, migrationPhases, 'Moving'),
    wasUnschedulable: spec.wasUnschedulable === true,
    wasAnnounced: spec.wasAnnounced === true,
    hasReleased: spec.hasReleased === true,
    undoUid: typeof spec.undoUID === 'string' ? spec.undoUID : '',
    saved: {
      node: saved.node ?? {},
      ...(saved.ciliumPodCIDRs === undefined
        ? {}
        : { ciliumPodCidrs: textList(saved.ciliumPodCIDRs) }),
    },
    step: typeof status.step === 'string' ? status.step : '',
    message: typeof status.message === 'string' ? status.message : '',
  };
}

export type NewMigration = Omit<NodeMigration, keyof Identity | 'step' | 'message'>;

export function writeMigration(migration: NewMigration): KubeObject {
  const { nodeName, nodeUid, from, pools, method, phase, saved } = migration;
  return {
    apiVersion,
    kind: 'NodeMigration',
    metadata: { name: nodeName },
    spec: {
      node: { name: nodeName, uid: nodeUid },
      from,
      pools,
      method,
      phase,
      wasUnschedulable: migration.wasUnschedulable,
      wasAnnounced: migration.wasAnnounced,
      hasReleased: migration.hasReleased,
      ...(migration.undoUid === '' ? {} : { undoUID: migration.undoUid }),
      saved: {
        node: saved.node,
        ...(saved.ciliumPodCidrs === undefined ? {} : { ciliumPodCIDRs: saved.ciliumPodCidrs }),
      },
    },
  };
}
