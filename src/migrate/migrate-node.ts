import type { Clock } from '../base/clock.ts';
import { CadastreError } from '../base/errors.ts';
import { ApiError } from '../kube/api-error.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import { getIfThere } from '../kube/get-if-there.ts';
import { readCiliumNode } from '../model/cilium-node.ts';
import { cure } from '../model/cures.ts';
import {
  type MigrationMethod,
  type NodeMigration,
  readMigration,
  writeMigration,
} from '../model/node-migration.ts';
import { readNodeReport } from '../model/node-report.ts';
import type { KubeObject } from '../model/object.ts';
import { ciliumNodes, nodeMigrations, nodeReports, nodes } from '../model/resources.ts';
import { isUntouched, type MigrationStep, nextStep } from '../plan/migration/migration-next.ts';
import { isAnnouncing } from '../plan/migration/migration-signs.ts';
import { changeMigration, perform, readMovingNode } from './migration-driver.ts';
import { savedLabels, savedNode } from './migration-record.ts';
import type { MigrationView } from './migration-view.ts';

/**
 * Moves one node: look, ask `plan` what is left, do it, look again. The process
 * may be killed anywhere; the next run goes on from what it sees. Every change of
 * step is said and written into the NodeMigration, so that others can follow.
 */
export interface MigrationRun {
  client: KubeClient;
  view: MigrationView;
  clock: Clock;
  say(step: MigrationStep, words: string): void;
  timeoutMs: number;
  signal: AbortSignal;
}

export interface NewMove {
  node: string;
  from: readonly string[];
  pools: readonly string[];
  method: MigrationMethod;
}

/** Writes down what is about to be done and what was there; an unfinished move of the node is continued. */
export async function beginMove(client: KubeClient, move: NewMove): Promise<NodeMigration> {
  const known = await getIfThere(client, nodeMigrations, move.node);
  if (known !== undefined) {
    const before = readMigration(known);
    if (before.phase === 'Moving') return before;
    if (before.phase === 'Undoing') {
      throw new CadastreError('BAD_USAGE', `the move of ${move.node} is being undone`, {
        remedy: cure('GoOn', `Finish it with cadastre migrate undo ${move.node} --yes.`),
      });
    }
    const { uid, resourceVersion } = before;
    await client.delete(nodeMigrations, move.node, { uid, resourceVersion });
  }
  const raw = await client.get<KubeObject>(nodes, move.node);
  const node = readMovingNode(raw);
  const report = await getIfThere(client, nodeReports, move.node);
  const ciliumNode = await getIfThere(client, ciliumNodes, move.node);
  const cilium = ciliumNode === undefined ? undefined : readCiliumNode(ciliumNode);
  const isAnnounced = report !== undefined && isAnnouncing(readNodeReport(report), node);
  const body = writeMigration({
    nodeName: move.node,
    nodeUid: node.uid,
    from: move.from,
    pools: move.pools,
    method: move.method,
    phase: 'Moving',
    wasUnschedulable: node.isUnschedulable,
    wasAnnounced: isAnnounced && node.isLeaving !== true,
    hasReleased: false,
    undoUid: '',
    saved: {
      node: savedNode(raw),
      ...(cilium === undefined ? {} : { ciliumPodCidrs: cilium.podCidrs }),
      ...(cilium?.internalIps === undefined ? {} : { ciliumInternalIps: cilium.internalIps }),
    },
  });
  return readMigration(await client.create<KubeObject>(nodeMigrations, body));
}

/** Turns a move round, from wherever it is. */
export async function beginUndo(
  client: KubeClient,
  view: MigrationView,
  name: string,
): Promise<NodeMigration> {
  const world = await view.look(name);
  if (world === undefined) {
    throw new CadastreError('BAD_INPUT', `${name} has not been moved: it has no NodeMigration`, {
      remedy: 'cadastre migrate status lists those that have one.',
    });
  }
  const { migration, node } = world;
  if (migration.phase === 'Undoing' || migration.phase === 'Undone') return migration;
  const turned = {
    phase: 'Undoing',
    hasReleased: migration.hasReleased && !isUntouched(world),
  } as const;
  const undoUid = node?.uid ?? '';
  const next = nextStep({ ...world, migration: { ...migration, ...turned, undoUid } });
  // Refused before anything is written: a move that is half turned round could not go on either.
  if (next.kind === 'stuck') throw new CadastreError('BAD_INPUT', next.why);
  // One that a kubelet made half-way, without the labels it had, says nothing about them.
  const isItsOwn = migration.phase === 'Moved' || node?.uid === migration.nodeUid;
  return changeMigration(client, migration, {
    ...turned,
    undoUID: undoUid,
    ...(node !== undefined && isItsOwn ? { saved: savedLabels(migration.saved, node) } : {}),
  });
}

