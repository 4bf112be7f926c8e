/** What the register promises, held against the objects themselves. */
import type { KubeObject } from '../../src/model/object.ts';
import { type Family, families } from '../../src/net/family.ts';
import type { NodeDecision, Rules } from '../../src/plan/blocks/decide-node.ts';
import { allHoldings, trustedHoldings } from '../../src/plan/blocks/holdings.ts';
import type { Register } from '../../src/plan/blocks/register.ts';
import { poolUsage } from '../../src/plan/pools/pool-status.ts';
import { type ApiModel, kinds } from './api-model.ts';
import {
  collide,
  countFree,
  expectedCuts,
  familyOf,
  type Held,
  offeredFamilies,
  poolAround,
  soundPools,
} from './brute-force.ts';
import type { Leader } from './leader.ts';
import { claimsOf, registerOf } from './objects.ts';

export class Broken extends Error {}

function hold(isSo: boolean, promise: string, detail: () => unknown): void {
  if (!isSo) throw new Broken(`${promise}: ${JSON.stringify(detail(), undefined, 1)}`);
}

interface BlockSpec {
  cidr: string;
  phase?: string;
  node?: { name: string; uid: string };
  released?: { by: string };
}
export const specOf = (block: KubeObject) => block.spec as BlockSpec;
export const nodeOf = (block: KubeObject) => specOf(block).node?.name ?? '';

/** No two nodes' registered blocks overlap. */
export function checkApart(api: ApiModel): void {
  const blocks = [...api.list('NodeBlock')].filter((block) => specOf(block).phase !== 'Guard');
  blocks.forEach((a, n) => {
    for (const b of blocks.slice(n + 1)) {
      if (nodeOf(a) === nodeOf(b) || !collide(specOf(a).cidr, specOf(b).cidr)) continue;
      hold(false, 'no two nodes hold blocks that overlap', () => [a, b]);
    }
  });
}

/**
 * No block is freed that nobody spoke for, or before it has rested: true time, whatever the
 * clocks of the leaders say.
 */
export class Releases {
  readonly #coolingSinceMs = new Map<string, number>();
  freed = 0;

  constructor(api: ApiModel, cooldownSeconds: (cidr: string) => number) {
    api.onWrite = (kind, before, object) => {
      if (kind !== 'NodeBlock') return;
      const uid = (object ?? before)?.metadata?.uid ?? '';
      const wasCooling = before !== undefined && specOf(before).phase === 'Cooling';
      const cools = object !== undefined && specOf(object).phase === 'Cooling';
      if (cools && !wasCooling) this.#coolingSinceMs.set(uid, api.nowMs);
      if (!wasCooling || object !== undefined) return;
      this.freed++;
      const { cidr, released } = specOf(before);
      const restedMs = api.nowMs - (this.#coolingSinceMs.get(uid) ?? api.nowMs);
      hold(released !== undefined, 'no block is freed without a witness', () => before);
      hold(restedMs >= cooldownSeconds(cidr) * 1000, 'no block rests shorter than asked', () => ({
        before,
        restedMs,
      }));
    };
  }
}

/**
 * The machines: which blocks each of them uses, and must therefore not lose to
 * another node. A machine uses a registered block of its own when a record of its
 * Node says so (Cilium reads those), or when its agent has reported, which reads
 * the register; until its records say something else, or its agent gives that very
 * block back. A machine with an agent goes on when its Node is deleted, cut off or not:
 * until its agent says that it is fenced, a person says that it is off, or a Node of its
 * name is there again.
 */
export class Machines {
  /** By Node uid. */
  readonly #uses = new Map<string, { name: string; cidrs: Set<string> }>();
  readonly #agents = new Set<string>();
  readonly #api: ApiModel;

  constructor(api: ApiModel) {
    this.#api = api;
  }

  /** Looks around: who is there, what it uses now, and whether that is still its own. */
  check(): void {
    const uids = new Set<string>();
    for (const node of this.#api.list('Node')) {
      const { uid = '', name = '' } = node.metadata ?? {};
      uids.add(uid);
      const machine = this.#uses.get(uid) ?? { name, cidrs: new Set<string>() };
      this.#uses.set(uid, machine);
      this.#look(node, machine.cidrs);
    }
    for (const [uid, { name, cidrs }] of this.#uses) {
      if (uids.has(uid)) continue;
      if (!this.#agents.has(uid) || this.#api.get('Node', name) !== undefined) {
        this.#uses.delete(uid);
      } else this.#heed(uid, name, cidrs);
    }
    for (const block of this.#api.list('NodeBlock')) {
      const { cidr, phase } = specOf(block);
      if (phase === 'Guard') continue;
      for (const { name, cidrs } of this.#uses.values()) {
        if (name === nodeOf(block)) continue;
        for (const used of cidrs) {
          if (collide(used, cidr))
            hold(false, 'nobody is given what another uses', () => ({ name, used, block }));
        }
      }
    }
  }

