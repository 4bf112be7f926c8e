import { listNames } from '../../base/count-text.ts';
import { cure, notTried } from '../../model/cures.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { NodeMigration } from '../../model/node-migration.ts';
import type { NodeReport } from '../../model/node-report.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { type NodeUses, usedWords } from '../cilium/agent-uses.ts';
import { ownsBlock } from '../node/node-truth.ts';
import {
  isAnnouncing,
  isBackWithOldBlocks,
  isRecorded,
  newBlocks,
  recordsNaming,
} from './migration-signs.ts';

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
  /** Of the blocks it had, those that another node has by now. */
  taken?: ReadonlyArray<{ cidr: string; node: string }>;
  report: NodeReport | undefined;
  ciliumPodCidrs: readonly string[];
  /** Pods that still live in pod addresses, by `namespace/name`. */
  pods: readonly MovingPod[];
  /** What the node really uses: CiliumInternalIP, addresses of pods and CiliumEndpoints. */
  uses: NodeUses;
  /** The Pod of Cilium's agent on the node; undefined: none was found. */
  agentPod?: AgentPod | undefined;
  /** What this run may do by itself. Else it says what is needed, and waits. */
  may: { evict: boolean; restartAgent: boolean };
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
  createdMs: number;
  isGoing: boolean;
}

export interface AgentPod {
  namespace: string;
  name: string;
  uid: string;
  createdMs: number;
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
  'restart-agent',
  'verify',
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
  | { do: 'restart agent'; pod: AgentPod }
  /** Nobody on the node uses it any more, as was just seen. */
  | { do: 'write witness'; block: Block }
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
    const why = `the Node ${migration.nodeName} is gone or another now; somebody else deleted it. ${cure('ForgetMove', `cadastre migrate undo ${migration.nodeName} --yes forgets this move`)}`;
    return { kind: 'stuck', step: 'cordon', why };
  }
  // Our own agent serves from both blocks: nobody has to leave before the new one is there.
  const isReady = migration.method === 'release' && !hasCiliumAgent(world);
  return (isReady ? undefined : empty(world, node)) ?? act('release', { do: 'mark released' });
}

/**
 * Whether an agent of Cilium serves the node: it wrote its own address once. It takes
 * another block only when it starts again.
 */
function hasCiliumAgent({ migration, uses }: MigrationWorld): boolean {
  return (migration.saved.ciliumInternalIps?.length ?? 0) > 0 || uses.internal.length > 0;
}

/** Nobody new comes, everybody goes, the routers forget: undefined when all that is so. */
function empty(
  world: MigrationWorld,
  node: NonNullable<MigrationWorld['node']>,
): NextStep | undefined {
  if (!node.isUnschedulable) return act('cordon', { do: 'cordon' });
  const pods = world.pods.filter((pod) => !pod.isOfDaemonSet);
  const leaving = evictAll(world, pods);
  if (leaving !== undefined) return leaving;
  if (pods.length > 0) return wait('evict', `${pods.length} pods are on their way out`);
  if (!isAnnouncing(world.report, node)) return undefined;
  if (node.isLeaving) return wait('withdraw', 'its agent is withdrawing its routes');
  return act('withdraw', { do: 'withdraw' });
}

function evictAll({ may }: MigrationWorld, pods: readonly MovingPod[]): NextStep | undefined {
  const staying = pods.filter((pod) => !pod.isGoing);
  const [first] = staying;
  if (first === undefined) return undefined;
  const bare = staying.filter(({ isBare }) => isBare);
  const names = listNames((bare.length > 0 ? bare : staying).map(nameOf));
  if (bare.length > 0) {
    const it = bare.length === 1 ? 'it' : 'them';
    const why = `no controller would start ${names} again elsewhere: ${cure('DeleteBarePods', `delete ${it} yourself, then run this again`)}`;
    return { kind: 'stuck', step: 'evict', why };
  }
  if (may.evict) return act('evict', { do: 'evict', pods: staying });
  const command = cure('StartPodsAgain', `kubectl delete pod -n ${first.namespace} ${first.name}`);
  return wait(
    'evict',
    `waiting until ${names} ${staying.length === 1 ? 'is' : 'are'} started again (for example: ${command})`,
  );
}

