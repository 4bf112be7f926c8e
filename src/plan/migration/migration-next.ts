import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { NodeMigration } from '../../model/node-migration.ts';
import type { NodeReport } from '../../model/node-report.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { isAnnouncing, isBackWithOldBlocks, newBlocks, recordsNaming } from './migration-signs.ts';

/**
 * What to do next for a node that moves, from nothing but what is there now. The
 * steps have no memory: each has its sign in the cluster, so whoever asks after a
 * crash, between any two writes, gets the step that is left. Every step can be
 * done twice.
 */
export interface MigrationWorld {
  migration: NodeMigration;
  node: (ClusterNode & { isUnschedulable: boolean }) | undefined;
  /** All NodeBlocks in the node's name. */
  blocks: readonly Block[];
  report: NodeReport | undefined;
  ciliumPodCidrs: readonly string[];
  /** Pods that still live in pod addresses, by `namespace/name`. */
  pods: readonly MovingPod[];
  /** Of the new blocks, those that some router does not hold yet; undefined: routers are not watched. */
  unseen?: readonly string[] | undefined;
}

export interface MovingPod {
  namespace: string;
  name: string;
  uid: string;
  /** A DaemonSet puts it back at once; it goes only when its address must. */
  isOfDaemonSet: boolean;
  /** Nobody would start it again: evicted, it is gone for good, and its data with it. */
  isBare?: boolean;
  isGoing: boolean;
}

export const migrationSteps = [
  'cordon',
  'evict',
  'withdraw',
  'release',
  'cool',
  'recreate',
  'assign',
  'project',
  'announce',
  'uncordon',
  'finish',
] as const;
export type MigrationStep = (typeof migrationSteps)[number];

export type MigrationAction =
  | { do: 'cordon' }
  | { do: 'evict'; pods: MovingPod[] }
  | { do: 'withdraw' }
  /** Written down before it is done: from here there is no going back by undoing steps. */
  | { do: 'mark released' }
  | { do: 'drain block'; block: Block }
  | { do: 'delete node'; uid: string }
  | { do: 'clear cilium'; podCidrs: readonly string[] }
  | { do: 'create node'; withRecords: boolean }
  | { do: 'restore cilium'; podCidrs: readonly string[] }
  | { do: 'announce' }
  | { do: 'uncordon' }
  | { do: 'finish'; phase: 'Moved' | 'Undone' };

export type NextStep =
  | { kind: 'do'; step: MigrationStep; action: MigrationAction }
  | { kind: 'wait'; step: MigrationStep; why: string }
  | { kind: 'stuck'; step: MigrationStep; why: string }
  | { kind: 'done' };

export function nextStep(world: MigrationWorld): NextStep {
  const { phase } = world.migration;
  if (phase === 'Moved' || phase === 'Undone') return { kind: 'done' };
  if (phase === 'Undoing') return nextOfUndo(world);
  return world.migration.hasReleased ? nextAfterRelease(world) : nextBeforeRelease(world);
}

function nextBeforeRelease(world: MigrationWorld): NextStep {
  const { migration, node } = world;
  if (node === undefined || node.uid !== migration.nodeUid) {
    const why = `the Node ${migration.nodeName} is gone or another now; somebody else deleted it. cadastre migrate undo ${migration.nodeName} --yes forgets this move`;
    return { kind: 'stuck', step: 'cordon', why };
  }
  return empty(world, node) ?? act('release', { do: 'mark released' });
}

