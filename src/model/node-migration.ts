import type { ResourceDefinition } from './crd.ts';
import { apiVersion } from './keys.ts';
import { type Identity, identityOf, type KubeObject, textList } from './object.ts';
import { nodeMigrations } from './resources.ts';
import * as field from './schema/field.ts';
import { ruled, type ValueOf } from './schema/schema.ts';

/**
 * NodeMigration: one node on its way from its blocks to others. It is named after
 * the node, so a node cannot be moved twice at once; it holds what was there
 * before, so that whoever comes after a crash can go on, or go back.
 *
 * Where the node is on its way is not believed from here but looked at: each step
 * has a sign in the cluster itself. `status.step` is for people.
 */
const spec = field.object('', ['node', 'method', 'phase'], {
  node: field.object('', ['name', 'uid'], {
    name: field.name('The node that moves; the object is named after it.'),
    uid: field.uid('Its uid before the first step.'),
  }),
  from: field.list('The blocks it had.', 64, field.cidrText),
  pools: field.list('The pools that its new blocks come from.', 64, field.name()),
  method: field.text(
    'release: it gets the new block beside the old one, which drains; the Node stays. recreate: the Node is deleted and made anew, the only way past Node.spec.podCIDRs.',
    { enum: ['release', 'recreate'] },
  ),
  phase: field.text('', { enum: ['Moving', 'Moved', 'Undoing', 'Undone'] }),
  wasUnschedulable: field.flag(''),
  wasAnnounced: field.flag(''),
  undoUID: field.uid('The uid of the Node that the way back begins with.'),
  hasReleased: field.flag('The old blocks were released; the way back is a move of its own.'),
  saved: field.object('What was there before, to go back to.', [], {
    node: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    ciliumPodCIDRs: field.list('CiliumNode.spec.ipam.podCIDRs.', 64, field.cidrText),
    ciliumInternalIPs: field.list(
      'CiliumInternalIP of the CiliumNode: the node has an agent of Cilium, which serves from the block of these.',
      16,
      field.text('', { maxLength: 64 }),
    ),
  }),
});

type NodeMigrationSpec = ValueOf<typeof spec>;
export type MigrationMethod = NodeMigrationSpec['method'];
export type MigrationPhase = NodeMigrationSpec['phase'];

export const nodeMigrationDefinition: ResourceDefinition = {
  resource: nodeMigrations,
  shortName: 'nm',
  revision: 8,
  digest: '7b8069606dde76bf',
  spec,
  status: field.object('', [], {
    step: field.text('The step that is under way.', { maxLength: 64 }),
    message: field.text('What it waits for.', { maxLength: 1024 }),
    since: field.time(),
  }),
  rules: ruled<KubeObject & { spec: NodeMigrationSpec }>(
    [{ rule: 'self.metadata.name == self.spec.node.name', message: 'named after its node' }],
    ({ metadata, spec: { node } }) =>
      metadata?.name === node.name
        ? []
        : [`metadata.name is "${metadata?.name}", but spec.node.name is "${node.name}"`],
  ),
  columns: [
    { name: 'From', type: 'string', jsonPath: '.spec.from' },
    { name: 'Pools', type: 'string', jsonPath: '.spec.pools' },
    { name: 'Method', type: 'string', jsonPath: '.spec.method' },
    { name: 'Phase', type: 'string', jsonPath: '.spec.phase' },
    { name: 'Step', type: 'string', jsonPath: '.status.step' },
  ],
};

export interface SavedNode {
  /** The Node without what the API server gives it. */
  node: KubeObject;
  /** CiliumNode.spec.ipam.podCIDRs; absent if there was no CiliumNode. */
  ciliumPodCidrs?: readonly string[];
  /** CiliumInternalIP; absent: no agent of Cilium ran on the node. */
  ciliumInternalIps?: readonly string[];
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
  /** Its blocks were advertised to routers, so it is not back before they are again. */
  wasAnnounced: boolean;
  /** The old blocks were released: from here the way back is a move of its own. */
  hasReleased: boolean;
  /** The uid of the Node that the way back begins with; empty before. */
  undoUid: string;
  saved: SavedNode;
  step: string;
  message: string;
}

export function readMigration(object: KubeObject): NodeMigration {
  const given = (object.spec ?? {}) as Record<string, unknown>;
  const status = (object.status ?? {}) as Record<string, unknown>;
  const node = (given.node ?? {}) as { name?: string; uid?: string };
  const saved = (given.saved ?? {}) as {
    node?: KubeObject;
    ciliumPodCIDRs?: unknown;
    ciliumInternalIPs?: unknown;
  };
  const oneOf = <T extends string>(value: unknown, known: readonly T[], byDefault: T): T =>
    known.find((word) => word === value) ?? byDefault;
  return {
    ...identityOf(object),
    nodeName: node.name ?? '',
    nodeUid: node.uid ?? '',
    from: textList(given.from),
    pools: textList(given.pools),
    method: oneOf(given.method, spec.properties.method.enum, 'release'),
    phase: oneOf(given.phase, spec.properties.phase.enum, 'Moving'),
    wasUnschedulable: given.wasUnschedulable === true,
    wasAnnounced: given.wasAnnounced === true,
    hasReleased: given.hasReleased === true,
    undoUid: typeof given.undoUID === 'string' ? given.undoUID : '',
    saved: {
      node: saved.node ?? {},
      ...(saved.ciliumPodCIDRs === undefined
        ? {}
        : { ciliumPodCidrs: textList(saved.ciliumPodCIDRs) }),
      ...(saved.ciliumInternalIPs === undefined
        ? {}
        : { ciliumInternalIps: textList(saved.ciliumInternalIPs) }),
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
        ...(saved.ciliumInternalIps === undefined
          ? {}
          : { ciliumInternalIPs: saved.ciliumInternalIps }),
      },
    },
  };
}
