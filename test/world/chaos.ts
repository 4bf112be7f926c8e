import { cpSync } from 'node:fs';
import { audit, type Expectations, mustBeSound, type Verdict } from './audit.ts';
import { Churn, type Rack } from './churn.ts';
import { type Cluster, shortLease } from './cluster.ts';
import { eventually, pause } from './eventually.ts';
import { type FaultProxy, type Faults, noFaults, startFaultProxy } from './fault-proxy.ts';
import type { PoolSpec } from './objects.ts';
import type { OperatorProcess } from './operator-process.ts';
import { seededRandom } from './seeded-random.ts';
import { type Testimony, Witness } from './witness.ts';

/**
 * Everything at once: replicas of the operator that are killed, frozen past
 * their lease and woken as zombies, or stopped and started, over and over,
 * while nodes join en masse and never rest, and if wanted with an API server
 * that lies. Afterwards all of that ends, the cluster settles, and three judges
 * speak: the auditor about the end, the witness about every moment, and the
 * exit codes about the replicas themselves.
 */
export interface ChaosPlan {
  seed: number;
  /** Nodes that appear at once at the start. */
  joiners: number;
  /** Kills, freezes and restarts, all in all. */
  strikes: number;
  /** Deeds of the churn a second. */
  deedsPerSecond: number;
  replicas?: number;
  /** From one strike to the next, on average. */
  everyMs?: number;
  /** Through one lying proxy a replica. */
  faults?: Partial<Faults>;
  /** Shown now and then, for runs of minutes. */
  say?: (line: string) => void;
  settleWithinMs?: number;
}

export interface ChaosReport {
  strikes: Record<Strike, number>;
  leadersStruck: number;
  faults: Faults;
  churn: Churn['counts'];
  /** Nodes that were ever in one rack only: for them exactly one pool is right. */
  faithful: number;
  testimony: Testimony;
  verdict: Verdict;
  /** By the API server's word. */
  blockCreates: number;
  blockCollisions: number;
  conflicts: number;
  leaders: number;
  /** Replicas that ended by themselves. */
  crashes: string[];
  /** Writes of the operators in a few seconds after all was settled. */
  writesAtRest: number;
  settledSeconds: number;
  tookSeconds: number;
}

/** `cutOff`: it runs, but nothing comes or goes between it and the API server for a while. */
export type Strike = 'killed' | 'frozen' | 'restarted' | 'cutOff';

interface Pools {
  racks: Map<string, Rack>;
  specs: Map<string, PoolSpec>;
}

/** One wide pool, one of both families, and one so tight that blocks are always waited for. */
function landscape(nodes: number): Pools {
  const rack = (name: string) => ({ nodeSelector: { matchLabels: { rack: name } } });
  const tight = 2 ** Math.max(4, Math.ceil(Math.log2(nodes / 8)));
  const specs = new Map<string, PoolSpec>([
    [
      'pool-wide',
      { cidrs: ['10.16.0.0/12'], blockSize: { ipv4: 24 }, cooldownSeconds: 3, ...rack('wide') },
    ],
    [
      'pool-dual',
      {
        cidrs: ['10.32.0.0/13', 'fd00:32::/48'],
        blockSize: { ipv4: 26, ipv6: 64 },
        cooldownSeconds: 4,
        ...rack('dual'),
      },
    ],
    [
      'pool-tight',
      {
        cidrs: [`10.48.0.0/${24 - Math.log2(tight)}`],
        blockSize: { ipv4: 24 },
        cooldownSeconds: 2,
        ...rack('tight'),
      },
    ],
  ]);
  const racks = new Map<string, Rack>([
    ['wide', { pool: 'pool-wide', most: nodes }],
    ['dual', { pool: 'pool-dual', most: nodes }],
    ['tight', { pool: 'pool-tight', most: Math.floor(tight * 0.9) }],
  ]);
  return { racks, specs };
}

