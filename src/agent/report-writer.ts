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
import { apiVersion } from '../model/keys.ts';
import type { BlockRelease } from '../model/node-report.ts';
import type { NodeReportStatus } from '../model/node-report-status.ts';
import { nodeReports } from '../model/resources.ts';
import type { Family } from '../net/family.ts';
import type { AgentWorld } from './agent-world.ts';

export interface ReportContent {
  node: { name: string; uid: string };
  spec: {
    neededAddresses: Partial<Record<Family, number>>;
    releases: readonly BlockRelease[];
  };
  status: NodeReportStatus;
}

interface ReportWriterOptions extends Pick<AgentWorld, 'client' | 'log' | 'random'> {
  /** Between two writes. */
  everyMs: number;
}

const againEveryMs = 300_000;
/** A hijack is to be read within a second; a route that flaps must not write all the time. */
const hijackEveryMs = 500;

export class ReportWriter {
  readonly #o: ReportWriterOptions;
  #wanted: ReportContent | undefined;
  #specWritten = '';
  #statusWritten = '';
  #wake: (() => void) | undefined;
  #hijacksWritten = '[]';
  /** Ends the pause between two writes. */
  #hurry = new AbortController();

  constructor(options: ReportWriterOptions) {
    this.#o = options;
  }

  declare(content: ReportContent): void {
    this.#wanted = content;
    this.#wake?.();
    if (hijacksText(content) !== this.#hijacksWritten) this.#hurry.abort();
  }

  /** Nothing more is written before the next declaration: the report is another machine's. */
  withhold(): void {
    this.#wanted = undefined;
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff({ baseMs: 500, capMs: 30_000, random: this.#o.random });
    let complaint = '';
    while (!signal.aborted) {
      const content = this.#wanted;
      if (content === undefined || this.#isWritten(content)) {
        const isHeard = await this.#changed(signal);
        if (!isHeard) this.#specWritten = this.#statusWritten = '';
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

  /** Whether something was declared; not if the time for another writing has come. */
  #changed(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isHeard: boolean) => {
        clearTimeout(timer);
        this.#wake = undefined;
        signal.removeEventListener('abort', done);
        resolve(isHeard);
      };
      const done = () => end(true);
      // Not all nodes at once.
      const againMs = againEveryMs * (0.75 + this.#o.random() / 2);
      const timer = setTimeout(() => end(false), againMs);
      timer.unref();
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }

  #isWritten({ node, spec, status }: ReportContent): boolean {
    return (
      JSON.stringify([node.uid, spec]) === this.#specWritten &&
      JSON.stringify(status) === this.#statusWritten
    );
  }

  async #write(content: ReportContent, signal: AbortSignal): Promise<void> {
    const { node, spec, status } = content;
    const specText = JSON.stringify([node.uid, spec]);
    if (specText !== this.#specWritten) {
      await this.#writeSpec(content, signal);
      this.#specWritten = specText;
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

  async #writeSpec({ node, spec }: ReportContent, signal: AbortSignal): Promise<void> {
    // Gone with its Node; a report of an earlier Node of this name becomes this one's.
    const owner = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid };
    const body = {
      metadata: { ownerReferences: [owner] },
      // An explicit null takes a key out of what is there (RFC 7396).
      spec: {
        nodeUID: node.uid,
        neededAddresses: { ipv4: null, ipv6: null, ...spec.neededAddresses },
        releases: spec.releases,
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
          metadata: { name: node.name, ownerReferences: [owner] },
          spec: { nodeUID: node.uid, ...spec },
        },
        { signal },
      );
      this.#statusWritten = '';
    }
  }
}

const hijacksText = ({ status }: ReportContent) => JSON.stringify(status.hijacks ?? []);
