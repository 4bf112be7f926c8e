import { type FaultProxy, type Faults, noFaults, startFaultProxy } from '../parts/fault-proxy.ts';
import { type Cluster, shortLease } from './cluster.ts';
import { eventually, pause } from './eventually.ts';
import type { OperatorProcess } from './operator-process.ts';

/** `cutOff`: it runs, but nothing comes or goes between it and the API server for a while. */
export type Strike = 'killed' | 'frozen' | 'restarted' | 'cutOff';

export interface CrewPlan {
  seed: number;
  replicas?: number;
  /** Through one lying proxy a replica. */
  faults?: Partial<Faults>;
  /** A lease for each replica: all of them lead, all the time. */
  allLead?: boolean;
}

export interface StrikePlan {
  /** At least so many kills, freezes and restarts … */
  strikes: number;
  /** … but no longer than this. */
  forMs?: number;
  /** From one strike to the next, on average. */
  everyMs?: number;
}

interface Member {
  operator: OperatorProcess;
  proxy: FaultProxy | undefined;
  kubeconfigPath: string;
  flags: string[];
}

/** The replicas, and what is done to them. */
export class Crew {
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

  static async start(cluster: Cluster, plan: CrewPlan, random: () => number): Promise<Crew> {
    const crew = new Crew(cluster, random);
    for (let at = 0; at < (plan.replicas ?? 3); at++) {
      crew.#members.push(await crew.#enlist(plan, at));
    }
    // Honest until they are up: the story is about operators that run.
    await Promise.all(crew.#members.map(({ operator }) => operator.whenSynced()));
    for (const { proxy } of crew.#members) proxy?.set(plan.faults ?? {});
    return crew;
  }

  async #enlist(plan: CrewPlan, at: number): Promise<Member> {
    const proxy =
      plan.faults === undefined
        ? undefined
        : await startFaultProxy({
            target: this.#cluster.api,
            seed: plan.seed + at,
            // Longer than a lease: what is held up so long is written when another leads.
            delayMs: 3_500,
            freezeMs: 3_500,
          });
    const kubeconfigPath =
      proxy === undefined
        ? this.#cluster.api.kubeconfigPath
        : this.#cluster.kubeconfigFor(proxy.url);
    const flags = plan.allLead ? [...shortLease, `--lease-name=lease-${at}`] : shortLease;
    const operator = await this.#cluster.operator(flags, { kubeconfigPath });
    return { operator, proxy, kubeconfigPath, flags };
  }

  async whenSomebodyLeads(): Promise<void> {
    await Promise.any(this.#members.map(({ operator }) => operator.whenLeading()));
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
    { strikes, everyMs = 1_500, forMs = 150_000 }: StrikePlan,
    signal: AbortSignal,
    { isEnough = () => true, say = () => {} }: { isEnough?: () => boolean; say?: () => void } = {},
  ): Promise<void> {
    const untilMs = performance.now() + forMs;
    while (!signal.aborted && performance.now() < untilMs) {
      if (this.#struck() >= strikes && isEnough()) return;
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
    const anybody = awake[Math.floor(this.#random() * awake.length)]!;
    const leader = this.#random() < 0.75 ? await this.#awakeLeader() : undefined;
    // With a lease each they all lead.
    const isLeader = leader !== undefined || anybody.flags !== shortLease;
    if (isLeader) this.leadersStruck += 1;
    const member = leader ?? anybody;
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
    if (this.#members[0]?.flags !== shortLease) return undefined;
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
    const { kubeconfigPath, flags } = member;
    this.#cluster.operators.splice(this.#cluster.operators.indexOf(member.operator), 1);
    member.operator = await this.#cluster.operator(flags, { kubeconfigPath });
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
