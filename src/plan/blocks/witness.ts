import { listNames } from '../../base/count-text.ts';
import { type Cure, cure } from '../../model/cures.ts';
import type { Pool } from '../../model/ip-pool.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block, BlockWitness, WitnessName } from '../../model/node-block.ts';
import {
  allocatorReport,
  gaveBack,
  isFenced,
  type NodeReport,
  usualReconfirmAfterSeconds,
} from '../../model/node-report.ts';
import { unattributedWords } from './attribution.ts';
import { timeLimit } from './release-by-time.ts';
import type { RoutersVerdict } from './routers-clear.ts';

/**
 * Who can know that the old node of a cooling block does not use it (decision 29).
 * A deleted Node says that somebody does not want the machine any more, not that the
 * machine is off. What is missing is said in words that a person can act on.
 *
 * Whoever frees a block by the answer must have read the Node and then the NodeReport
 * from the API server itself, in this order: an agent that wants to use a fenced block
 * again takes the fence out of its report first, and reads its Node after that.
 */
export interface WitnessCase {
  block: Block;
  /** The pool that the block belongs to now. */
  pool: Pool | undefined;
  cooldownSeconds: number;
  restedSeconds: number;
  /** The Node of the block's name, be it another one of that name. */
  node: ClusterNode | undefined;
  /** The NodeReport of that name, be it of another Node. */
  report: NodeReport | undefined;
  /** Why another node's agent may have written that report; absent: its own did. */
  doubt?: string | undefined;
  /** A record of the node (annotation, spec, CiliumNode) names the block. */
  isRecorded: boolean;
  routers: RoutersVerdict;
  /**
   * What else is still there: of a node that is gone its Pods, its CiliumNode, …; of one
   * that is there only what lives in the block. Absent: nobody has looked.
   */
  traces?: readonly string[];
}

export type WitnessVerdict =
  | { kind: 'witness'; by: WitnessName; detail: string }
  /** It depends on what is left of the node: look, and ask again. */
  | { kind: 'look for traces' }
  | {
      kind: 'awaiting';
      missing: string[];
      /** Time alone releases it after so much rest. */
      restSeconds?: number;
      /** The report would be enough if it could be attributed to the node's agent. */
      isDoubted?: boolean;
    };

type Witnessed = Extract<WitnessVerdict, { kind: 'witness' }>;
type Awaiting = Extract<WitnessVerdict, { kind: 'awaiting' }>;

export function findWitness(one: WitnessCase): WitnessVerdict {
  const { block, node } = one;
  const agent = askAgent(one);
  if (agent.kind === 'witness') return agent;
  if (node?.uid === block.nodeUid) return agent.isDoubted ? agent : ofLiveNode(one);
  const missing = [...agent.missing];
  const byRouters = askRouters(one);
  if (byRouters.kind === 'witness' || byRouters.kind === 'look for traces') return byRouters;
  const byTime = askTime(one);
  if (byTime.kind === 'witness' || byTime.kind === 'look for traces') return byTime;
  missing.push(...byRouters.missing, ...byTime.missing, ...(one.traces ?? []));
  return { ...byTime, ...(agent.isDoubted ? { isDoubted: true } : {}), missing };
}

/** A live Node's agent can only give a block back; a fence counts when the Node is gone. */
function askAgent({ block, node, report, doubt }: WitnessCase): Witnessed | Awaiting {
  const { nodeName } = block;
  const isThere = node?.uid === block.nodeUid;
  const said: Witnessed | undefined = gaveBack(report, block)
    ? says('Agent', `${nodeName} emptied it and gave it back`)
    : !isThere && isFenced(report, block)
      ? says('Fenced', `${nodeName} withdrew it from its routers and does not use it`)
      : undefined;
  if (said !== undefined && doubt === undefined) return said;
  if (said !== undefined && doubt !== undefined) {
    const what = said.by === 'Agent' ? 'it gave the block back' : 'it does not use the block';
    const missing = [unattributedWords(nodeName, what, doubt)];
    return { kind: 'awaiting', missing, isDoubted: true };
  }
  const agent =
    allocatorReport(report) === undefined
      ? `the agent of ${nodeName} only announces its blocks, and does not know whether pods use them`
      : `the agent of ${nodeName} has not reported the block as fenced`;
  return {
    kind: 'awaiting',
    missing: [report === undefined ? `${nodeName} has no NodeReport` : agent],
  };
}

