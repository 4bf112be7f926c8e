/**
 * Which machine serves the Node, kept in NodeReport.spec.agent (plan/node/machine-identity
 * says how it is read). This file reads and writes it:
 *
 *   nobody             we write our name                                     held
 *   this machine       a restart: we write the new id, and serve meanwhile   held
 *   ... with question  we are alive: the id again                            held
 *   another machine    we ask. No answer within `answerWithinMs`: we take    out, then held
 *                      the Node over. An answer: we ask again so much later  out
 *
 * Every write carries the resourceVersion that was read: of two machines that write at the
 * same time one is refused, and looks again. An answer that our watch has missed refuses
 * our taking over in the same way.
 */
import { describeError } from '../base/errors.ts';
import { rowCache } from '../cluster/cluster-caches.ts';
import { ApiError } from '../kube/api-error.ts';
import { Backoff } from '../kube/backoff.ts';
import type { ListWatch } from '../kube/list-watch.ts';
import { row } from '../model/cluster-kinds.ts';
import { apiVersion } from '../model/keys.ts';
import { type NodeReport, type ReportingAgent, readNodeReport } from '../model/node-report.ts';
import { nodeReports } from '../model/resources.ts';
import { holderOf, type NodeHolder } from '../plan/node/machine-identity.ts';
import type { AgentWorld } from './agent-world.ts';
import { Wakeup } from './wakeup.ts';

interface NodeClaimOptions extends Pick<AgentWorld, 'client' | 'clock' | 'random' | 'log'> {
  nodeName: string;
  own: ReportingAgent;
  answerWithinMs: number;
  onChange: () => void;
}

type Standing =
  /** Nothing is known yet. */
  | { kind: 'unknown' }
  | { kind: 'held' }
  /** Another machine's; `isAlive` if it has answered. */
  | { kind: 'out'; machine: string; isAlive: boolean };

/** A question of another machine stays a finding for so many times the time of an answer. */
const questionLasts = 3;

export class NodeClaim {
  readonly #o: NodeClaimOptions;
  readonly #cache: ListWatch<NodeReport>;
  readonly #retry: Backoff;
  #standing: Standing = { kind: 'unknown' };
  /** Set once this machine is known to be the Node: only then is the Node claimed. */
  #node: { name: string; uid: string } | undefined;
  #askedAtMs: number | undefined;
  #answeredAtMs: number | undefined;
  #question: { machine: string; atMs: number } | undefined;
  #isWritten = false;
  #hasLooked = false;
  readonly #wakeup = new Wakeup();

