/**
 * Whether this agent may serve its Node: its machine has an address of the Node, and no
 * other machine serves it. One that may not gives out nothing new and announces nothing; the
 * pods that run keep what they have.
 *
 * While the API server is away nothing can be found out, and what was known before counts.
 */
import { randomUUID } from 'node:crypto';
import { describeError } from '../base/errors.ts';
import type { ClusterNode } from '../model/node.ts';
import { nodeReports } from '../model/resources.ts';
import type { Finding } from '../plan/blocks/finding.ts';
import { agentOf, lacksAddresses } from '../plan/node/machine-identity.ts';
import type { AgentState } from './agent-status.ts';
import type { AgentWorld } from './agent-world.ts';
import { NodeClaim } from './node-claim.ts';

interface NodeIdentityOptions
  extends Pick<AgentWorld, 'client' | 'kernel' | 'clock' | 'random' | 'log' | 'machine'> {
  nodeName: string;
  answerWithinMs: number;
  onChange: () => void;
}

export type Permission =
  | { kind: 'serve' }
  /** The report has not been read yet. */
  | { kind: 'undecided' }
  /** `isOurs`: no other machine's agent speaks for the Node, so this one may. */
  | { kind: 'stand-by'; state: AgentState; isOurs: boolean };

/**
 * An agent that serves does not stop the moment its address is gone: a DHCP client takes it
 * away and puts it back, and a kubelet needs some 10 s to tell the Node of another one.
 */
const addressGraceMs = 30_000;

export class NodeIdentity {
  readonly #o: NodeIdentityOptions;
  readonly #claim: NodeClaim | undefined;
  readonly #machine: string;
  #last: Permission = { kind: 'serve' };
  #hasServed = false;
  #lacksSinceMs: number | undefined;
  #stated = '';

  constructor(options: NodeIdentityOptions) {
    this.#o = options;
    this.#machine = options.machine ?? '';
    if (options.machine === undefined) return;
    const own = agentOf(options.machine, randomUUID().replaceAll('-', ''));
    this.#claim = new NodeClaim({ ...options, own });
  }

  /** Until the signal aborts; to be called when NodeReports are registered. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#claim?.run(signal);
  }

  /** Judged anew in every round: addresses of machines and of Nodes change. */
  async judge(node: ClusterNode | undefined, { reason }: AgentState): Promise<Permission> {
    const isHeard = reason !== 'WorkingFromMemory' && reason !== 'WaitingForNode';
    if (node !== undefined && isHeard) this.#last = await this.#judge(node);
    if (this.#last.kind === 'serve') this.#hasServed = true;
    else if (this.#last.kind === 'stand-by') await this.#state(this.#last);
    return this.#last;
  }

  /** What the one that serves has to say about others. */
  findings(): Finding[] {
    const { nodeName } = this.#o;
    const rival = this.#claim?.rival;
    if (rival === undefined) return [];
    const detail = `the agent of machine ${rival} asks for the Node ${nodeName}, which machine ${this.#machine} serves: two machines have one node name`;
    return [{ reason: 'DuplicateAgent', nodes: [nodeName], cidr: '', detail }];
  }

  async #judge(node: ClusterNode): Promise<Permission> {
    const lacks = await this.#lacks(node);
    if (this.#claim?.hasLooked === false) return { kind: 'undecided' };
    const standing = this.#claim?.standing ?? { kind: 'held' };
    if (lacks !== undefined) {
      const isOurs = standing.kind !== 'out';
      const state: AgentState = { isReady: false, reason: 'NotThisMachine', detail: lacks };
      return { kind: 'stand-by', state, isOurs };
    }
    this.#claim?.want(node);
    if (standing.kind === 'held') return { kind: 'serve' };
    if (standing.kind === 'unknown') return { kind: 'undecided' };
    const { machine, isAlive } = standing;
    const seconds = this.#o.answerWithinMs / 1000;
    const detail = isAlive
      ? `the agent of machine ${machine} serves the Node ${node.name} and is alive; this machine, ${this.#machine}, has the same node name and serves nothing`
      : `machine ${machine} was the last to serve the Node ${node.name}; this machine, ${this.#machine}, serves it if the other one does not answer for ${seconds} s`;
    const state: AgentState = { isReady: false, reason: 'DuplicateAgent', detail };
    return { kind: 'stand-by', state, isOurs: false };
  }

  async #lacks(node: ClusterNode): Promise<string | undefined> {
    const { kernel, clock, onChange } = this.#o;
    const held = [...(await kernel.addresses()).values()].flat();
    const lacks = lacksAddresses(
      node,
      held.map(({ address }) => address),
    );
    if (lacks === undefined || !this.#hasServed) {
      this.#lacksSinceMs = undefined;
      return lacks;
    }
    const nowMs = clock.monotonicMs();
    if (this.#lacksSinceMs === undefined) {
      this.#lacksSinceMs = nowMs;
      setTimeout(onChange, addressGraceMs).unref();
    }
    return nowMs - this.#lacksSinceMs >= addressGraceMs ? lacks : undefined;
  }

  /** Into its report, if that is still ours: the doctor reads it there. */
  async #state({ state, isOurs }: Extract<Permission, { kind: 'stand-by' }>): Promise<void> {
    if (!isOurs || JSON.stringify(state) === this.#stated) return;
    this.#stated = JSON.stringify(state);
    const { client, clock, log, nodeName } = this.#o;
    const { reason, detail: message } = state;
    const lastTransitionTime = new Date(clock.wallMs()).toISOString();
    const conditions = [{ type: 'Ready', status: 'False', reason, message, lastTransitionTime }];
    const status = { conditions, findings: [{ reason, cidr: '', detail: message }] };
    const options = { type: 'merge', subresource: 'status', body: { status }, retries: 0 } as const;
    await client.patch(nodeReports, nodeName, options).catch((error) => {
      log.debug?.({ error: describeError(error) }, 'could not write the NodeReport');
    });
  }
}