/** A block of a Node that is there cools only because it was given back. */
function ofLiveNode(one: WitnessCase): WitnessVerdict {
  const { block, report, doubt, isRecorded, traces } = one;
  // Whoever can write a report can also make it one of another Node.
  const isSpokenFor = allocatorReport(report)?.nodeUid === block.nodeUid;
  if (!isSpokenFor && doubt === undefined && !isRecorded) {
    if (traces === undefined) return { kind: 'look for traces' };
    if (traces.length > 0) return { kind: 'awaiting', missing: [...traces] };
    return says('NoRecord', `no record of ${block.nodeName} names it, and nothing lives in it`);
  }
  const missing = [`Node ${block.nodeName} is there, and has not given the block back`];
  return { kind: 'awaiting', missing };
}

function askRouters(one: WitnessCase): WitnessVerdict {
  const { block, report, routers, restedSeconds } = one;
  const awaiting = (...missing: string[]): WitnessVerdict => ({ kind: 'awaiting', missing });
  if (routers.kind === 'none') return awaiting('no router of the node is known');
  if (routers.kind === 'not clear') {
    const { unheard, holding } = routers;
    return awaiting(
      ...(unheard.length > 0 ? [`not heard completely: ${listNames(unheard)}`] : []),
      ...(holding.length > 0
        ? [
            `still with a route to ${block.prefix} or a session with the node: ${listNames(holding)}`,
          ]
        : []),
    );
  }
  const neededSeconds = clearSeconds(one);
  if (neededSeconds === undefined) {
    return awaiting(
      'the routers are clear, but the report of its agent does not say when it asks for its blocks again (reconfirmAfterSeconds)',
    );
  }
  // Counted while the block cools: whatever the agent was told before that is older by then.
  if (Math.min(routers.forSeconds, restedSeconds) < neededSeconds) {
    return awaiting(`the routers are clear, but not for ${neededSeconds} s yet`);
  }
  // Where another program gives the addresses, its pods may live on without our announcement.
  const isAllocator = allocatorReport(report) !== undefined;
  if (!isAllocator && one.traces === undefined) return { kind: 'look for traces' };
  if (!isAllocator && one.traces?.length !== 0) return awaiting();
  const names = listNames([...routers.routers]);
  return says('Routers', `no route and no session for ${neededSeconds} s on ${names}`);
}

/** How long routers must have been clear; undefined: their word is not enough. */
function clearSeconds(one: WitnessCase): number | undefined {
  const { block, report, doubt, cooldownSeconds } = one;
  if (report === undefined) return cooldownSeconds;
  const { nodeUid, reconfirmAfterSeconds } = report;
  if (nodeUid !== block.nodeUid || reconfirmAfterSeconds === undefined) return undefined;
  // Another agent could have shortened it.
  const least = doubt === undefined ? 0 : usualReconfirmAfterSeconds;
  return 2 * Math.max(reconfirmAfterSeconds, least);
}

function askTime(one: WitnessCase): WitnessVerdict {
  const { block, pool, report, doubt, restedSeconds, traces } = one;
  const limit = timeLimit(block, pool, report);
  if (limit.kind === 'after' && report !== undefined && doubt !== undefined) {
    const what = 'it falls silent without the API server';
    return { kind: 'awaiting', missing: [unattributedWords(block.nodeName, what, doubt)] };
  }
  if (limit.kind === 'never') {
    return { kind: 'awaiting', missing: [`time alone does not release it: ${limit.why}`] };
  }
  const { seconds } = limit;
  const awaiting: Awaiting = {
    kind: 'awaiting',
    missing: [`time alone releases it after ${seconds} s`],
    restSeconds: seconds,
  };
  if (restedSeconds < seconds) return awaiting;
  // Against a router that still holds it time says nothing.
  if (one.routers.kind === 'not clear' && one.routers.holding.length > 0) return awaiting;
  if (traces === undefined) return { kind: 'look for traces' };
  if (traces.length > 0) return awaiting;
  return says('Time', `nobody; it rested ${seconds} s, and nothing of ${block.nodeName} is left`);
}

function says(by: WitnessName, detail: string): Witnessed {
  return { kind: 'witness', by, detail };
}

/** `Fenced: node1 withdrew it from its routers and does not use it`. */
export function witnessWords({ by, detail }: BlockWitness): string {
  return detail === undefined ? by : `${by}: ${detail}`;
}

/** What lives in a block of a node that is there, as one sentence for people. */
export function usedBlockWords({ nodeName }: Block, uses: readonly string[]): string {
  return `${nodeName} uses it: ${uses.join('; ')}`;
}

/** What is missing, as one sentence for people, with the command that cures it. */
export function awaitingWords(block: Block, missing: readonly string[]): string {
  return `nobody says that ${block.nodeName} does not use it: ${missing.join('; ')}. If the machine is off: ${releaseCommand(block)}`;
}

export function releaseCommand({ prefix }: Pick<Block, 'prefix'>): Cure {
  return cure('ReleaseBlock', `cadastre blocks release ${prefix} --machine-is-off "why"`);
}
