import { describeError } from '../base/errors.ts';
import type { Gauge } from '../base/metrics.ts';
import type { UsedAddresses } from '../cluster/used-addresses.ts';
import { ApiError } from '../kube/api-error.ts';
import { pause } from '../kube/backoff.ts';
import { driftConditionType } from '../model/keys.ts';
import type { ClusterNode } from '../model/node.ts';
import { nodes } from '../model/resources.ts';
import { causesOf } from '../plan/doctor/causes.ts';
import { conditionWrites, DriftRecord, driftWords, keyOf } from '../plan/doctor/drift.ts';
import type { Evidence } from '../plan/doctor/evidence.ts';
import type { DoctorFinding } from '../plan/doctor/finding.ts';
import { judgeInSteps } from '../plan/doctor/judge.ts';
import { type Survey, survey } from '../plan/doctor/survey.ts';
import type { NodeReporter } from './node-reporter.ts';
import type { OperatorBase } from './operator-base.ts';

/**
 * The doctor, all the time: the leader makes the doctor's comparison over what it
 * has in memory, and reports what stays wrong by a condition and an Event on the
 * node, and by a metric.
 *
 * It comes after everything else. A pass is made only if something changed (or,
 * because some faults come by waiting, after a long time), at most every so often,
 * never while nodes wait for blocks; it lets the event loop
 * run between its parts; and what it writes is written slowly. A fault is reported
 * when two passes in a row have found it: between a block and its announcement
 * there is always a moment in which they differ.
 */
interface DriftWatchOptions extends OperatorBase {
  everyMs: number;
  evidence(): Evidence;
  /** Addresses of pods, which are listed for a pass and not kept. */
  used?: UsedAddresses | undefined;
  nodeCache: { get(name: string): ClusterNode | undefined; put(raw: unknown): void };
  terms: { readonly mayAssign: boolean };
  /** Nodes wait for blocks, or writes wait for the API server. */
  nodeQueue: { readonly isBusy: boolean };
  reporter: Pick<NodeReporter, 'findings' | 'event'>;
}

const writeEveryMs = 50;
const mostWritesAPass = 500;
/** A block that cools for too long, a pool that fills up: turns after which it looks anyway. */
const lookAgainTurns = 10;

export class DriftWatch {
  readonly #o: DriftWatchOptions;
  readonly #gauge: Gauge;
  readonly #seconds: Gauge;
  #record = new DriftRecord();
  #ofPods: DoctorFinding[] = [];
  #isChanged = true;
  #turnsSincePass = 0;
  /** What the last pass looked at; its causes are asked for when something is new. */
  #surveyed: Survey | undefined;