function nextAfterRelease(world: MigrationWorld): NextStep {
  const { migration, node, blocks } = world;
  if (migration.method === 'recreate') {
    if (node?.uid === migration.nodeUid) {
      return act('recreate', { do: 'delete node', uid: node.uid });
    }
    if (node === undefined) return recreate(world, false);
  } else {
    if (node === undefined || node.uid !== migration.nodeUid) {
      return { kind: 'stuck', step: 'release', why: `the Node ${migration.nodeName} is gone` };
    }
    const live = blocks.filter((block) => isOld(migration, block) && block.phase === 'Active');
    const [block] = live;
    if (block !== undefined) return act('release', { do: 'drain block', block });
  }
  return arrive(world, node);
}

function arrive(world: MigrationWorld, node: NonNullable<MigrationWorld['node']>): NextStep {
  const { migration } = world;
  const strange = node.podCidrs.filter(
    (text) => !world.blocks.some(({ prefix }) => parsePrefix(text)?.equals(prefix)),
  );
  if (strange.length > 0 && migration.method === 'recreate') {
    const why = `somebody has set Node.spec.podCIDRs of ${node.name} to ${strange.join(', ')}: another allocator is at work. ${cure('StopNodeIpam', 'Stop it (kube-controller-manager: --allocate-node-cidrs=false), delete the Node and run this again')}`;
    return { kind: 'stuck', step: 'assign', why };
  }
  const fresh = newBlocks(migration, node, world.blocks);
  if (fresh.kind === 'missing') return withoutLabels(migration, node) ?? wait('assign', fresh.why);
  const old = migration.from.flatMap((text) => parsePrefix(text) ?? []);
  const unserved = serve(world, node, fresh.cidrs, old);
  if (unserved !== undefined) return unserved;
  const draining = world.blocks.filter(
    (block) => isOld(migration, block) && ownsBlock(node, block) && block.phase === 'Draining',
  );
  if (draining.length > 0) {
    const who = hasCiliumAgent(world) ? 'the operator' : 'its agent';
    return wait('release', `${who} has yet to release ${namesOf(draining)}`);
  }
  const stale = recordsNaming(migration.from, node, world.ciliumPodCidrs);
  if (stale.length > 0) {
    return wait(
      'project',
      `${stale.join(' and ')} still names ${migration.from.join(', ')}: ${projects}`,
    );
  }
  return back(world, node, fresh.cidrs, 'Moved');
}

/**
 * undefined when the node serves from `cidrs`, and nobody there has an address of
 * `leaving`: the evidence without which no move is over. Records say nothing about
 * it: an agent of Cilium reads them when it starts, and never again.
 */
function serve(
  world: MigrationWorld,
  node: NonNullable<MigrationWorld['node']>,
  cidrs: readonly string[],
  leaving: readonly Prefix[],
): NextStep | undefined {
  if (hasCiliumAgent(world)) {
    const unserved = serveByCilium(world, node, cidrs);
    if (unserved !== undefined) return unserved;
  }
  const left = leaving.flatMap((block) => world.uses.podsIn(block));
  if (left.length === 0) return undefined;
  const names = new Set(left.map(({ pod }) => pod));
  const pods = world.pods.filter((pod) => names.has(nameOf(pod)));
  const knowsWhoServes = hasCiliumAgent(world) || world.report?.nodeUid === node.uid;
  const late = pods.filter(({ createdMs }) => createdMs >= assignedMs(world, node, cidrs));
  if (!knowsWhoServes && late.length > 0) {
    const why = `${listNames(late.map(nameOf))} came after ${cidrs.join(', ')} was assigned and has an address of ${leaving.join(', ')}`;
    const restart = `restart what gives out pod addresses on ${node.name} ${notTried}`;
    return wait('verify', `${why}: ${cure('RestartDataPath', restart)}`);
  }
  return evictAll(world, pods) ?? wait('verify', `still in use: ${usedWords(left)}`);
}

/** What was started before that may not know of it. */
function assignedMs(
  { blocks }: MigrationWorld,
  node: ClusterNode,
  cidrs: readonly string[],
): number {
  const own = blocks.filter((block) => isAmong(cidrs, block));
  return Math.max(node.createdMs, ...own.map(({ createdMs }) => createdMs));
}

