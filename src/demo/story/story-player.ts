/**
 * Plays the incident at two sites: step by step, or by itself with a pause after each. The
 * sites are started when somebody looks for the first time, and made anew at a reset. What
 * the page shows is read from their routers and kernels, several times a second while
 * somebody looks or a step is under way; otherwise nothing is asked.
 */
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { ConsoleStory } from '../../console/console-story.ts';
import type { StoryRow } from '../../console/story-row.ts';
import { pause } from '../../kube/backoff.ts';
import { incidentSite } from './incident-site.ts';
import { type IncidentStep, incidentSteps } from './incident-steps.ts';
import type { Side } from './site-reading.ts';
import { SiteWatch } from './site-watch.ts';
import { StorySite } from './story-site.ts';

interface StoryPlayerOptions {
  dataDir: string;
  clock: Clock;
  log: Log;
  version: string;
}

const sides: readonly Side[] = ['left', 'right'];
/** Between two pings to the same pod. */
const pingEveryMs = 250;
/** For reading what a step did, before the next one is played. */
const readMs = 6_000;
/** How long a step may take to come to rest. */
const patienceMs = 60_000;

export class StoryPlayer implements ConsoleStory {
  readonly #o: StoryPlayerOptions;
  readonly #listeners = new Set<() => void>();
  readonly #stopping = new AbortController();
  readonly #steps: readonly IncidentStep[] = incidentSteps;
  readonly #incident = incidentSite();
  #watches: Record<Side, SiteWatch>;
  #state: StoryRow['state'] = 'asleep';
  #at = 0;
  #trouble = '';
  #playing: AbortController | undefined;
  /** One act at a time, in the order in which they were asked for. */
  #acting: Promise<void> = Promise.resolve();
  #pinging: Promise<void> = Promise.resolve();
  #readers: () => number = () => 0;

  constructor(options: StoryPlayerOptions) {
    this.#o = options;
    this.#watches = this.#freshSites();
  }

  row(): StoryRow {
    return {
      trouble: this.#trouble,
      state: this.#state,
      isPlaying: this.#playing !== undefined,
      at: this.#at,
      steps: this.#steps.map(({ name, title, captions }) => ({
        name,
        title,
        captions: sides.map((side) => captions[side]),
      })),
      sites: sides.map((side) => this.#watches[side].row()),
    };
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  watchedBy(readers: () => number): void {
    this.#readers = readers;
  }

  wake(): void {
    if (this.#state !== 'asleep' || this.#stopping.signal.aborted) return;
    this.#do(() => this.#begin());
    this.#pinging = this.#ping();
  }

  /** The next step; nothing after the last one. */
  step(): Promise<void> {
    this.pause();
    this.wake();
    return this.#do(() => this.#advance());
  }

  /** From where it is; from the beginning if it has ended. */
  play(): void {
    if (this.#playing !== undefined) return;
    this.wake();
    const playing = new AbortController();
    this.#playing = playing;
    const signal = AbortSignal.any([playing.signal, this.#stopping.signal]);
    this.#notify();
    void this.#do(async () => {
      if (this.#isOver) await this.#begin();
      while (!signal.aborted && !this.#isOver) {
        await this.#advance();
        if (!this.#isOver) await pause(readMs, signal);
      }
      if (this.#playing === playing) this.pause();
    });
  }

  pause(): void {
    this.#playing?.abort();
    this.#playing = undefined;
    this.#notify();
  }

  /** Both sites anew, before anything happened. */
  reset(): Promise<void> {
    this.pause();
    return this.#do(() => this.#begin());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#playing?.abort();
    await this.#acting;
    await this.#pinging;
    await this.#stopSites();
  }

  get #isOver(): boolean {
    return this.#at === this.#steps.length - 1;
  }

  #do(act: () => Promise<void>): Promise<void> {
    this.#acting = this.#acting.then(async () => {
      if (this.#stopping.signal.aborted) return;
      try {
        await act();
      } catch (error) {
        this.#trouble = describeError(error);
        this.#o.log.error({ error: this.#trouble }, 'a step of the story failed');
      }
      this.#setState('ready');
    });
    return this.#acting;
  }

  async #begin(): Promise<void> {
    this.#setState('starting');
    await this.#stopSites();
    const watches = this.#freshSites();
    this.#watches = watches;
    this.#at = 0;
    this.#trouble = '';
    this.#notify();
    await Promise.all(sides.map((side) => watches[side].site.start()));
    await this.#settle();
    for (const side of sides) watches[side].site.startComparing();
    this.#setState('ready');
  }

  async #advance(): Promise<void> {
    const watches = this.#watches;
    const next = this.#steps[this.#at + 1];
    if (next === undefined) return;
    this.#at += 1;
    this.#trouble = '';
    this.#setState('acting');
    for (const side of sides) watches[side].beginStep();
    await next.act({ left: watches.left.site, right: watches.right.site });
    await this.#settle();
    this.#setState('ready');
  }

  /** Until everything is as the step expects it, at both sites. */
  async #settle(): Promise<void> {
    const { clock } = this.#o;
    const watches = this.#watches;
    const step = this.#steps[this.#at];
    if (step === undefined) return;
    const endMs = clock.monotonicMs() + patienceMs;
    for (const side of sides) watches[side].expect(step.expected[side]);
    for (;;) {
      await Promise.all(sides.map((side) => watches[side].ping()));
      this.#notify();
      const wrong = sides.flatMap((side) => watches[side].unmet());
      if (wrong.length === 0 || this.#stopping.signal.aborted) return;
      if (clock.monotonicMs() > endMs) {
        this.#trouble = `not as expected: ${wrong.join('; ')}`;
        return;
      }
      await pause(pingEveryMs / 5, this.#stopping.signal);
    }
  }

  /** For those who look. */
  async #ping(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await pause(pingEveryMs, signal);
      const watches = this.#watches;
      if (this.#state !== 'ready' || this.#readers() === 0) continue;
      await Promise.all(sides.map((side) => watches[side].ping()));
      this.#notify();
    }
  }

  #freshSites(): Record<Side, SiteWatch> {
    const { dataDir, ...rest } = this.#o;
    const incident = this.#incident;
    const watch = (side: Side) =>
      new SiteWatch(new StorySite({ side, incident, dataDir: join(dataDir, side), ...rest }));
    return { left: watch('left'), right: watch('right') };
  }

  async #stopSites(): Promise<void> {
    const watches = this.#watches;
    await Promise.all(sides.map((side) => watches[side].site.stop()));
  }

  #setState(state: StoryRow['state']): void {
    this.#state = state;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
