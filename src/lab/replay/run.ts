/** Runs a story on a lab: step by step, with what was expected and what was seen. */
import { describeError } from '../../base/errors.ts';
import type { Lab } from '../lab.ts';
import type { HeldRoute } from '../routers/router.ts';
import type { Software } from '../topology.ts';
import type { Expectation, Observation } from './observation.ts';
import type { PingCount } from './ping-tally.ts';
import { Stage, type TimedRouteEvent } from './stage.ts';
import type { Step, Story } from './story.ts';

export interface Verdict {
  readonly what: string;
  readonly ok: boolean;
  /** Why not. */
  readonly why?: string;
}

export interface StepReport {
  readonly title: string;
  readonly atSeconds: number;
  /** From the end of the act until everything waited for was so; absent if nothing was. */
  readonly convergedSeconds?: number;
  readonly expectations: readonly Verdict[];
  readonly routers: Readonly<Record<string, readonly HeldRoute[]>>;
  readonly routeEvents: ReadonlyArray<{
    readonly atSeconds: number;
    readonly router: string;
    readonly change: 'set' | 'removed';
    readonly prefix: string;
    readonly nextHop: string;
  }>;
  readonly traces: Readonly<Record<string, readonly string[]>>;
  readonly pings: Readonly<Record<string, PingCount>>;
}

export interface ReplayReport {
  readonly kind: 'LabReplay';
  readonly name: string;
  readonly about: string;
  readonly lab: string;
  readonly topology: string;
  readonly software: readonly Software[];
  readonly ok: boolean;
  readonly seconds: number;
  readonly steps: readonly StepReport[];
  readonly pings: ReturnType<Stage['totals']>;
  /** What the story has measured. */
  readonly figures: Readonly<Record<string, number>>;
  readonly nodes: Readonly<Record<string, string>>;
  /** Why the lab could not be brought back to where it was, if so. */
  readonly notRestored?: string;
}

interface ReplayOptions {
  /** How long a step may take to come to rest; one that needs longer has failed. */
  readonly patienceMs: number;
  onStep(step: StepReport, nodes: Readonly<Record<string, string>>): void;
}

export async function replay(
  lab: Lab,
  story: Story,
  options: ReplayOptions,
): Promise<ReplayReport> {
  const stage = await Stage.open(lab);
  const start = performance.now();
  const steps: StepReport[] = [];
  let nodes: Record<string, string> = {};
  try {
    for (const step of story.steps) {
      const done = await runStep(stage, step, start, options.patienceMs);
      nodes = { ...done.nodeOf };
      steps.push(done.report);
      options.onStep(done.report, nodes);
      // What follows would only repeat the failure in other words.
      if (done.report.expectations.some(({ ok }) => !ok)) break;
    }
    const pings = stage.totals();
    const ok = steps.every(({ expectations }) => expectations.every((one) => one.ok));
    let leftAs: string | undefined;
    try {
      await story.restore?.(stage);
    } catch (error) {
      leftAs = describeError(error);
    }
    return {
      kind: 'LabReplay',
      name: story.name,
      about: story.about,
      lab: lab.name,
      topology: lab.topology.name,
      software: [...new Set(Object.values(lab.manifest.software))],
      ok,
      seconds: round((performance.now() - start) / 1000),
      steps,
      pings,
      figures: stage.figures,
      nodes,
      ...(leftAs === undefined ? {} : { notRestored: leftAs }),
    };
  } finally {
    stage.close();
  }
}

async function runStep(stage: Stage, step: Step, startMs: number, patienceMs: number) {
  stage.beginStep();
  const atSeconds = round((performance.now() - startMs) / 1000);
  const { until = [], after = [] } = step;
  const broken: Verdict[] = [];
  try {
    await step.act(stage);
  } catch (error) {
    broken.push({ what: 'what the step does can be done', ok: false, why: describeError(error) });
  }
  const actedMs = performance.now();
  let seen = await stage.observe();
  const isSo = (observed: Observation) => until.every((one) => one.judge(observed) === undefined);
  while (broken.length === 0 && !isSo(seen) && performance.now() - actedMs < patienceMs) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    seen = await stage.observe();
  }
  const convergedSeconds = round((performance.now() - actedMs) / 1000);
  await stage.endStep();
  if (broken.length === 0) await step.measure?.(stage);
  const last = await stage.observe();
  const report: StepReport = {
    title: step.title,
    atSeconds,
    ...(until.length === 0 ? {} : { convergedSeconds }),
    expectations: [
      ...broken,
      ...until.map((one) => verdict(one, seen)),
      ...after.map((one) => verdict(one, last)),
    ],
    routers: last.routers,
    routeEvents: stage.routeEvents.map((event) => timed(event, startMs)),
    traces: last.traces,
    pings: Object.fromEntries(last.pods.map(({ name, pings }) => [name, pings])),
  };
  return { report, nodeOf: last.nodeOf };
}

function verdict({ what, judge }: Expectation, seen: Observation): Verdict {
  const why = judge(seen);
  return why === undefined ? { what, ok: true } : { what, ok: false, why };
}

function timed({ atMs, router, change, prefix, nextHop }: TimedRouteEvent, startMs: number) {
  return { atSeconds: round((atMs - startMs) / 1000), router, change, prefix, nextHop };
}

function round(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}