function serveByCilium(
  world: MigrationWorld,
  node: NonNullable<MigrationWorld['node']>,
  cidrs: readonly string[],
): NextStep | undefined {
  const { uses, agentPod, may } = world;
  const blocks = cidrs.flatMap((text) => parsePrefix(text) ?? []);
  const serves = blocks.map((block) => uses.servesFrom(block));
  // A family that the agent has no address of is none that it serves.
  const isServed = !serves.includes('no') && serves.includes('yes');
  if (isServed) return undefined;
  const wanted = cidrs.join(', ');
  if (!isRecorded(node, world.ciliumPodCidrs, blocks)) {
    const why = `neither CiliumNode ${node.name} nor the Node names ${wanted} yet, so its agent would not take it`;
    return wait('project', `${why}; ${projects}`);
  }
  const now =
    uses.internal.length === 0
      ? 'has no address of its own yet'
      : `is at ${uses.internal.join(', ')}`;
  if (agentPod === undefined) {
    const why = `Cilium's agent on ${node.name} ${now} and takes ${wanted} only when it starts: ${cure('FindAgentPod', 'restart it. No Pod of a DaemonSet "cilium" was found on the node (--cilium-namespace)')}`;
    return wait('restart-agent', why);
  }
  const command = cure(
    'RestartCiliumAgent',
    `kubectl -n ${agentPod.namespace} delete pod ${agentPod.name}`,
  );
  if (agentPod.isGoing) return wait('restart-agent', `${nameOf(agentPod)} is stopping`);
  if (agentPod.createdMs >= assignedMs(world, node, cidrs)) {
    const why = `${nameOf(agentPod)} was started again; waiting until its CiliumInternalIP lies in ${wanted} (it ${now})`;
    return wait('verify', `${why}. If it stays so, start it once more: ${command}`);
  }
  if (may.restartAgent) return act('restart-agent', { do: 'restart agent', pod: agentPod });
  const why = `Cilium's agent on ${node.name} ${now} and takes ${wanted} only when it starts`;
  return wait('restart-agent', `${why}: restart it with ${command}`);
}

const projects = cure('ProjectElsewhere', 'does the operator project there (--project)?');

/** A kubelet that starts between the two lives makes the Node itself, and knows none of its labels. */
function withoutLabels(
  { method, saved, nodeName }: NodeMigration,
  { labels }: NonNullable<MigrationWorld['node']>,
): NextStep | undefined {
  const before = saved.node.metadata?.labels ?? {};
  const lost = Object.entries(before).filter(([key]) => labels[key] === undefined);
  if (method !== 'recreate' || lost.length === 0) return undefined;
  const words = lost.map(([key, value]) => `${key}=${value}`).join(' ');
  const why = `somebody else re-created the Node ${nodeName} without labels it had, by which pools select it; ${cure('PutLabelsBack', `put them back (kubectl label node ${nodeName} ${words}) and run this again`)}`;
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
  const { taken = [] } = world;
  if (taken.length > 0) {
    const whose = taken.map(({ cidr, node: other }) => `${cidr} is of ${other}`).join(', ');
    const why = `${migration.nodeName} cannot go back: ${whose} now, and two nodes would have the same addresses`;
    return { kind: 'stuck', step: 'recreate', why };
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
  const others = blocks.filter((block) => !isOld(migration, block)).map(({ prefix }) => prefix);
  const unserved = serve(world, node, migration.from, others);
  if (unserved !== undefined) return unserved;
  // What it leaves cools as that of a Node that is gone: whether it is used was seen just now.
  const left = blocks.find(
    (block) =>
      !isOld(migration, block) && block.phase === 'Cooling' && block.released === undefined,
  );
  if (left !== undefined) return act('release', { do: 'write witness', block: left });
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

function isOld({ from }: NodeMigration, block: Block): boolean {
  return isAmong(from, block);
}

function isAmong(cidrs: readonly string[], { prefix }: Block): boolean {
  return cidrs.some((text) => parsePrefix(text)?.equals(prefix));
}

function nameOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
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