/** Nobody new comes, everybody goes, the routers forget: undefined when all that is so. */
function empty(
  world: MigrationWorld,
  node: NonNullable<MigrationWorld['node']>,
): NextStep | undefined {
  if (!node.isUnschedulable) return act('cordon', { do: 'cordon' });
  const pods = world.pods.filter((pod) => !pod.isOfDaemonSet);
  const staying = pods.filter((pod) => !pod.isGoing);
  const bare = staying.filter(({ isBare }) => isBare);
  if (bare.length > 0) {
    const names = bare.map(({ namespace, name }) => `${namespace}/${name}`).join(', ');
    const why = `no controller would start ${names} again elsewhere: delete ${bare.length === 1 ? 'it' : 'them'} yourself, then run this again`;
    return { kind: 'stuck', step: 'evict', why };
  }
  if (staying.length > 0) return act('evict', { do: 'evict', pods: staying });
  if (pods.length > 0) return wait('evict', `${pods.length} pods are on their way out`);
  if (!isAnnouncing(world.report, node)) return undefined;
  if (node.isLeaving) return wait('withdraw', 'its agent is withdrawing its routes');
  return act('withdraw', { do: 'withdraw' });
}

function nextAfterRelease(world: MigrationWorld): NextStep {
  const { migration, node, blocks } = world;
  const old = blocks.filter((block) => isOld(migration, block));
  if (migration.method === 'recreate') {
    if (node?.uid === migration.nodeUid) {
      return act('recreate', { do: 'delete node', uid: node.uid });
    }
    if (node === undefined) return recreate(world, false);
  } else {
    if (node === undefined || node.uid !== migration.nodeUid) {
      return { kind: 'stuck', step: 'release', why: `the Node ${migration.nodeName} is gone` };
    }
    const live = old.filter(({ phase }) => phase === 'Active');
    const [block] = live;
    if (block !== undefined) return act('release', { do: 'drain block', block });
    // What is left in the block must go now: its agent gives out nothing from it any more.
    const staying = world.pods.filter((pod) => !pod.isGoing && pod.isOfDaemonSet);
    if (old.some(({ phase }) => phase === 'Draining')) {
      if (staying.length > 0) return act('evict', { do: 'evict', pods: staying });
      return wait('release', `its agent has yet to release ${namesOf(old)}`);
    }
  }
  return arrive(world, node);
}

function arrive(world: MigrationWorld, node: NonNullable<MigrationWorld['node']>): NextStep {
  const { migration } = world;
  const strange = node.podCidrs.filter(
    (text) => !world.blocks.some(({ prefix }) => parsePrefix(text)?.equals(prefix)),
  );
  if (strange.length > 0 && migration.method === 'recreate') {
    const why = `somebody has set Node.spec.podCIDRs of ${node.name} to ${strange.join(', ')}: another allocator is at work. Stop it (kube-controller-manager: --allocate-node-cidrs=false), delete the Node and run this again`;
    return { kind: 'stuck', step: 'assign', why };
  }
  const fresh = newBlocks(migration, node, world.blocks);
  if (fresh.kind === 'missing') return withoutLabels(migration, node) ?? wait('assign', fresh.why);
  const stale = recordsNaming(migration.from, node, world.ciliumPodCidrs);
  if (stale.length > 0) {
    return wait('project', `${stale.join(' and ')} still names ${migration.from.join(', ')}`);
  }
  return back(world, node, fresh.cidrs, 'Moved');
}

/** A kubelet that starts between the two lives makes the Node itself, and knows none of its labels. */
function withoutLabels(
  { method, saved, nodeName }: NodeMigration,
  { labels }: NonNullable<MigrationWorld['node']>,
): NextStep | undefined {
  const before = saved.node.metadata?.labels ?? {};
  const lost = Object.entries(before).filter(([key]) => labels[key] === undefined);
  if (method !== 'recreate' || lost.length === 0) return undefined;
  const words = lost.map(([key, value]) => `${key}=${value}`).join(' ');
  const why = `somebody else re-created the Node ${nodeName} without labels it had, by which pools select it; put them back (kubectl label node ${nodeName} ${words}) and run this again`;
  return { kind: 'stuck', step: 'assign', why };
}