const lookEveryMs = 400;

/** Until the node has arrived; throws when it is stuck, or when the time is over. */
export async function runMigration(run: MigrationRun, name: string): Promise<NodeMigration> {
  const deadlineMs = run.clock.monotonicMs() + run.timeoutMs;
  let reported = '';
  let last = 'nothing was seen yet';
  const report = async (step: MigrationStep, words: string) => {
    last = `${step}: ${words}`;
    if (last === reported) return;
    reported = last;
    run.say(step, words);
    await writeStep(run, name, step, words);
  };
  const refuseToBeLate = () => {
    if (run.clock.monotonicMs() <= deadlineMs) return;
    throw new CadastreError(
      'API_TIMEOUT',
      `${name} has not finished its move within ${run.timeoutMs / 1000} s; it waits at "${last}"`,
      {
        remedy: cure(
          'GoOn',
          `Run the same command again to continue, or cadastre migrate undo ${name} --yes.`,
        ),
      },
    );
  };
  while (!run.signal.aborted) {
    let world: Awaited<ReturnType<MigrationView['look']>>;
    try {
      world = await run.view.look(name);
    } catch (error) {
      // A move takes minutes; an API server that restarts meanwhile does not end it half-way.
      if (!(error instanceof ApiError) || !isAway(error)) throw error;
      last = error.message;
      refuseToBeLate();
      await pause(lookEveryMs, run.signal);
      continue;
    }
    if (world === undefined) {
      throw new CadastreError('BAD_INPUT', `the NodeMigration ${name} was deleted meanwhile`);
    }
    const next = nextStep(world);
    if (next.kind === 'done') return world.migration;
    if (next.kind === 'stuck') {
      await report(next.step, next.why);
      throw new CadastreError('BAD_INPUT', `${name} is stuck at "${next.step}": ${next.why}`);
    }
    refuseToBeLate();
    if (next.kind === 'wait') await report(next.step, next.why);
    else {
      try {
        const held = await perform(run.client, world, next.action);
        await report(next.step, held ?? wordsOf(next.action.do, world.migration));
      } catch (error) {
        // Somebody was quicker, or our look is old: look again. What is truly refused is thrown.
        const isOld =
          error instanceof ApiError &&
          (error.isConflict || error.isNotFound || error.isAlreadyExists || error.isThrottled);
        const mayPass = error instanceof ApiError && (error.outcome === 'unknown' || isAway(error));
        if (!isOld && !mayPass) throw error;
      }
    }
    await pause(lookEveryMs, run.signal);
  }
  throw new CadastreError('API_TIMEOUT', `stopped while ${name} waits at "${last}"`, {
    remedy: cure('GoOn', 'Run the same command again to continue.'),
  });
}

/** No answer, or one about the server and not about the request. */
function isAway({ status, isThrottled }: ApiError): boolean {
  return status === 0 || status >= 500 || isThrottled;
}

function wordsOf(action: string, { nodeName, from }: NodeMigration): string {
  const old = from.join(', ');
  const words: Record<string, string> = {
    cordon: `${nodeName} takes no new pods`,
    uncordon: `${nodeName} takes pods again`,
    evict: 'its pods are being evicted',
    withdraw: 'its agent withdraws its routes',
    announce: 'its agent announces its routes again',
    'mark released': `${old} is about to be released`,
    'drain block': `${old} is released when it is empty`,
    'delete node': `the Node ${nodeName} is deleted, to be re-created`,
    'create node': `the Node ${nodeName} is re-created`,
    'clear cilium': `CiliumNode ${nodeName} no longer names ${old}`,
    'restore cilium': `CiliumNode ${nodeName} names ${old} again`,
    'write witness': 'nothing uses the block that it leaves: it is free after its cool-down',
    'restart agent': `Cilium's agent on ${nodeName} is started again, and takes the block that its records name`,
    finish: 'done',
  };
  return words[action] ?? action;
}

/** For people who follow; nothing depends on it. */
async function writeStep(
  run: MigrationRun,
  name: string,
  step: MigrationStep,
  message: string,
): Promise<void> {
  const since = new Date(run.clock.wallMs()).toISOString();
  const body = { status: { step, message: message.slice(0, 1024), since } };
  try {
    await run.client.patch(nodeMigrations, name, { type: 'merge', subresource: 'status', body });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}
