/**
 * Where a scenario is played: a cluster, pings without end between everything that must go
 * on answering, and the checks after every step. What does not hold is collected, so that a
 * run tells all of it.
 */
import { join } from 'node:path';
import { PingStream } from '../../src/lab/replay/ping-stream.ts';
import { eventually, pause } from '../world/eventually.ts';
import { CiliumCluster, type Finding } from './cluster.ts';
import type { Site } from './config.ts';
import type { Pod } from './pods.ts';

/** Does something to the cluster, and says what, for the page; then all checks are made. */
export type Step = (stage: Stage) => Promise<string>;

export interface Scenario extends Site {
  readonly name: string;
  readonly what: string;
  readonly steps: readonly Step[];
}

export interface Played {
  readonly scenario: string;
  readonly steps: readonly string[];
  readonly failures: readonly string[];
  readonly pings: { readonly sent: number; readonly lost: number };
  /** The most that was seen at the end of any step. */
  readonly inTwoPlaces: number;
  readonly findings: readonly string[];
  readonly routes: number;
  readonly seconds: number;
}

export interface Expected {
  /** `Reason of NODE`, each finding of the doctor. Default: none. */
  readonly findings?: readonly string[];
  /** What the router holds. Default: every CiliumNode's block by its node. */
  readonly table?: readonly string[];
}

/** Where Cilium announces no pods, only pods among themselves can answer. */
type PingFrom = 'router and pods' | 'pods';

const findingWords = ({ reason, node }: Finding): string =>
  node === undefined ? reason : `${reason} of ${node}`;

export class Stage {
  readonly cluster: CiliumCluster;
  /** What is right from here on; `undefined`: nothing more is checked. */
  expected: Expected | undefined = {};
  pingsFrom: PingFrom = 'router and pods';
  #cadastreFlags: string[] = [];
  readonly #say: (words: string) => void;
  readonly #steps: string[] = [];
  readonly #failures: string[] = [];
  readonly #streams: Array<{ stream: PingStream; namespace: string; pod: string; from: number }> =
    [];
  readonly #findings = new Set<string>();
  #sent = 0;
  #lost = 0;
  #inTwoPlaces = 0;
  #routes = 0;

  private constructor(cluster: CiliumCluster, say: (words: string) => void) {
    this.cluster = cluster;
    this.#say = say;
  }

  static async play(
    scenario: Omit<Scenario, 'what'>,
    cilium: string,
    say: (words: string) => void,
  ): Promise<Played> {
    return CiliumCluster.use(cilium, scenario, async (cluster) => {
      const start = performance.now();
      const stage = new Stage(cluster, (words) => say(`${scenario.name}: ${words}`));
      try {
        for (const step of scenario.steps) await stage.#take(step);
        await stage.endPings();
      } catch (error) {
        stage.fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
        stage.#say(await cluster.routes());
      } finally {
        for (const { stream } of stage.#streams) stream.close();
      }
      if (stage.#failures.length > 0) {
        const folder = join('artefacts/cilium', scenario.name);
        cluster.keepLogs(folder);
        say(`${scenario.name}: the logs are in ${folder}`);
      }
      return stage.#played(scenario.name, start);
    });
  }

  async #take(step: Step): Promise<void> {
    const words = await step(this);
    this.step(words);
    if (this.expected !== undefined) await this.checkAll(words, this.expected);
  }

