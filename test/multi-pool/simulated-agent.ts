/**
 * The pool keeping of Cilium's agent in mode multi-pool, as 1.17 does it: what it asks
 * for, what it takes from its CiliumNode, which blocks it drops. No pod, no kernel.
 */
import { parseAddress } from '../../src/net/address.ts';
import { parsePrefix } from '../../src/net/prefix.ts';
import { neededAddresses } from '../../src/plan/blocks/demand.ts';
import { hostAddresses } from '../../src/plan/pod-address/block-addresses.ts';
import { ciliumPools, type PoolRequest } from './objects.ts';

export interface ListedPool {
  pool: string;
  cidrs?: readonly string[];
}

/** A block that the agent gives addresses out of, by their distance from its first one. */
interface OwnBlock {
  cidr: string;
  used: Set<number>;
}

export class SimulatedAgent {
  readonly #pools = new Map<string, OwnBlock[]>();
  readonly #pending = new Map<string, number>();
  readonly #preAllocate: Readonly<Record<string, number>>;

  constructor(preAllocate: Readonly<Record<string, number>> = { default: 8 }) {
    this.#preAllocate = preAllocate;
  }

  /** A pool that is no longer listed at all is left alone; of a listed one empty blocks go. */
  observe(listed: readonly ListedPool[]): void {
    for (const { pool, cidrs = [] } of listed) {
      const before = this.#pools.get(pool) ?? [];
      const kept = before.filter(({ cidr, used }) => cidrs.includes(cidr) || used.size > 0);
      const fresh = cidrs
        .filter((cidr) => !kept.some((own) => own.cidr === cidr))
        .map((cidr) => ({ cidr, used: new Set<number>() }));
      this.#pools.set(pool, [...kept, ...fresh]);
    }
  }

  /** The next free address of a pool; without one the agent asks for one more. */
  use(pool: string): string | undefined {
    for (const { cidr, used } of this.#pools.get(pool) ?? []) {
      const most = Number(hostAddresses(parsePrefix(cidr)!));
      for (let at = 1; at <= most; at++) {
        if (used.has(at)) continue;
        used.add(at);
        this.#pending.delete(pool);
        return parsePrefix(cidr)!.first().plus(BigInt(at)).toString();
      }
    }
    this.#pending.set(pool, (this.#pending.get(pool) ?? 0) + 1);
    return undefined;
  }

  /** Gives back the oldest address of a pool. */
  release(pool: string): void {
    const block = this.#pools.get(pool)?.find(({ used }) => used.size > 0);
    const [first] = block?.used ?? [];
    if (first !== undefined) block!.used.delete(first);
  }

  releaseAll(pool: string): void {
    for (const { used } of this.#pools.get(pool) ?? []) used.clear();
  }

  /** Pods that wait for an address in vain are forgotten after five minutes. */
  expirePending(): void {
    this.#pending.clear();
  }

  get addresses(): string[] {
    return [...this.#pools.values()]
      .flat()
      .flatMap(({ cidr, used }) =>
        [...used].map((at) => parsePrefix(cidr)!.first().plus(BigInt(at)).toString()),
      );
  }

  get cidrs(): string[] {
    return [...this.#pools.values()].flat().map(({ cidr }) => cidr);
  }

  usesAnyOf(cidr: string): boolean {
    const prefix = parsePrefix(cidr)!;
    return this.addresses.some((one) => prefix.contains(parseAddress(one)!));
  }

  /** Drops what is empty and more than needed, and says what CiliumNode.spec.ipam.pools is to be. */
  sync(): object {
    const requested: PoolRequest[] = [];
    const allocated: Record<string, string[]> = {};
    const names = new Set([...this.#pools.keys(), ...this.#pending.keys()]);
    for (const name of Object.keys(this.#preAllocate)) names.add(name);
    for (const name of [...names].sort()) {
      const blocks = this.#pools.get(name) ?? [];
      const used = blocks.reduce((sum, one) => sum + one.used.size, 0);
      const wanted = used + (this.#pending.get(name) ?? 0);
      const needed = neededAddresses(wanted, this.#preAllocate[name] ?? 0);
      if (needed > 0) requested.push([name, needed, 0]);
      const kept = this.#withoutExcess(blocks, Math.max(needed - used, 0));
      if (kept.length > 0) this.#pools.set(name, kept);
      else this.#pools.delete(name);
      if (kept.length > 0) allocated[name] = kept.map(({ cidr }) => cidr);
    }
    return ciliumPools({ requested, allocated });
  }

  #withoutExcess(blocks: readonly OwnBlock[], freeNeeded: number): OwnBlock[] {
    const freeOf = ({ cidr, used }: OwnBlock) =>
      Number(hostAddresses(parsePrefix(cidr)!)) - used.size;
    let free = blocks.reduce((sum, one) => sum + freeOf(one), 0);
    const kept: OwnBlock[] = [];
    for (const one of [...blocks].reverse()) {
      if (one.used.size === 0 && free - freeOf(one) >= freeNeeded) free -= freeOf(one);
      else kept.unshift(one);
    }
    return kept;
  }
}
