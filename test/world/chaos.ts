import { cpSync } from 'node:fs';
import type { Faults } from '../parts/fault-proxy.ts';
import { seededRandom } from '../parts/seeded-random.ts';
import { audit, type Expectations, mustBeSound, type Verdict } from './audit.ts';
import { Churn, type Rack } from './churn.ts';
import type { Cluster } from './cluster.ts';
import { Crew, type CrewPlan, type Strike, type StrikePlan } from './crew.ts';
import { eventually, pause } from './eventually.ts';
import { type PoolSpec, paths } from './objects.ts';
import { type Testimony, Witness } from './witness.ts';

/**
 * Everything at once: replicas of the operator that are killed, frozen past
 * their lease and woken as zombies, or stopped and started, over and over,
 * while nodes join en masse and never rest, and if wanted with an API server
 * that lies. Afterwards all of that ends, the cluster settles, and three judges
 * speak: the auditor about the end, the witness about every moment, and the
 * exit codes about the replicas themselves.
 */
export interface ChaosPlan extends CrewPlan, StrikePlan {
  /** Nodes that appear at once at the start. */
  joiners: number;
  /** Deeds of the churn a second. */
  deedsPerSecond: number;
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
    await crew.strikeUntil(plan, stop.signal, {
      isEnough: () => hasMetAll(crew, churn, witness, plan),
      say: () => plan.say?.(`${crew.summary()}, ${churn.living} nodes live`),
    });
    stop.abort();
    await churning;
    await churn.settle();
    await crew.calm();
    plan.say?.('all calm; waiting until it is settled');

    const calmMs = performance.now();
    const expectations: Expectations = { mayKeepFrom: churn.mayKeepFrom };
    const isSettled = async () => {
      await sayMachinesAreOff(cluster);
      const { cooling } = await mustBeSound(cluster, expectations).catch((error) => {
        plan.say?.((error as Error).message.split('\n', 2).join(''));
        throw error;
      });
      if (cooling > 0) throw new Error(`${cooling} blocks still cool`);
    };
    const withinMs = plan.settleWithinMs ?? 60_000;
    await eventually(isSettled, { withinMs, everyMs: 1_000 });
    const settledSeconds = (performance.now() - calmMs) / 1_000;
    const mark = cluster.requests.mark();
    await pause(2_000);
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

/** A short run goes on a little longer rather than miss something by chance. */
function hasMetAll(crew: Crew, churn: Churn, witness: Witness, plan: ChaosPlan): boolean {
  const { freeze: _, ...faults } = crew.faults();
  const isFaulty = plan.faults === undefined || Object.values(faults).every((count) => count > 0);
  const isLively = Object.values(churn.counts).every((count) => count > 0);
  return isFaulty && isLively && witness.returns > 0;
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

/** Nodes went before their agents could say a word, or were made anew: a person looks after them. */
async function sayMachinesAreOff(cluster: Cluster): Promise<void> {
  for (const { metadata, spec } of await cluster.blocks()) {
    if (spec.phase !== 'Cooling' || spec.released !== undefined) continue;
    const { name, uid, resourceVersion } = metadata;
    const released = { by: 'Administrator', detail: 'the story is over' };
    // Refused if the operator was faster.
    await cluster.call('PATCH', `${paths.blocks}/${name}`, {
      metadata: { uid, resourceVersion },
      spec: { released },
    });
  }
}
