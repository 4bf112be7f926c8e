/**
 * When this node last had a session with a router, and when the API server last confirmed its
 * blocks: over restarts of the agent by the clock of the boot, which no other clock can move.
 * What another boot saw counts for nothing, because a machine may be off for any time.
 */
import { dirname, join } from 'node:path';
import type { BootClock } from '../base/boot-clock.ts';
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { DurableFiles } from '../base/journal/durable-files.ts';
import type { Log } from '../base/log.ts';

interface LastContactOptions {
  files: DurableFiles;
  clock: Clock;
  boot: BootClock;
  log: Log;
  folder: string;
}

/** Milliseconds since that boot. */
interface ContactText {
  boot: string;
  upMs?: number;
  confirmedMs?: number;
}

export class LastContact {
  readonly #o: LastContactOptions;
  readonly #path: string;
  /** In this process's monotonic time, as everything here. */
  #upMs: number | undefined;
  /** A session was lost for longer than the limit, and is back: when the time without one began. */
  #lostSinceMs: number | undefined;
  /** What is on disk. */
  #saved: { upMs?: number | undefined; confirmedMs?: number | undefined } = {};

  constructor(options: LastContactOptions) {
    this.#o = options;
    this.#path = join(options.folder, 'last-contact.json');
  }

  /** What an earlier run of this boot has left; undefined: the machine was booted since, or it is the first run. */
  async load(): Promise<{ confirmedMs: number | undefined } | undefined> {
    const { files, boot, clock, log } = this.#o;
    try {
      const bytes = await files.read(this.#path);
      if (bytes === undefined) return undefined;
      const read = JSON.parse(Buffer.from(bytes).toString('utf8')) as ContactText;
      if (read.boot !== boot.bootId || boot.bootId === '-') return undefined;
      const offsetMs = clock.monotonicMs() - boot.sinceBootMs();
      const here = (ms: number | undefined) => (ms === undefined ? undefined : ms + offsetMs);
      this.#upMs = here(read.upMs);
      return { confirmedMs: here(read.confirmedMs) };
    } catch (error) {
      const fields = { path: this.#path, error: describeError(error) };
      log.warn(fields, 'the time of the last contact cannot be read from disk; it is ignored');
      return undefined;
    }
  }

  /**
   * To be called every second: a session is known to be up only at the moment of a look, so that
   * a process that was frozen, or a session that came back in between, is noticed.
   */
  look(lastUpMs: number | undefined, limitMs: number): number | undefined {
    const nowMs = this.#o.clock.monotonicMs();
    const isUp = lastUpMs === Number.POSITIVE_INFINITY;
    if (isUp) {
      const beforeMs = this.#upMs ?? Number.NEGATIVE_INFINITY;
      if (nowMs - beforeMs > limitMs) this.#lostSinceMs ??= beforeMs;
      this.#upMs = nowMs;
    } else if (lastUpMs !== undefined) {
      this.#upMs = Math.max(lastUpMs, this.#upMs ?? lastUpMs);
    }
    return this.#lostSinceMs ?? (isUp ? Number.POSITIVE_INFINITY : this.#upMs);
  }

  /** What was lost for long has been judged: what follows is in the judgement from now on. */
  judged(): void {
    this.#lostSinceMs = undefined;
  }

  /** Not before it is news by so much: what is lost of it only makes the next run more careful. */
  async save(confirmedMs: number | undefined, everyMs: number): Promise<void> {
    const { files, boot, clock, log } = this.#o;
    const isNews = (next = Number.NEGATIVE_INFINITY, saved = Number.NEGATIVE_INFINITY) =>
      next - saved >= everyMs;
    // A loss that nobody has judged yet must not be forgotten with this process.
    const lastMs = this.#lostSinceMs ?? this.#upMs;
    const upMs = lastMs === Number.NEGATIVE_INFINITY ? undefined : lastMs;
    const { upMs: savedUpMs, confirmedMs: savedConfirmedMs } = this.#saved;
    if (!isNews(upMs, savedUpMs) && !isNews(confirmedMs, savedConfirmedMs)) return;
    this.#saved = { upMs, confirmedMs };
    const offsetMs = boot.sinceBootMs() - clock.monotonicMs();
    const text: ContactText = {
      boot: boot.bootId,
      ...(upMs === undefined ? {} : { upMs: upMs + offsetMs }),
      ...(confirmedMs === undefined ? {} : { confirmedMs: confirmedMs + offsetMs }),
    };
    const next = `${this.#path}.next`;
    try {
      await files.remove(next);
      const file = await files.open(next);
      try {
        await file.write(Buffer.from(JSON.stringify(text)), 0);
      } finally {
        await file.close();
      }
      await files.rename(next, this.#path);
      await files.syncDirectory(dirname(this.#path));
    } catch (error) {
      log.warn({ error: describeError(error) }, 'the time of the last contact was not written');
    }
  }
}