export async function runChaos(cluster: Cluster, plan: ChaosPlan): Promise<ChaosReport> {
  const startedMs = performance.now();
  const random = seededRandom(plan.seed);
  const { racks, specs } = landscape(plan.joiners * 1.5);
  const witness = await Witness.start(cluster.api);
  for (const [name, spec] of specs) await cluster.createPool(name, spec);
  const churn = new Churn(cluster, racks, random);
  const crew = await Crew.start(cluster, plan, random);
  const stop = new AbortController();
  try {
    await crew.whenSomebodyLeads();
    const joining = churn.massJoin(plan.joiners);
    const churning = joining.then(() => churn.run(stop.signal, plan.deedsPerSecond));
    // Whatever goes wrong with the churn must not be lost while the strikes go on.
    churning.catch(() => stop.abort());
    await crew.strikeUntil(plan, stop.signal, () =>
      plan.say?.(`${crew.summary()}, ${churn.living} nodes live`),
    );
    stop.abort();
    await churning;
    await churn.settle();
    await crew.calm();
    plan.say?.('all calm; waiting until it is settled');

    const calmMs = performance.now();
    const expectations: Expectations = { mayKeepFrom: churn.mayKeepFrom };
    const isSettled = async () => {
      const { cooling } = await mustBeSound(cluster, expectations);
      if (cooling > 0) throw new Error(`${cooling} blocks still cool`);
    };
    const withinMs = plan.settleWithinMs ?? 60_000;
    await eventually(isSettled, { withinMs, everyMs: 500 });
    const settledSeconds = (performance.now() - calmMs) / 1_000;
    const mark = cluster.requests.mark();
    await pause(3_000);
    const writesAtRest = cluster.requests
      .ofOperators(mark)
      .filter(({ resource }) => resource !== 'events').length;
    const verdict = await audit(cluster, expectations);
    const faults = crew.faults();
    await crew.stop();
    const testimony = await witness.testify((pool) => specs.get(pool)?.cooldownSeconds ?? 300);
    const tally = await cluster.requests.tally();
    return {
      strikes: crew.strikes,
      leadersStruck: crew.leadersStruck,
      faults,
      churn: churn.counts,
      faithful: churn.faithful,
      testimony,
      verdict,
      blockCreates: tally.get('create nodeblocks 201') ?? 0,
      blockCollisions: tally.get('create nodeblocks 409') ?? 0,
      conflicts: [...tally].reduce((sum, [key, n]) => sum + (/ 409$/.test(key) ? n : 0), 0),
      leaders: ((await cluster.lease())?.spec.leaseTransitions ?? 0) + 1,
      crashes: crew.crashes,
      writesAtRest,
      settledSeconds,
      tookSeconds: (performance.now() - startedMs) / 1_000,
    };
  } catch (error) {
    const kept = `artefacts/chaos-${plan.seed}`;
    cpSync(cluster.dir, kept, { recursive: true });
    throw new Error(`${(error as Error).message}\nThe logs of all replicas are in ${kept}`);
  } finally {
    stop.abort();
    await crew.stop();
  }
}

