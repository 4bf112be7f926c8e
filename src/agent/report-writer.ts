/**
 * Writes the node's report at a bounded rate: what was declared last is written,
 * what came between is not. Failures are retried with back-off for ever, because
 * the next declaration may be a day away. Now and then it is written although
 * nothing changed: somebody may have deleted or changed it. (The API server writes
 * nothing if it is as it was.)
 */

import { describeError } from '../base/errors.ts';
import { ApiError } from '../kube/api-error.ts';
import { Backoff, pause } from '../kube/backoff.ts';
import { agentPolicyAnnotation } from '../model/agent-policy.ts';
import { apiVersion } from '../model/keys.ts';
import type { NodeReport } from '../model/node-report.ts';
import type { NodeReportStatus } from '../model/node-report-status.ts';
import { nodeReports } from '../model/resources.ts';
import { AcceptedReport } from './accepted-report.ts';
import type { AgentWorld } from './agent-world.ts';
import type { PolicyInForce } from './policy-in-force.ts';
import { Wakeup } from './wakeup.ts';

/** What the operator reads. */
export type ReportSpec = Pick<NodeReport, 'neededAddresses' | 'releases'> &
  Required<Pick<NodeReport, 'uses' | 'fenced' | 'silentAfter' | 'reconfirmAfterSeconds'>> &
  Pick<NodeReport, 'scope'>;

export interface ReportContent {
  node: { name: string; uid: string };
  /** With the last of them the report is deleted. */
  owners: readonly ReportOwner[];
  spec: ReportSpec;
  status: NodeReportStatus;
}

export interface ReportOwner {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

interface ReportWriterOptions extends Pick<AgentWorld, 'client' | 'log' | 'random' | 'clock'> {
  /** Between two writes. */
  everyMs: number;
  policy: Pick<PolicyInForce, 'identity'>;
  /** The API server has accepted another spec. */
  onAccepted: () => void;
}

const againEveryMs = 300_000;
/** A hijack is to be read within a second; a route that flaps must not write all the time. */
const hijackEveryMs = 500;

export class ReportWriter {
  readonly #o: ReportWriterOptions;
  /** What the API server has accepted. */
  readonly accepted = new AcceptedReport();
  #wanted: ReportContent | undefined;
  #specWritten = '';
  #statusWritten = '';
  #policyWritten: string | undefined;
  /** What is there may be another than what was written. */
  #isLost = false;
  readonly #wakeup = new Wakeup();
  #hijacksWritten = '[]';
  /** Ends the pause between two writes. */
  #hurry = new AbortController();

  constructor(options: ReportWriterOptions) {
    this.#o = options;
  }

  declare(content: ReportContent): void {
    this.#wanted = content;
    this.#wakeup.touch();
    if (hijacksText(content) !== this.#hijacksWritten) this.#hurry.abort();
  }

  /** Nothing more is written before the next declaration: the report is another machine's. */
  withhold(): void {
    this.#wanted = undefined;
  }

  /** What was written may be lost, as after a restored backup: it is written again at once. */
  writeAgain(): void {
    this.#isLost = true;
    this.#wakeup.touch();
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff({ baseMs: 500, capMs: 30_000, random: this.#o.random });
    let complaint = '';
    while (!signal.aborted) {
      if (this.#isLost) this.#specWritten = this.#statusWritten = '';
      this.#isLost = false;
      this.#wakeup.clear();
      const content = this.#wanted;
      if (content === undefined || this.#isWritten(content)) {
        // Not all nodes at once.
        await this.#wakeup.wait(signal, againEveryMs * (0.75 + this.#o.random() / 2));
        if (!this.#wakeup.isTouched) this.#isLost = true;
        continue;
      }
      try {
        await this.#write(content, signal);
        backoff.reset();
        if (complaint !== '') this.#o.log.info({}, 'the NodeReport is written again');
        complaint = '';
        await this.#rest(content, signal);
      } catch (error) {
        if (signal.aborted) return;
        const text = describeError(error);
        if (text !== complaint) this.#o.log.warn({ error: text }, 'could not write the NodeReport');
        complaint = text;
        await pause(backoff.nextMs(), signal);
      }
    }
  }

  /** Between two writes; shorter if there is news of a hijack. */
  async #rest(written: ReportContent, signal: AbortSignal): Promise<void> {
    this.#hijacksWritten = hijacksText(written);
    this.#hurry = new AbortController();
    const { everyMs } = this.#o;
    await pause(Math.min(everyMs, hijackEveryMs), signal);
    if (hijacksText(this.#wanted ?? written) !== this.#hijacksWritten) return;
    await pause(everyMs - hijackEveryMs, AbortSignal.any([signal, this.#hurry.signal]));
  }

  #isWritten(content: ReportContent): boolean {
    return (
      specText(content) === this.#specWritten &&
      JSON.stringify(content.status) === this.#statusWritten
    );
  }

  async #write(content: ReportContent, signal: AbortSignal): Promise<void> {
    const { node, spec, status } = content;
    const text = specText(content);
    if (text !== this.#specWritten) {
      this.accepted.sending(spec);
      const policy = await this.#o.policy.identity(signal);
      await this.#writeSpec(content, policy, signal);
      this.#specWritten = text;
      // Under an earlier policy, or none, others could write the status.
      if (policy !== this.#policyWritten) this.#statusWritten = '';
      this.#policyWritten = policy;
      this.accepted.accepted(spec, this.#o.clock.monotonicMs());
      this.#o.onAccepted();
    }
    const statusText = JSON.stringify(status);
    if (statusText !== this.#statusWritten) {
      const options = { type: 'merge', subresource: 'status', body: { status }, signal } as const;
      try {
        await this.#o.client.patch(nodeReports, node.name, options);
      } catch (error) {
        // Somebody deleted it: the next round makes it anew.
        if (error instanceof ApiError && error.isNotFound) this.#specWritten = '';
        throw error;
      }
      this.#statusWritten = statusText;
    }
  }

  /** All of what the operator reads, with the policy that it is written under. */
  async #writeSpec(
    { node, owners, spec }: ReportContent,
    policy: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const body = {
      // An explicit null takes a key out of what is there (RFC 7396).
      metadata: {
        ownerReferences: owners,
        annotations: { [agentPolicyAnnotation]: policy ?? null },
      },
      spec: {
        ...spec,
        nodeUID: node.uid,
        scope: spec.scope ?? null,
        neededAddresses: { ipv4: null, ipv6: null, ...spec.neededAddresses },
      },
    };
    try {
      await this.#o.client.patch(nodeReports, node.name, { type: 'merge', body, signal });
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isNotFound) throw error;
      await this.#o.client.create(
        nodeReports,
        {
          apiVersion,
          kind: 'NodeReport',
          metadata: {
            name: node.name,
            ownerReferences: [...owners],
            ...(policy === undefined ? {} : { annotations: { [agentPolicyAnnotation]: policy } }),
          },
          spec: { nodeUID: node.uid, ...spec },
        },
        { signal },
      );
      this.#statusWritten = '';
    }
  }
}

const hijacksText = ({ status }: ReportContent) => JSON.stringify(status.hijacks ?? []);

const specText = ({ node, owners, spec }: ReportContent) =>
  JSON.stringify([node.uid, owners, spec]);