  constructor(options: DriftWatchOptions) {
    this.#o = options;
    this.#gauge = options.metrics.gauge(
      'cadastre_drift_findings',
      'Findings of the continuous comparison that two passes in a row have made, by reason.',
    );
    this.#seconds = options.metrics.gauge(
      'cadastre_drift_pass_seconds',
      'How long the last pass of the continuous comparison computed.',
    );
  }

  /** Something that the comparison looks at is another now. */
  changed(): void {
    this.#isChanged = true;
  }

  /** Only a leader reports what it finds. */
  forgetAll(): void {
    for (const reason of this.#record.reasons()) this.#gauge.remove({ reason });
    this.#record = new DriftRecord();
    this.#ofPods = [];
    this.#o.used?.lookAgain();
    this.#isChanged = true;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { everyMs, log } = this.#o;
    if (everyMs <= 0) return;
    while (!signal.aborted) {
      await pause(everyMs, signal);
      if (signal.aborted || !this.#o.terms.mayAssign || this.#o.nodeQueue.isBusy) continue;
      this.#turnsSincePass += 1;
      const isDue = this.#isChanged || this.#record.hasUnconfirmed || this.#o.used?.isDue === true;
      if (!isDue && this.#turnsSincePass < lookAgainTurns) continue;
      this.#turnsSincePass = 0;
      this.#isChanged = false;
      try {
        await this.#pass(signal);
      } catch (error) {
        this.#isChanged = true;
        log.warn({ error: describeError(error) }, 'drift comparison failed; trying again');
      }
    }
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const findings = await this.#judge();
    if (!this.#o.terms.mayAssign) return;
    const known = new Set(this.#record.reasons());
    const { fresh, cured } = this.#record.take(findings);
    const counts = this.#record.counts();
    for (const reason of known) if (!counts.has(reason)) this.#gauge.set(0, { reason });
    for (const [reason, count] of counts) this.#gauge.set(count, { reason });
    this.#reportAll(fresh);
    for (const { reason, node, prefix } of cured) {
      this.#o.log.info({ reason, node, prefix }, 'finding cleared');
    }
    this.#surveyed = undefined;
    await this.#writeConditions(signal);
  }

  /**
   * Pods are seen only now and then. What a list of them showed stands until the next one;
   * what is new is looked at again at once, because one list may have caught a pod that
   * was just going.
   */
  async #judge(): Promise<DoctorFinding[]> {
    const { used } = this.#o;
    if (used === undefined) return this.#judgeEvidence(this.#o.evidence());
    if (!used.isDue) return [...(await this.#judgeEvidence(this.#o.evidence())), ...this.#ofPods];
    await used.look();
    const evidence = { ...this.#o.evidence(), ...used.items, isPodListApart: true };
    const found = await this.#judgeEvidence(evidence);
    used.forget();
    this.#ofPods = found.filter(isOfPods);
    const known = new Set(this.#record.standing().map(keyOf));
    if (this.#ofPods.some((one) => !known.has(keyOf(one)))) used.lookAgain();
    return found;
  }

  async #judgeEvidence(evidence: Evidence): Promise<DoctorFinding[]> {
    let startMs = this.#o.clock.monotonicMs();
    let usedMs = 0;
    const lap = async () => {
      usedMs += this.#o.clock.monotonicMs() - startMs;
      await new Promise<void>((resolve) => setImmediate(resolve));
      startMs = this.#o.clock.monotonicMs();
    };
    await lap();
    const surveyed = survey(evidence);
    this.#surveyed = surveyed;
    await lap();
    const steps = judgeInSteps(surveyed);
    for (;;) {
      const step = steps.next();
      await lap();
      if (!step.done) continue;
      this.#seconds.set(usedMs / 1000);
      return step.value;
    }
  }

  /** What findings have in common is said once, before they are. */
  #reportAll(fresh: readonly DoctorFinding[]): void {
    const surveyed = this.#surveyed;
    const causes = surveyed === undefined ? [] : causesOf(surveyed, this.#record.standing());
    const news = new Set(fresh.map(keyOf));
    for (const { title, severity, podsHurt, podsAtRisk, findings } of causes) {
      const own = findings.filter((one) => news.has(keyOf(one)));
      const isShared = findings.length > 1;
      if (own.length > 0 && isShared) {
        const fields = { severity, count: findings.length, detail: { podsHurt, podsAtRisk } };
        this.#o.log.warn(fields, title);
      }
      for (const finding of own) this.#report(finding, isShared ? title : '');
    }
  }

  #report(finding: DoctorFinding, cause: string): void {
    const { reason, node, prefix, severity } = finding;
    const words = `${driftWords(finding)}${cause === '' ? '' : `; cause: ${cause}`}`;
    const fields = { reason, node, prefix, severity };
    if (severity === 'info') this.#o.log.info(fields, words);
    else this.#o.log.warn(fields, words);
    const { nodeCache, reporter } = this.#o;
    const concerned = nodeCache.get(finding.node ?? finding.owner ?? '');
    if (concerned === undefined) return;
    // The operator may have reported it already, in its own words.
    const isKnown = reporter.findings.get(concerned.name)?.some((known) => known.reason === reason);
    if (isKnown) return;
    reporter.event(concerned, severity === 'info' ? 'Normal' : 'Warning', reason, words);
  }

  async #writeConditions(signal: AbortSignal): Promise<void> {
    const { evidence, client, clock, log } = this.#o;
    const nowText = new Date(clock.wallMs()).toISOString();
    const writes = conditionWrites(evidence().nodes, this.#record.byNode(), nowText);
    for (const { node, condition } of writes.slice(0, mostWritesAPass)) {
      if (signal.aborted || !this.#o.terms.mayAssign) return;
      const body = { status: { conditions: [{ ...condition, lastHeartbeatTime: nowText }] } };
      try {
        const options = { type: 'strategic', subresource: 'status', body } as const;
        this.#o.nodeCache.put(await client.patch(nodes, node, options));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (!error.isNotFound) log.warn({ node, resource: driftConditionType }, error.message);
      }
      await pause(writeEveryMs, signal);
    }
    if (writes.length > mostWritesAPass) this.#isChanged = true;
  }
}

/** What only a list of pods shows; an agent's own report of it comes with the rest. */
function isOfPods({ reason, says }: DoctorFinding): boolean {
  if (reason === 'DuplicateAddress') return true;
  return reason === 'PodsOutsideBlocks' && says.agent === undefined;
}
