/**
 * One life of a small cluster, spelled by a list of numbers: nodes come and go,
 * return under new uids and get other labels, pools grow and are reserved,
 * disabled, deleted and made again, records of odd blocks appear, agents ask for
 * more and give back; two leaders hear of it late and in pieces, decide on what
 * they have heard, and crash between any two writes. After every step, and at the
 * end, the promises are held against the objects.
 */
import type { NodeDecision, Rules } from '../../src/plan/blocks/decide-node.ts';
import type { ProjectionSwitches } from '../../src/plan/blocks/projection.ts';
import { ApiModel, kinds, withSpec } from './api-model.ts';
import { poolSpec } from './brute-force.ts';
import { Leader } from './leader.ts';
import { nodeObject, type PoolSpec, poolObject } from './objects.ts';
import {
  Broken,
  checkApart,
  checkCuts,
  checkFound,
  checkFree,
  checkNothingLeft,
  checkRebuilt,
  checkSettled,
  Machines,
  nodeOf,
  Releases,
  specOf,
} from './promises.ts';

const nodeNames = ['n0', 'n1', 'n2'];
const labelSets = [{ rack: 'a' }, {}, { rack: 'a' }, { rack: 'b' }] as const;

/**
 * Two blocks a pool and three nodes, so that land is short and what is let go by
 * mistake is soon somebody else's. Sizes differ from pool to pool; `d` lies across
 * `a`, with blocks of the same size.
 */
const pools: Record<string, PoolSpec> = {
  a: { cidrs: ['10.0.0.0/30'], size: 31, labels: { rack: 'a' }, cooldownSeconds: 100 },
  b: { cidrs: ['10.0.0.16/29'], size: 30, priority: -1, cooldownSeconds: 100 },
  c: {
    cidrs: ['10.0.0.32/30', 'fd00::/126'],
    size: 31,
    size6: 127,
    labels: { rack: 'b' },
    priority: 1,
    cooldownSeconds: 0,
  },
  d: { cidrs: ['10.0.0.0/29'], size: 31, labels: { rack: 'b' }, cooldownSeconds: 100 },
  e: { cidrs: ['fd00::8/126'], size6: 127, priority: -2, cooldownSeconds: 100 },
};
const poolNames = Object.keys(pools);

/** What records may say a node holds: cells, odd sizes, both families, outside, nonsense. */
const records = [
  ['10.0.0.0/31'],
  ['10.0.0.2/31'],
  ['10.0.0.0/32'],
  ['10.0.0.1/32'],
  ['10.0.0.0/30'],
  ['10.0.0.4/30', 'fd00::8/127'],
  ['10.0.0.16/30'],
  ['10.0.0.17/31'],
  ['10.0.0.20/31', '10.0.0.22/31'],
  ['10.0.0.32/31', 'fd00::/127'],
  ['10.0.0.34/32'],
  ['10.9.9.0/31'],
  ['fd00::2/128'],
  ['fd00::/126', '10.0.0.16/29'],
  ['10.0.0.0/31', '10.0.0.0/32'],
  ['not a block'],
];

export interface Tally {
  sequences: number;
  steps: number;
  writes: number;
  crashes: number;
  decisions: number;
  staleDecisions: number;
  cuts: number;
  refusals: number;
  freed: number;
}

export const emptyTally = (): Tally => ({
  sequences: 0,
  steps: 0,
  writes: 0,
  crashes: 0,
  decisions: 0,
  staleDecisions: 0,
  cuts: 0,
  refusals: 0,
  freed: 0,
});

/** Lives the life that the numbers spell; throws `Broken` where a promise is not kept. */
export function live(
  numbers: readonly number[],
  byDemand: boolean,
  tally: Tally = emptyTally(),
): void {
  const [setting = 0] = numbers;
  tally.sequences++;
  const life = new Life(setting, byDemand, tally);
  for (let n = 1; n < numbers.length; n++) life.step(numbers[n]!);
  life.compare();
  // The dearest check, so every second life ends before it comes to rest.
  if (bit(setting, 23)) life.settle();
  life.windUp();
}

const bit = (number: number, at: number) => ((number >>> at) & 1) === 1;