  constructor(options: NodeClaimOptions) {
    this.#o = options;
    this.#retry = new Backoff({ baseMs: 500, capMs: 30_000, random: options.random });
    const changed = () => this.#wakeup.touch();
    this.#cache = rowCache(row(nodeReports, readNodeReport), options, {
      fieldSelector: `metadata.name=${options.nodeName}`,
      handler: { onPut: changed, onDelete: changed },
    });
  }

  get standing(): Standing {
    return this.#standing;
  }

  /** Whether the report was read: before that nothing may be written that is perhaps another's. */
  get hasLooked(): boolean {
    return this.#hasLooked;
  }

  /** The machine that asked lately whether we are alive: it has the same node name. */
  get rival(): string | undefined {
    const { clock, answerWithinMs } = this.#o;
    const { machine, atMs } = this.#question ?? { machine: '', atMs: Number.NEGATIVE_INFINITY };
    return clock.monotonicMs() - atMs < questionLasts * answerWithinMs ? machine : undefined;
  }

  /** This machine is the Node, by its addresses. */
  want(node: { name: string; uid: string }): void {
    if (this.#node?.uid === node.uid) return;
    this.#node = node;
    this.#wakeup.touch();
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#cache.start(signal);
    await this.#cache.synced.catch(() => undefined);
    // What the report says is taken in before anything is written: a restart waits for no write.
    this.#hasLooked = true;
    this.#o.onChange();
    while (!signal.aborted) {
      this.#wakeup.clear();
      let againMs: number | undefined;
      try {
        againMs = await this.#step(signal);
        this.#retry.reset();
      } catch (error) {
        if (signal.aborted) return;
        againMs = this.#failed(error);
      }
      await this.#wakeup.wait(signal, againMs);
    }
  }

  /** When to look again even if nothing changes. */
  async #step(signal: AbortSignal): Promise<number | undefined> {
    const { own } = this.#o;
    const report = this.#cache.get(this.#o.nodeName);
    const holder = holderOf(report?.agent, own);
    switch (holder.kind) {
      case 'nobody':
        if (this.#node === undefined) return undefined;
        // An API server whose NodeReports have no such field yet takes it and forgets it.
        if (report === undefined || !this.#isWritten) await this.#write(report, own, signal);
        this.#isWritten = true;
        this.#stand({ kind: 'held' });
        return undefined;
      case 'this-machine':
        this.#stand({ kind: 'held' });
        await this.#answer(report, holder, signal);
        return undefined;
      case 'other-machine':
        return this.#ask(report, holder, signal);
    }
  }

  async #answer(
    report: NodeReport | undefined,
    { isThisAgent, question }: Extract<NodeHolder, { kind: 'this-machine' }>,
    signal: AbortSignal,
  ): Promise<void> {
    // Another agent of this machine is no rival: the lock of the folder decides.
    if (isThisAgent || (question === undefined && this.#isWritten)) return;
    if (question !== undefined) {
      this.#question = { machine: question, atMs: this.#o.clock.monotonicMs() };
      const words = 'another machine asked for this Node; answered that this one is alive';
      this.#o.log.warn({ reason: 'DuplicateAgent', machine: question }, words);
      this.#o.onChange();
    }
    await this.#write(report, this.#o.own, signal);
    this.#isWritten = true;
  }

  async #ask(
    report: NodeReport | undefined,
    { machine, asker }: Extract<NodeHolder, { kind: 'other-machine' }>,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { own, clock, answerWithinMs } = this.#o;
    const before = this.#standing;
    if (before.kind !== 'out' || before.machine !== machine) {
      this.#askedAtMs = this.#answeredAtMs = undefined;
      this.#stand({ kind: 'out', machine, isAlive: false });
    }
    if (this.#node === undefined) return undefined;
    const nowMs = clock.monotonicMs();
    if (this.#askedAtMs !== undefined && asker === undefined) {
      this.#askedAtMs = undefined;
      this.#answeredAtMs = nowMs;
      this.#stand({ kind: 'out', machine, isAlive: true });
    }
    if (this.#askedAtMs !== undefined) {
      const leftMs = this.#askedAtMs + answerWithinMs - nowMs;
      if (leftMs > 0) return leftMs;
      await this.#write(report, own, signal);
      this.#isWritten = true;
      this.#askedAtMs = undefined;
      const words = `machine ${machine} did not answer for ${answerWithinMs / 1000} s; this one takes the Node over`;
      this.#o.log.warn({ machine }, words);
      this.#stand({ kind: 'held' });
      return undefined;
    }
    const waitMs = (this.#answeredAtMs ?? Number.NEGATIVE_INFINITY) + answerWithinMs - nowMs;
    if (waitMs > 0) return waitMs;
    await this.#write(report, { id: own.id, machine }, signal);
    this.#askedAtMs = clock.monotonicMs();
    return answerWithinMs;
  }

  #stand(next: Standing): void {
    if (JSON.stringify(next) === JSON.stringify(this.#standing)) return;
    this.#standing = next;
    this.#o.onChange();
  }

  async #write(
    report: NodeReport | undefined,
    agent: ReportingAgent,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, nodeName: name } = this.#o;
    if (report !== undefined) {
      const metadata = { resourceVersion: report.resourceVersion };
      const body = { metadata, spec: { agent } };
      await client.patch(nodeReports, name, { type: 'merge', body, signal, retries: 0 });
      return;
    }
    const uid = this.#node?.uid ?? '';
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }];
    const metadata = { name, ownerReferences };
    const created = { apiVersion, kind: 'NodeReport', metadata, spec: { nodeUID: uid, agent } };
    await client.create(nodeReports, created, { signal });
  }

  /** A refusal by version means that something changed: the watch brings it. */
  #failed(error: unknown): number {
    const isRace =
      error instanceof ApiError && (error.isConflict || error.isAlreadyExists || error.isNotFound);
    if (!isRace) {
      const text = describeError(error);
      this.#o.log.warn(
        { error: text },
        'could not write into the NodeReport which machine this is',
      );
      // Nobody else was there when we looked: that it cannot be written is no reason to wait.
      const isNobodys = holderOf(this.#cache.get(this.#o.nodeName)?.agent, this.#o.own);
      if (isNobodys.kind === 'nobody') this.#stand({ kind: 'held' });
    }
    return this.#retry.nextMs();
  }
}