/** The one line that a run is remembered by. */
export function chaosLine(name: string, report: ChaosReport): string {
  const { strikes, churn, faults, testimony, verdict } = report;
  const struck = Object.values(faults).reduce((sum, count) => sum + count, 0);
  const byKind = Object.entries(faults)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${kind} ${count}`);
  const seen = testimony.counted;
  return [
    `${name}: ${strikes.killed} kills, ${strikes.frozen} freezes, ${strikes.restarted} restarts, ${strikes.cutOff} cut off`,
    `(${report.leadersStruck} of them leaders, ${report.leaders} leaders in all)`,
    `${struck} faults${byKind.length > 0 ? ` (${byKind.join(', ')})` : ''}`,
    `${seen.nodesBorn} nodes born, ${seen.nodesGone} gone (${churn.returned} returned, ${churn.replaced} replaced, ${churn.relabelled} relabelled, ${churn.lingered} lingered)`,
    `${seen.blocksMade} blocks made, ${seen.cooled} cooled, ${seen.returned} given back, ${seen.blocksFreed} freed`,
    `${report.blockCollisions} collisions and ${report.conflicts} conflicts answered, ${seen.surplus} surplus`,
    `at the end ${verdict.counted.nodes} nodes, ${verdict.counted.served} served, settled in ${report.settledSeconds.toFixed(1)} s`,
    `${verdict.complaints.length + testimony.complaints.length} complaints, ${report.crashes.length} crashes, ${report.tookSeconds.toFixed(0)} s`,
  ].join('; ');
}

interface Member {
  operator: OperatorProcess;
  proxy: FaultProxy | undefined;
  kubeconfigPath: string;
}

/** The replicas, and what is done to them. */
class Crew {
  readonly strikes: Record<Strike, number> = { killed: 0, frozen: 0, restarted: 0, cutOff: 0 };
  readonly crashes: string[] = [];
  leadersStruck = 0;
  readonly #deck: Strike[] = [];
  readonly #cluster: Cluster;
  readonly #random: () => number;
  readonly #members: Member[] = [];
  readonly #thawing = new Set<Promise<void>>();

  private constructor(cluster: Cluster, random: () => number) {
    this.#cluster = cluster;
    this.#random = random;
  }

  static async start(cluster: Cluster, plan: ChaosPlan, random: () => number): Promise<Crew> {
    const crew = new Crew(cluster, random);
    for (let at = 0; at < (plan.replicas ?? 3); at++) {
      const proxy =
        plan.faults === undefined
          ? undefined
          : await startFaultProxy({
              target: cluster.api,
              seed: plan.seed + at,
              // Longer than a lease: what is held up so long is written when another leads.
              delayMs: 3_500,
              freezeMs: 3_500,
            });
      const kubeconfigPath =
        proxy === undefined ? cluster.api.kubeconfigPath : cluster.kubeconfigFor(proxy.url);
      const operator = await cluster.operator(shortLease, { kubeconfigPath });
      crew.#members.push({ operator, proxy, kubeconfigPath });
      // Honest until it is up: the story is about operators that run.
      await operator.whenSynced();
      if (plan.faults !== undefined) proxy?.set(plan.faults);
    }
    return crew;
  }

  async whenSomebodyLeads(): Promise<void> {
    await eventually(async () => {
      const holder = (await this.#cluster.lease())?.spec.holderIdentity;
      if (!holder) throw new Error('nobody leads');
    });
  }

  faults(): Faults {
    const total = { ...noFaults };
    for (const { proxy } of this.#members) {
      for (const [kind, count] of Object.entries(proxy?.counts ?? {})) {
        total[kind as keyof Faults] += count;
      }
    }
    return total;
  }

  summary(): string {
    const { killed, frozen, restarted, cutOff } = this.strikes;
    return `${killed} kills, ${frozen} freezes, ${restarted} restarts, ${cutOff} cut off`;
  }

  async strikeUntil(
    { strikes, everyMs = 1_500 }: ChaosPlan,
    signal: AbortSignal,
    say: () => void,
  ): Promise<void> {
    while (this.#struck() < strikes && !signal.aborted) {
      // Squared: often right after the last one, sometimes long enough to get going.
      await pause(this.#random() ** 2 * 3 * everyMs);
      const before = this.#struck();
      await this.#strike();
      if (this.#struck() > before && this.#struck() % 20 === 0) say();
    }
  }

  #struck(): number {
    return Object.values(this.strikes).reduce((sum, count) => sum + count, 0);
  }

  async #strike(): Promise<void> {
    this.#lookForCrashes();
    const awake = this.#members.filter(({ operator }) => !operator.isFrozen);
    // One is always left that could lead.
    if (awake.length < 2) {
      await Promise.race(this.#thawing);
      return;
    }
    const leader = this.#random() < 0.75 ? await this.#awakeLeader() : undefined;
    const member = leader ?? awake[Math.floor(this.#random() * awake.length)]!;
    if (leader !== undefined) this.leadersStruck += 1;
    const strike = this.#nextStrike(member);
    this.strikes[strike] += 1;
    if (strike === 'restarted') await this.#restart(member);
    else if (strike === 'killed') await this.#kill(member);
    else if (strike === 'frozen') this.#freeze(member);
    else this.#cutOff(member);
  }

  /** From a shuffled deck, so that a short run has some of each. */
  #nextStrike({ proxy }: Member): Strike {
    if (this.#deck.length === 0) {
      const cards: Strike[] = ['killed', 'killed', 'frozen', 'frozen', 'restarted'];
      if (proxy !== undefined) cards.push('cutOff');
      while (cards.length > 0) {
        this.#deck.push(...cards.splice(Math.floor(this.#random() * cards.length), 1));
      }
    }
    return this.#deck.pop()!;
  }

  /** Who leads now and could be struck; waits a while for the next one to take over. */
  async #awakeLeader(): Promise<Member | undefined> {
    const find = async () => {
      const holder = (await this.#cluster.lease())?.spec.holderIdentity;
      const leader = this.#members.find(({ operator }) => operator.name === holder);
      if (leader === undefined || leader.operator.isFrozen) throw new Error('nobody leads');
      return leader;
    };
    return eventually(find, { withinMs: 4_000, everyMs: 50 }).catch(() => undefined);
  }

  async #kill(member: Member): Promise<void> {
    await member.operator.kill9();
    await this.#replace(member);
  }

  async #restart(member: Member): Promise<void> {
    await this.#stopOne(member.operator);
    await this.#replace(member);
  }

  async #replace(member: Member): Promise<void> {
    const { kubeconfigPath } = member;
    this.#cluster.operators.splice(this.#cluster.operators.indexOf(member.operator), 1);
    member.operator = await this.#cluster.operator(shortLease, { kubeconfigPath });
  }

  /** Past its lease, then awake again: a zombie that believes it leads. */
  #freeze({ operator }: Member): void {
    operator.freeze();
    this.#later(() => operator.thaw());
  }

  #cutOff({ operator, proxy }: Member): void {
    operator.isFrozen = true;
    proxy?.freeze();
    this.#later(() => {
      operator.isFrozen = false;
      proxy?.thaw();
    });
  }

  #later(undo: () => void): void {
    const thawing = pause(2_200 + this.#random() * 2_500).then(() => {
      undo();
      this.#thawing.delete(thawing);
    });
    this.#thawing.add(thawing);
  }

  #lookForCrashes(): void {
    for (const { operator } of this.#members) {
      if (!operator.isRunning) this.crashes.push(`${operator.name} ended: ${operator.ended}`);
    }
  }

  /** Nothing is done to anybody any more. */
  async calm(): Promise<void> {
    await Promise.all(this.#thawing);
    for (const { proxy } of this.#members) proxy?.calm();
    this.#lookForCrashes();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#thawing);
    for (const { operator, proxy } of this.#members.splice(0)) {
      await this.#stopOne(operator);
      await proxy?.stop();
    }
  }

  async #stopOne(operator: OperatorProcess): Promise<void> {
    if (!operator.isRunning) return;
    const end = await operator.stop();
    // A process that had not begun yet has nothing to end cleanly.
    const hadBegun = operator.readLog().length > 0;
    if (end === 'exit 0' || (end === 'SIGTERM' && !hadBegun)) return;
    this.crashes.push(`${operator.name} stopped with ${end}`);
  }
}