/** The last steps of either way: routes, pods, done. */
function back(
  world: MigrationWorld,
  node: NonNullable<MigrationWorld['node']>,
  cidrs: readonly string[],
  phase: 'Moved' | 'Undone',
): NextStep {
  const { migration, report } = world;
  // An empty node that is cordoned announces no block unless it is told to. It stays cordoned until
  // the routers have the block: pods come after the way to them.
  const isSilent = node.isUnschedulable && node.keepsRoutesWhenCordoned !== true;
  if (node.isLeaving || (isSilent && migration.wasAnnounced)) {
    return act('announce', { do: 'announce' });
  }
  if (migration.wasAnnounced) {
    const announced = report?.nodeUid === node.uid ? report.announced : undefined;
    const missing = cidrs.filter((cidr) => !announced?.has(cidr));
    if (missing.length > 0) {
      return wait('announce', `its agent has yet to announce ${missing.join(', ')}`);
    }
  }
  const unseen = (world.unseen ?? []).filter((cidr) => cidrs.includes(cidr));
  if (unseen.length > 0) {
    return wait('announce', `not yet in the table of every router: ${unseen.join(', ')}`);
  }
  if (node.isUnschedulable && !migration.wasUnschedulable) {
    return act('uncordon', { do: 'uncordon' });
  }
  return act('finish', { do: 'finish', phase });
}

/** Marked as released, perhaps, but nothing was let go yet: then there is nothing to get back. */
export function isUntouched({ migration, node, blocks }: MigrationWorld): boolean {
  if (node?.uid !== migration.nodeUid || migration.phase !== 'Moving') return false;
  if (migration.method === 'recreate') return true;
  return migration.from.every((cidr) =>
    blocks.some(({ prefix, phase }) => `${prefix}` === cidr && phase === 'Active'),
  );
}

function nextOfUndo(world: MigrationWorld): NextStep {
  const { migration, node, blocks } = world;
  if (!migration.hasReleased) {
    // Nothing was released: the first steps are undone, if the Node is still that one.
    if (node === undefined || node.uid !== migration.nodeUid) {
      return act('finish', { do: 'finish', phase: 'Undone' });
    }
    return back(world, node, migration.wasAnnounced ? migration.from : [], 'Undone');
  }
  if (node === undefined) return recreate(world, true);
  if (node.uid === migration.undoUid) {
    return empty(world, node) ?? act('recreate', { do: 'delete node', uid: node.uid });
  }
  const { ciliumPodCidrs: saved } = migration.saved;
  if (saved !== undefined && saved.length > 0 && world.ciliumPodCidrs.length === 0) {
    return act('project', { do: 'restore cilium', podCidrs: saved });
  }
  const state = isBackWithOldBlocks(migration, node, blocks);
  if (state.kind === 'missing') return wait('assign', state.why);
  return back(world, node, state.cidrs, 'Undone');
}

/** Between two lives of the Node: its blocks cool first, or they would be its own again. */
function recreate(world: MigrationWorld, withRecords: boolean): NextStep {
  const live = world.blocks.filter(({ phase }) => phase === 'Active' || phase === 'Draining');
  if (live.length > 0) {
    return wait('cool', `the operator has yet to see that the Node is gone (${namesOf(live)})`);
  }
  // A CiliumNode that outlived its Node would be believed first: it must say what is to be true.
  const { ciliumPodCidrs } = world;
  const wanted = withRecords ? (world.migration.saved.ciliumPodCidrs ?? []) : [];
  if (ciliumPodCidrs.length > 0 && ciliumPodCidrs.join() !== wanted.join()) {
    return wanted.length === 0
      ? act('recreate', { do: 'clear cilium', podCidrs: ciliumPodCidrs })
      : act('recreate', { do: 'restore cilium', podCidrs: wanted });
  }
  return act('recreate', { do: 'create node', withRecords });
}

function isOld({ from }: NodeMigration, { prefix }: Block): boolean {
  return from.some((text) => parsePrefix(text)?.equals(prefix));
}

function namesOf(blocks: readonly Block[]): string {
  return blocks.map(({ prefix }) => prefix.toString()).join(', ');
}

function act(step: MigrationStep, action: MigrationAction): NextStep {
  return { kind: 'do', step, action };
}

function wait(step: MigrationStep, why: string): NextStep {
  return { kind: 'wait', step, why };
}