class Life {
  readonly #api = new ApiModel();
  readonly #rules: Rules;
  readonly #switches: ProjectionSwitches;
  readonly #leaders = new Map<number, Leader>();
  readonly #tally: Tally;
  readonly #machines = new Machines(this.#api);
  readonly #releases = new Releases(this.#api, cooldownAround);
  #started = 0;
  #blockWrites = 0;

  constructor(setting: number, byDemand: boolean, tally: Tally) {
    this.#tally = tally;
    this.#rules = { families: 'auto', byDemand };
    this.#switches = {
      annotations: bit(setting, 0),
      ciliumNode: bit(setting, 1),
      nodeSpec: bit(setting, 2),
    };
    poolNames.forEach((name, n) => {
      if (bit(setting, 3 + n) === (name === 'd')) this.#makePool(name);
    });
    nodeNames.forEach((name, n) => {
      if (!bit(setting, 8 + n)) this.#makeNode(name, (setting >>> (11 + 4 * n)) & 15);
    });
    this.#start(0);
    this.#start(1);
  }

  step(number: number): void {
    this.#tally.steps++;
    const kind = number & 31;
    const index = (number >>> 5) & 1;
    const few = (number >>> 6) & 7;
    const more = (number >>> 9) & 15;
    const rest = number >>> 13;
    const leader = this.#leader(index);
    const name = pick(nodeNames, rest)!;
    if (kind < 6) this.#within(index, few, more, () => leader.reconcileNode(name));
    else if (kind < 9) this.#within(index, few, more, () => this.#reconcileNodes(leader, rest));
    else if (kind < 12) this.#within(index, few, more, () => this.#reconcileBlocks(leader));
    else if (kind === 12) this.#sleepwalk(leader, more, rest);
    else if (kind < 15) leader.hearAll();
    else if (kind < 18) leader.hear(pick(kinds, more)!, few === 7 ? 1 : undefined);
    else if (kind === 18) leader.relist(pick(kinds, more)!);
    else if (kind === 19) this.#start(index);
    else if (kind < 22) this.#makeNode(name, more);
    else if (kind === 22) this.#removeNode(name, bit(more, 0));
    else if (kind === 23) this.#replaceNode(name, more);
    else if (kind === 24) this.#relabel(name, more);
    else if (kind === 25) this.#record(name, more);
    else if (kind === 26) this.#report(name, more, few);
    else if (kind < 29) this.#changePool(pick(poolNames, more)!, few);
    else if (kind < 31) this.#api.nowMs += (1 + more) * 30_000;
    else this.#drain(more);
    this.#machines.check();
    this.#checkApart();
  }

  #reconcileNodes(leader: Leader, from: number): void {
    for (let n = 0; n < nodeNames.length; n++) leader.reconcileNode(pick(nodeNames, from + n)!);
  }

  /** The worst a leader can do: it has heard of one kind only, and acts on that for minutes. */
  #sleepwalk(leader: Leader, more: number, from: number): void {
    leader.hear(pick(kinds, more)!);
    for (let n = 0; n < 3; n++) {
      this.#reconcileBlocks(leader);
      this.#api.nowMs += 130_000;
    }
    this.#reconcileNodes(leader, from);
  }

  #reconcileBlocks(leader: Leader): void {
    for (const name of [...leader.register.blocks.keys()]) leader.reconcileBlock(name);
    for (const name of poolNames) leader.reconcilePool(name);
  }

  /** Whatever each leader heard, and when: once it has heard everything it knows what there is. */
  compare(): void {
    for (const leader of this.#leaders.values()) {
      leader.hearAll();
      checkRebuilt(this.#api, leader);
    }
  }

  /** One leader does what is left to do, until there is nothing. */
  settle(): void {
    const leader = this.#leader(0);
    let decisions: NodeDecision[] = [];
    for (let round = 0; ; round++) {
      if (round === 30) throw new Broken('it never settles');
      const before = this.#writes();
      this.#api.nowMs += 70_000;
      decisions = nodeNames.flatMap((name) => leader.reconcileNode(name) ?? []);
      for (const name of [...leader.register.blocks.keys()]) leader.reconcileBlock(name);
      this.#machines.check();
      this.#checkApart();
      leader.hearAll();
      if (this.#writes() === before) break;
    }
    checkRebuilt(this.#api, leader);
    checkFree(this.#api, leader.register);
    for (const decision of decisions) {
      checkSettled(this.#api, leader.register, decision, this.#rules.byDemand);
    }
    checkFound(leader.register, decisions);
  }

  /** When all nodes are gone and everything has cooled, everything is free. */
  windUp(): void {
    for (const name of nodeNames) {
      for (const kind of ['Node', 'CiliumNode', 'NodeReport'] as const)
        this.#api.delete(kind, name);
    }
    const leader = this.#leader(0);
    leader.hearAll();
    // A block cools, and is freed; then the guards have no more use, and go too.
    // Nobody speaks for them any more: time does, and keeps them for last for a week.
    for (let round = 0; round < 6 && leader.register.blocks.size > 0; round++) {
      this.#api.nowMs += 8 * 86_400_000;
      for (const name of [...leader.register.blocks.keys()]) leader.reconcileBlock(name);
    }
    checkNothingLeft(this.#api, leader.register);
    checkFree(this.#api, leader.register);
    this.#tally.freed += this.#releases.freed;
  }

  #leader(index: number): Leader {
    return this.#leaders.get(index) ?? this.#start(index);
  }

  /** A process that starts, or starts again, lists everything afresh. */
  #start(index: number): Leader {
    const leader = new Leader(this.#api, this.#rules, this.#switches);
    // Every machine that leads has a clock of its own: ten minutes ahead, or behind.
    leader.clockOffsetMs = wrongClocksMs[this.#started++ % wrongClocksMs.length]!;
    leader.onDecision = (decision) => {
      this.#tally.decisions++;
      if (!leader.isCurrent) {
        this.#tally.staleDecisions++;
        return;
      }
      this.#tally.cuts += decision.assign.length;
      this.#tally.refusals += decision.refused.length;
      checkCuts(this.#api, leader.register, decision, this.#rules);
    };
    this.#leaders.set(index, leader);
    return leader;
  }

  /**
   * One time in four the process may die on the way, after so many writes; and
   * one time in four the other leader comes in between two of its writes.
   */
  #within(index: number, few: number, more: number, work: () => void): void {
    const leader = this.#leader(index);
    if (few > 5) {
      const other = this.#leader(1 - index);
      const name = pick(nodeNames, more)!;
      const meanwhile = () =>
        bit(more, 2) ? this.#reconcileBlocks(other) : other.reconcileNode(name);
      leader.interrupt = { writesBefore: more & 3, work: meanwhile };
    }
    const limit = few < 2 ? more % 5 : Number.POSITIVE_INFINITY;
    if (leader.within(limit, work)) return;
    this.#tally.crashes++;
    this.#start(index);
  }

  #makeNode(name: string, more: number): void {
    const podCIDRs = more > 12 ? records[(more * 5) % 12] : undefined;
    const labels = labelSets[more & 3]!;
    const object = nodeObject(name, podCIDRs ? { labels, podCIDRs } : { labels });
    this.#api.create({ ...object, metadata: { name, labels } });
  }

  #removeNode(name: string, withCilium: boolean): void {
    this.#api.delete('Node', name);
    if (withCilium) this.#api.delete('CiliumNode', name);
  }

  /** Gone and there again before anybody looked. */
  #replaceNode(name: string, more: number): void {
    this.#removeNode(name, bit(more, 3));
    this.#makeNode(name, more);
  }

  #relabel(name: string, more: number): void {
    const labels = labelSets[more & 3]!;
    this.#api.change('Node', name, {}, ({ metadata, ...node }) => ({
      ...node,
      metadata: { ...metadata, labels },
    }));
  }

  #record(name: string, more: number): void {
    if (this.#api.get('Node', name) === undefined) return;
    const spec = { ipam: { podCIDRs: records[more]! } };
    const made = this.#api.create({ kind: 'CiliumNode', metadata: { name }, spec });
    if (made.kind === 'done') return;
    this.#api.change('CiliumNode', name, {}, (object) => withSpec(object, spec));
  }

  #report(name: string, more: number, which: number): void {
    const node = this.#api.get('Node', name);
    if (node === undefined) {
      this.#lastWords(name, more);
      return;
    }
    // A release stays in the report until its block is gone.
    const { releases: before = [] } = (this.#api.get('NodeReport', name)?.spec ?? {}) as {
      releases?: Array<{ uid: string | undefined }>;
    };
    const releases = [...this.#api.list('NodeBlock')]
      .filter((block) => nodeOf(block) === name)
      .filter(({ metadata }, n) => bit(which, n) || before.some(({ uid }) => uid === metadata?.uid))
      .map((block) => ({ cidr: specOf(block).cidr, uid: block.metadata?.uid }));
    const neededAddresses = { ipv4: more & 7, ipv6: more >> 2 };
    const spec = { nodeUID: node.metadata?.uid, neededAddresses, releases };
    const made = this.#api.create({ kind: 'NodeReport', metadata: { name }, spec });
    if (made.kind === 'done') return;
    this.#api.change('NodeReport', name, {}, (object) => withSpec(object, spec));
  }

  /** The Node is gone: the agent has withdrawn everything and says so, or a person says that it is off. */
  #lastWords(name: string, more: number): void {
    const own = [...this.#api.list('NodeBlock')].filter((block) => nodeOf(block) === name);
    if (bit(more, 0)) {
      const released = { by: 'Administrator' };
      for (const { metadata } of own) {
        this.#api.change('NodeBlock', metadata?.name ?? '', {}, (o) => withSpec(o, { released }));
      }
      return;
    }
    const fenced = own.map((block) => ({ cidr: specOf(block).cidr, uid: block.metadata?.uid }));
    this.#api.change('NodeReport', name, {}, (object) => withSpec(object, { fenced }));
  }

  #makePool(name: string): void {
    this.#api.create({ ...poolObject(name, pools[name]!), metadata: { name } });
  }

  #changePool(name: string, what: number): void {
    const found = this.#api.get('IPPool', name);
    if (found === undefined) {
      this.#makePool(name);
      return;
    }
    const { disabled, reserved, cidrs, priority } = poolSpec(found);
    const change = (fields: Record<string, unknown>) =>
      this.#api.change('IPPool', name, {}, (pool) => withSpec(pool, fields));
    if (what < 2) change({ disabled: !disabled });
    else if (what < 4) change({ reserved: reserved ? null : ['10.0.0.2/31', '10.0.0.16/32'] });
    else if (what === 4 && name === 'a') change({ cidrs: [...new Set([...cidrs, '10.0.0.8/30'])] });
    else if (what === 5) change({ priority: -(priority ?? 0) - 1 });
    else if (what === 6) {
      const deletionTimestamp = new Date(this.#api.nowMs).toISOString();
      const metadata = { ...found.metadata, deletionTimestamp };
      this.#api.change('IPPool', name, {}, (pool) => ({ ...pool, metadata }));
    }
  }

  #drain(more: number): void {
    const block = pick([...this.#api.list('NodeBlock')], more);
    if (block === undefined || specOf(block).phase !== 'Active') return;
    const name = block.metadata?.name ?? '';
    this.#api.change('NodeBlock', name, {}, (object) => withSpec(object, { phase: 'Draining' }));
  }

  #writes(): number {
    return kinds.reduce((sum, kind) => sum + this.#api.log(kind).length, 0);
  }

  #checkApart(): void {
    const written = this.#api.log('NodeBlock').length;
    if (written === this.#blockWrites) return;
    this.#tally.writes += written - this.#blockWrites;
    this.#blockWrites = written;
    checkApart(this.#api);
  }
}

const wrongClocksMs = [0, 600_000, -600_000, 7];

/** Of the pool around a block; what lies in no pool rests longer than any of them says. */
function cooldownAround(cidr: string): number {
  return cidr.startsWith('10.0.0.3') || /^fd00::[0-3]?\//.test(cidr) ? 0 : 100;
}

function pick<T>(list: readonly T[], number: number): T | undefined {
  return list[number % Math.max(1, list.length)];
}