  #played(scenario: string, start: number): Played {
    return {
      scenario,
      steps: this.#steps,
      failures: this.#failures,
      pings: { sent: this.#sent, lost: this.#lost },
      inTwoPlaces: this.#inTwoPlaces,
      findings: [...this.#findings].sort(),
      routes: this.#routes,
      seconds: (performance.now() - start) / 1000,
    };
  }

  /** Goes into the page: what was done, and a figure where there is one. */
  step(words: string): void {
    this.#steps.push(words);
    this.#say(words);
  }

  fail(words: string): void {
    this.#failures.push(words);
    this.#say(`NOT RIGHT: ${words}`);
  }

  check(isRight: boolean, words: string): void {
    if (!isRight) this.fail(words);
  }

  /** Cadastre's operator; started again, it gets the same flags. */
  async startCadastre(flags: readonly string[] = this.#cadastreFlags): Promise<void> {
    this.#cadastreFlags = [...flags];
    await this.cluster.world.leader(this.#cadastreFlags);
  }

  async restartCadastre(): Promise<void> {
    await this.cluster.world.stopOperators();
    await this.startCadastre();
  }

  async podOnEach(): Promise<void> {
    const names = [...this.cluster.machines.keys()];
    await Promise.all(names.map((node) => this.cluster.pods.start(`steady-${node}`, node)));
    await this.whenAnnounced();
    await this.pingSteadily([...this.cluster.pods.running.values()]);
  }

  /** Pods that are pinged. Others only fill a block. */
  get steadyPods(): Pod[] {
    return [...this.cluster.pods.running.values()].filter(({ name }) => name.startsWith('steady'));
  }

  /** Until the router leads every block to its node, or holds what else is right. */
  async whenAnnounced(withinMs = 30_000): Promise<void> {
    await eventually(
      async () => {
        const [table, wanted] = await Promise.all([
          this.cluster.fabric.table(),
          this.expected?.table ?? this.blockTable(),
        ]);
        if (table.join() !== wanted.join()) {
          throw new Error(`the router holds ${table.join('; ')}, wanted ${wanted.join('; ')}`);
        }
      },
      { withinMs },
    );
  }

  /** By node. With delegated IPAM no record of Cilium's has any: the register's. */
  async blocks(): Promise<Record<string, string[]>> {
    const { cluster } = this;
    if (cluster.config.ipam !== 'delegated-plugin') return cluster.blocks();
    const held: Record<string, string[]> = {};
    for (const { spec } of await cluster.world.blocks()) {
      if (spec.phase !== 'Active' || spec.node === undefined) continue;
      held[spec.node.name] = [...(held[spec.node.name] ?? []), spec.cidr];
    }
    return held;
  }

  /** What the router is to hold if every node announces the blocks of its CiliumNode. */
  async blockTable(): Promise<string[]> {
    const blocks = await this.blocks();
    return Object.entries(blocks)
      .flatMap(([node, cidrs]) =>
        cidrs.map((cidr) => {
          const { address, address6 } = this.cluster.machine(node);
          return `${cidr} via ${cidr.includes(':') ? address6 : address}`;
        }),
      )
      .sort();
  }

  /** The router to each pod, and each pod to the next. None of these pods moves. */
  async pingSteadily(pods: readonly Pod[], withinMs = 30_000): Promise<void> {
    const begin = (namespace: string, address: string, pod: string) => {
      const stream = new PingStream(namespace, address);
      this.#streams.push({ stream, namespace, pod, from: 0 });
    };
    for (const [at, pod] of pods.entries()) {
      if (this.pingsFrom === 'router and pods') {
        for (const to of pod.addresses) begin(this.cluster.fabric.namespace, to, pod.name);
      }
      const next = pods[(at + 1) % pods.length]!;
      if (next === pod) continue;
      for (const to of next.addresses) begin(pod.namespace, to, pod.name);
    }
    await eventually(
      () => {
        const silent = this.#streams.filter(({ stream }) => !stream.isAnswering);
        for (const one of silent) {
          // The router's kernel had no route yet, though FRR did.
          if (one.from > 0 || !one.stream.hasEnded) continue;
          one.stream = new PingStream(one.namespace, one.stream.address);
        }
        if (silent.length > 0) {
          throw new Error(
            `no answer from ${silent.map(({ stream }) => stream.address).join(', ')}`,
          );
        }
      },
      { withinMs },
    );
    // What was sent before everything was there is not lost.
    for (const one of this.#streams) {
      if (pods.some(({ name }) => name === one.pod) && one.from === 0) one.from = one.stream.mark;
    }
  }

  /** Counts what was lost since they began, and ends them. */
  async endPings(isLossRight = false): Promise<{ sent: number; lost: number }> {
    const counts: Array<{ sent: number; lost: number; address: string }> = [];
    await pause(300);
    for (const { stream, from } of this.#streams) {
      const to = stream.mark;
      await stream.settled(from, to);
      counts.push({ ...stream.count(from, to), address: stream.address });
      stream.close();
    }
    this.#streams.length = 0;
    const sum = (key: 'sent' | 'lost') => counts.reduce((all, count) => all + count[key], 0);
    const [sent, lost] = [sum('sent'), sum('lost')];
    this.#sent += sent;
    if (!isLossRight) {
      this.#lost += lost;
      for (const count of counts.filter((one) => one.lost > 0)) {
        this.fail(`${count.lost} of ${count.sent} pings to ${count.address} lost`);
      }
    }
    return { sent, lost };
  }

  /** What must hold after every step. */
  async checkAll(after: string, expected: Expected): Promise<void> {
    const { cluster } = this;
    const doubled = await cluster.pods.inTwoPlaces();
    this.#inTwoPlaces = Math.max(this.#inTwoPlaces, doubled.length);
    this.check(doubled.length === 0, `${after}: in two places: ${doubled.join('; ')}`);
    const wanted = expected.table ?? (await this.blockTable());
    let table: string[] = [];
    try {
      await eventually(
        async () => {
          table = await cluster.fabric.table();
          if (table.join() !== [...wanted].sort().join()) throw new Error('another table');
        },
        { withinMs: 30_000 },
      );
    } catch {
      this.fail(`${after}: the router holds ${table.join('; ')}; right is ${wanted.join('; ')}`);
    }
    this.#routes = table.length;
    const right = [...(expected.findings ?? [])].sort();
    const found = await this.#findingsOnceSettled(right);
    for (const words of found) this.#findings.add(words);
    this.check(
      found.join() === right.join(),
      `${after}: the doctor finds ${found.join('; ') || 'nothing'}; true is ${right.join('; ') || 'nothing'}`,
    );
  }

  /** What is under way right after a step (a session that comes up) is true, but only then. */
  async #findingsOnceSettled(right: readonly string[]): Promise<string[]> {
    const deadline = performance.now() + 15_000;
    for (;;) {
      const found = (await this.cluster.doctor()).map(findingWords).sort();
      if (found.join() === right.join() || performance.now() > deadline) return found;
      await pause(1000);
    }
  }

  /** Seconds that the work took. */
  async timed(work: () => Promise<unknown>): Promise<string> {
    const start = performance.now();
    await work();
    return `${((performance.now() - start) / 1000).toFixed(1)} s`;
  }
}