  /** What a machine without a Node was told or has said: it does not use what it has fenced. */
  #heed(uid: string, name: string, cidrs: Set<string>): void {
    const report = this.#api.get('NodeReport', name)?.spec as ReportSpec | undefined;
    const fenced = report?.nodeUID === uid ? (report.fenced ?? []) : [];
    for (const block of this.#api.list('NodeBlock')) {
      const { cidr, released, node: owner } = specOf(block);
      if (owner?.uid !== uid) continue;
      const isFenced = fenced.some((one) => one.uid === block.metadata?.uid);
      if (isFenced || released?.by === 'Administrator') cidrs.delete(cidr);
    }
  }

  #look(node: KubeObject, cidrs: Set<string>): void {
    const { uid = '', name = '' } = node.metadata ?? {};
    const records = new Set([...recordsOf(node), ...recordsOf(this.#api.get('CiliumNode', name))]);
    const report = this.#api.get('NodeReport', name)?.spec as ReportSpec | undefined;
    const hasAgent = report?.nodeUID === uid;
    if (hasAgent) this.#agents.add(uid);
    const releases = new Set(hasAgent ? report.releases.map((release) => release.uid) : []);
    if (!hasAgent) for (const cidr of cidrs) if (!records.has(cidr)) cidrs.delete(cidr);
    for (const block of this.#api.list('NodeBlock')) {
      const { cidr, phase, node: owner } = specOf(block);
      if (owner?.name !== name) continue;
      if (releases.has(block.metadata?.uid)) cidrs.delete(cidr);
      else if (owner.uid === uid && phase === 'Active' && (hasAgent || records.has(cidr))) {
        cidrs.add(cidr);
      }
    }
  }
}

interface ReportSpec {
  nodeUID: string;
  releases: Array<{ uid: string | undefined }>;
  fenced?: Array<{ uid: string | undefined }>;
}

function recordsOf(object: KubeObject | undefined): string[] {
  const spec = (object?.spec ?? {}) as { podCIDRs?: string[]; ipam?: { podCIDRs?: string[] } };
  const annotations = Object.values(object?.metadata?.annotations ?? {});
  return [...(spec.podCIDRs ?? []), ...(spec.ipam?.podCIDRs ?? []), ...annotations];
}

const adoptionReasons = new Set([
  'ClaimRefused',
  'DuplicateBlock',
  'RestoredFromBackup',
  'OverlappingBlocks',
  'OutsidePools',
  'AdoptionIncomplete',
]);

/** A leader that knows everything cuts exactly the blocks that plain search finds. */
export function checkCuts(
  api: ApiModel,
  register: Register,
  decision: NodeDecision,
  rules: Rules,
): void {
  const { node, keep, rebind, adopt, assign, refused } = decision;
  // A node needs another block before a draining one is empty.
  const counting = [...keep, ...rebind].filter(({ phase }) => phase !== 'Draining');
  const held: Held[] = [...counting, ...adopt].map(({ prefix, pool }) => {
    const cidr = prefix.toString();
    return { cidr, pool: poolAround(api, { cidr, pool }) };
  });
  const report = register.reports.get(node.name);
  const demand = report?.nodeUid === node.uid ? report.neededAddresses : {};
  const lacks = (all: readonly Held[]) => (family: Family) => {
    const own = all.filter(({ cidr }) => familyOf(cidr) === family);
    return own.length === 0 || (rules.byDemand && usable(own) < (demand[family] ?? 0));
  };
  const expected: Held[] = [];
  const isInDoubt = refused.some(({ reason }) => adoptionReasons.has(reason));
  const offered = [...offeredFamilies(api, node.labels)];
  while (!isInDoubt && expected.length < 16) {
    const all = [...held, ...expected];
    const missing = new Set(offered.filter(lacks(all)));
    if (missing.size === 0) break;
    const cuts = expectedCuts(api, node.labels, all, missing);
    expected.push(...cuts);
    for (const { cidr } of cuts) missing.delete(familyOf(cidr));
    if (missing.size > 0) break;
  }
  const words = (cuts: readonly Held[]) => cuts.map(({ cidr, pool }) => `${cidr} ${pool}`).join();
  const cut = assign.map(({ prefix, pool }) => ({ cidr: prefix.toString(), pool }));
  hold(words(cut) === words(expected), 'what is cut is what plain search finds', () => ({
    node: node.name,
    labels: node.labels,
    cut,
    expected,
    held,
    refused,
  }));
}

function usable(held: readonly Held[]): number {
  return held.reduce((sum, { cidr }) => {
    const count = 2 ** ((familyOf(cidr) === 'ipv4' ? 32 : 128) - Number(cidr.split('/')[1]));
    return sum + (count > 2 ? count - 3 : count);
  }, 0);
}

/** A register that heard everything equals one that is made of the objects now. */
export function checkRebuilt(api: ApiModel, { register }: Leader): void {
  const objects = kinds.flatMap((kind) => [...api.list(kind)]);
  const rebuilt = registerOf(objects);
  const picture = (of: Register) => ({
    claims: claimsOf(of),
    refused: Array.from(of.refused.entries(), ({ prefix, owner }) => `${prefix} ${owner}`).sort(),
    blocks: [...of.blocks.values()].map((b) => `${b.name} ${b.resourceVersion}`).sort(),
    nodes: [...of.nodes.values()].map((n) => `${n.name} ${n.resourceVersion}`).sort(),
    pools: of.poolSet.pools.map((pool) => [
      pool.name,
      of.poolSet.problem(pool.name)?.reason,
      poolUsage(of, pool),
      [...of.blocksOfPool(pool.name)].map(({ name }) => name).sort(),
    ]),
  });
  const [ours, theirs] = [picture(register), picture(rebuilt)];
  hold(JSON.stringify(ours) === JSON.stringify(theirs), 'rebuilt equals in memory', () => ({
    ours,
    theirs,
  }));
}

/** Without nodes there is no block, and no claim but what pools reserve. */
export function checkNothingLeft(api: ApiModel, register: Register): void {
  const left = [...api.list('NodeBlock')];
  const claims = claimsOf(register).filter((claim) => !claim.includes(' pool/'));
  hold(left.length + claims.length === 0, 'nothing leaks', () => ({ left, claims }));
}

/** What the index counts as free is what plain search finds. */
export function checkFree(api: ApiModel, register: Register): void {
  for (const object of soundPools(api)) {
    const pool = register.poolSet.get(object.metadata?.name ?? '');
    if (pool === undefined) continue;
    const free = poolUsage(register, pool).reduce((sum, usage) => sum + usage.free, 0);
    const expected = countFree(api, object);
    hold(free === expected, 'free is counted right', () => ({ pool: pool.name, free, expected }));
  }
}

/** Nodes that hold overlapping land, by register or by record, are named in findings that lead from one to the other. */
export function checkFound(register: Register, decisions: readonly NodeDecision[]): void {
  const findings = decisions.flatMap((decision) => decision.findings);
  const uses = decisions.map(({ node }) => ({ name: node.name, prefixes: usedBy(register, node) }));
  uses.forEach((a, n) => {
    for (const b of uses.slice(n + 1)) {
      if (!a.prefixes.some((p) => b.prefixes.some((q) => collide(p, q)))) continue;
      const reached = new Set([a.name]);
      for (const _ of findings) {
        for (const { nodes } of findings) {
          if (nodes.some((name) => reached.has(name))) for (const name of nodes) reached.add(name);
        }
      }
      hold(reached.has(b.name), 'an overlap of two nodes is found', () => ({ a, b, findings }));
    }
  });
}

/** Registered blocks, and the most trusted record of a family without any, as far as it is a claim. */
function usedBy(register: Register, node: { name: string }): string[] {
  const live = register.blocksOf(node.name).filter(({ phase }) => phase !== 'Cooling');
  const holdings = register.holdingsOf(node.name);
  const { refused } = register.claimsOf(node.name);
  const held = families
    .filter((family) => !live.some(({ prefix }) => prefix.family === family))
    .flatMap((family) => trustedHoldings(holdings, family))
    .filter((held) => !refused.some(({ prefix }) => prefix.equals(held)));
  return [...live.map(({ prefix }) => prefix), ...held].map(String);
}

/** A settled node has nothing left to do, and every family it should have is there or refused. */
export function checkSettled(
  api: ApiModel,
  register: Register,
  decision: NodeDecision,
  byDemand: boolean,
): void {
  const { node, keep, rebind, adopt, assign, refused } = decision;
  hold(
    rebind.length + adopt.length + assign.length === 0,
    'a settled node has nothing left to do',
    () => ({ node: node.name, decision }),
  );
  if (!byDemand) checkFrugal(register, decision);
  for (const family of offeredFamilies(api, node.labels)) {
    const isServed = keep.some(({ prefix }) => prefix.family === family);
    const isRefused = refused.some((refusal) => refusal.family === family || isDoubt(refusal));
    hold(isServed || isRefused, 'a node is served or told why not', () => decision);
  }
}

/** One block of a family, unless the records speak of several or the node asks for more. */
function checkFrugal(register: Register, { node }: NodeDecision): void {
  const records = allHoldings(register.holdingsOf(node.name)).map(String);
  for (const family of families) {
    const silent = register
      .blocksOf(node.name)
      .filter(({ prefix, phase }) => prefix.family === family && phase === 'Active')
      .filter(({ prefix }) => !records.includes(prefix.toString()));
    hold(silent.length <= 1, 'a node has no more than it should', () => silent);
  }
}

const isDoubt = ({ reason }: { reason: string }) => adoptionReasons.has(reason);
