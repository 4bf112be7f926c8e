/**
 * A cluster small enough for one case: a register, the rules of its mode, and
 * the few deeds the cases speak of, done as the operator does them. Judgement
 * is the real code; only the writing is left out.
 */
import { expect } from 'vitest';
import { defaultCooldownSeconds, type Pool } from '../../src/model/ip-pool.ts';
import type { Block } from '../../src/model/node-block.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { decideBlock } from '../../src/plan/blocks/block-life.ts';
import { type ReadClusterPool, readClusterPool } from '../../src/plan/pools/cluster-pool.ts';
import { decideNode, type NodeDecision, type Rules } from '../../src/plan/blocks/decide-node.ts';
import { poolUsage, totalUsage } from '../../src/plan/pools/pool-status.ts';
import type { Register } from '../../src/plan/blocks/register.ts';
import { at, auto, blockObject, blockOf, put, registerOf } from '../register/objects.ts';

/** The flags of cluster-pool, the family of each CIDR told by its colon. */
export function readFlags(
  cidrs: readonly string[],
  sizes: { ipv4?: number; ipv6?: number },
  reserved: readonly string[] = [],
): ReadClusterPool {
  const ipv4Cidrs = cidrs.filter((cidr) => !cidr.includes(':'));
  const ipv6Cidrs = cidrs.filter((cidr) => cidr.includes(':'));
  return readClusterPool({
    enableIpv4: ipv4Cidrs.length > 0,
    enableIpv6: ipv6Cidrs.length > 0,
    ipv4Cidrs,
    ipv4MaskSize: sizes.ipv4 ?? 24,
    ipv6Cidrs,
    ipv6MaskSize: sizes.ipv6 ?? 64,
    reserved: reserved.map(at),
    cooldownSeconds: defaultCooldownSeconds,
  });
}

export function clusterPool(...given: Parameters<typeof readFlags>): Pool {
  const read = readFlags(...given);
  if (read.kind === 'refused') throw new Error(read.problems.join('; '));
  return read.pool;
}

const hour = 3_600_000;

export class Site {
  readonly register: Register;
  readonly rules: Rules;
  #written = 0;

  constructor(pools: readonly Pool[], objects: readonly KubeObject[], rules: Rules = auto) {
    this.register = registerOf(objects);
    for (const pool of pools) this.register.putPool(pool);
    this.rules = rules;
  }

  put(...objects: KubeObject[]): void {
    for (const object of objects) put(this.register, object);
  }

  decide(name: string): NodeDecision {
    return decideNode(this.register, this.register.nodes.get(name)!, this.rules);
  }

  /** Decides, and puts in what the decision would write. */
  serve(name: string): NodeDecision {
    const decision = this.decide(name);
    const { uid: nodeUid } = decision.node;
    for (const { prefix, pool } of [...decision.adopt, ...decision.assign, ...decision.rebind]) {
      const created = ++this.#written;
      this.put(blockObject(prefix.toString(), name, { pool, nodeUid, created }));
    }
    return decision;
  }

  /** What the node holds in the register, sorted. */
  held(name: string): string[] {
    const prefixes = this.register.blocksOf(name).map(({ prefix }) => prefix);
    return prefixes.sort((a, b) => a.compare(b)).map(String);
  }

  /** Serves the node, and says what it has then. */
  blocksAfter(name: string): string[] {
    this.serve(name);
    return this.held(name);
  }

  block(cidr: string): Block {
    return [...this.register.blocks.values()].find(({ prefix }) => prefix.equals(at(cidr)))!;
  }

  /** First step of a release: the block is let go, and rests. */
  cool(cidr: string, reason: 'Cooling' | 'Released' = 'Cooling'): void {
    const block = this.block(cidr);
    const step = decideBlock(this.register, block, 0, this.rules.byDemand);
    expect(step).toMatchObject({ kind: 'cool', reason });
    const { pool, nodeName, nodeUid } = block;
    const object = blockObject(cidr, nodeName, { pool, nodeUid, phase: 'Cooling' });
    this.register.putBlock({ ...blockOf(object), coolingSinceMs: hour });
  }

  /** Second step: its rest is over, its node says that it does not use it, and the object goes. */
  free(cidr: string): void {
    const block = this.block(cidr);
    const before = decideBlock(this.register, block, 0, this.rules.byDemand);
    expect(before.kind).toBe('rest');
    const rested = defaultCooldownSeconds;
    expect(decideBlock(this.register, block, rested, this.rules.byDemand).kind).toBe('await');
    const released = { ...block, released: { by: 'Fenced' as const } };
    const after = decideBlock(this.register, released, rested, this.rules.byDemand);
    expect(after).toEqual({ kind: 'free', unlessExists: [] });
    this.register.removeBlock(block.name);
  }

  freeBlocks(pool: string): number {
    const found = this.register.poolSet.get(pool)!;
    return totalUsage(found, poolUsage(this.register, found)).free;
  }

  /** Who has a claim on a piece of land, by any record. */
  owners(cidr: string): string[] {
    return this.register.claims.overlapping(at(cidr)).map(({ owner }) => owner);
  }
}

export const refusals = ({ refused }: NodeDecision): string[] =>
  refused.map(({ family, reason }) => `${family} ${reason}`);

export const findings = (decision: Pick<NodeDecision, 'findings'>): string[] =>
  decision.findings.map(({ reason, nodes, cidr }) => `${reason} ${nodes.join('+')} ${cidr}`);
