import type { NodeReport } from '../model/node-report.ts';
import type { ReportedPromises } from '../plan/node/block-use.ts';

type Promises = Required<Pick<NodeReport, 'fenced' | 'silentAfter'>>;

/** What the API server has accepted of this node's reports: others act on it from then on. */
export class AcceptedReport implements ReportedPromises {
  hasReported = false;
  silentAfter: ReadonlyMap<string, number> | undefined;
  #firstMs: number | undefined;
  /** By uid, fences that it may have: accepted, or sent with an unknown outcome. */
  readonly #fenced = new Set<string>();
  readonly #unfencedMs = new Map<string, number>();

  /** About to be sent: from here on the API server may have it. */
  sending({ fenced }: Promises): void {
    for (const { uid } of fenced) {
      this.#fenced.add(uid);
      this.#unfencedMs.delete(uid);
    }
  }

  accepted({ fenced, silentAfter }: Promises, nowMs: number): void {
    const now = new Set(fenced.map(({ uid }) => uid));
    for (const uid of this.#fenced) {
      if (now.has(uid)) continue;
      this.#fenced.delete(uid);
      this.#unfencedMs.set(uid, nowMs);
    }
    this.#firstMs ??= nowMs;
    this.hasReported = true;
    this.silentAfter = new Map(silentAfter.map(({ uid, seconds }) => [uid, seconds]));
  }

  unfencedMs(uid: string): number | undefined {
    if (this.#fenced.has(uid)) return undefined;
    // A fence of an earlier run is gone with the first report of this one that does not name it.
    return this.#unfencedMs.get(uid) ?? this.#firstMs;
  }
}
