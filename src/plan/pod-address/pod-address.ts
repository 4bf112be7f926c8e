/**
 * Pod addresses: which one is next. Judgement only; what is given is recorded
 * and made durable by the agent, which then says `take`.
 *
 * Round robin behind the address given last, over all blocks in their order, as
 * host-local does it; so a freed address is the last to be given again. It also
 * rests: somebody may still send to it, or hold a connection-tracking entry for
 * it. Time comes in as a number that never goes back.
 */
import type { Address } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { podAddresses } from './block-addresses.ts';
import { PodAddressBlock, type PodBlock } from './pod-address-block.ts';

export type PodAddressRefusal =
  | 'FamilyNotServed'
  | 'NoFreeAddress'
  | 'AddressTaken'
  | 'AddressResting'
  | 'AddressOutsideBlocks'
  | 'AddressNotForPods'
  | 'BlockDraining';

export type PodAddressChoice =
  | { kind: 'chosen'; addresses: Address[] }
  | { kind: 'refused'; reason: PodAddressRefusal; detail: string; retryAfterMs?: number };

export interface PodAddressWish {
  /** One address of each; all or nothing. */
  families: readonly Family[];
  /** At most one of a family. */
  requested?: readonly Address[];
}

export interface PodBlockUse {
  prefix: Prefix;
  isDraining: boolean;
  /** What people count: a /24 has 254. */
  total: bigint;
  /** Pods', the gateway, and what is reserved. */
  allocated: bigint;
  /** What pods can have of it, this node's reserved ranges apart: what the operator counts. */
  forPods: bigint;
  /** Of those, what this node reserves (`--reserved`). */
  reserved: bigint;
  pods: number;
  resting: number;
  free: bigint;
}

export class PodAddressSpace {
  #blocks: PodAddressBlock[] = [];
  /** Text of every address a pod has, also of blocks that were taken away meanwhile. */
  readonly #held = new Map<string, Address>();
  /** In the order in which they were freed, and so in which their cool-down ends. */
  readonly #resting = new Map<string, { address: Address; untilMs: number }>();
  readonly #last = new Map<Family, Address>();

  setBlocks(blocks: readonly PodBlock[], reserved: readonly Prefix[] = []): void {
    this.#blocks = blocks.map((block) => new PodAddressBlock(block, reserved));
    for (const address of this.#held.values()) this.#blockOf(address)?.take(address);
    for (const { address } of this.#resting.values()) this.#blockOf(address)?.take(address);
  }

  get families(): Family[] {
    return [...new Set(this.#blocks.map((block) => block.prefix.family))].sort();
  }

  get held(): ReadonlyMap<string, Address> {
    return this.#held;
  }

  /** The address given last, of each family; the next one is looked for behind it. */
  get cursors(): Address[] {
    return [...this.#last.values()];
  }

  setCursor(address: Address): void {
    this.#last.set(address.family, address);
  }

  choose(wish: PodAddressWish, nowMs: number): PodAddressChoice {
    this.#wake(nowMs);
    const addresses: Address[] = [];
    for (const family of wish.families) {
      const requested = wish.requested?.find((address) => address.family === family);
      const choice =
        requested === undefined
          ? this.#chooseNext(family, nowMs)
          : this.#chooseRequested(requested, nowMs);
      if (choice.kind === 'refused') return choice;
      addresses.push(...choice.addresses);
    }
    return { kind: 'chosen', addresses };
  }

  take(address: Address): void {
    const text = address.toString();
    this.#resting.delete(text);
    this.#held.set(text, address);
    this.#blockOf(address)?.take(address);
  }

  /** Free again after its cool-down. */
  release(address: Address, nowMs: number, restMs: number): void {
    if (!this.#held.delete(address.toString())) return;
    this.rest(address, nowMs + restMs);
    this.#wake(nowMs);
  }

  /** As if it had never been taken: the gift could not be recorded. */
  forget(address: Address): void {
    if (this.#held.delete(address.toString())) this.#blockOf(address)?.free(address);
  }

  rest(address: Address, untilMs: number): void {
    this.#resting.set(address.toString(), { address, untilMs });
    this.#blockOf(address)?.take(address);
  }

  /** What is in cool-down now, and for how long. */
  resting(nowMs: number): Array<{ address: Address; forMs: number }> {
    this.#wake(nowMs);
    return [...this.#resting.values()].map(({ address, untilMs }) => ({
      address,
      forMs: untilMs - nowMs,
    }));
  }

  use(nowMs: number): PodBlockUse[] {
    this.#wake(nowMs);
    return this.#blocks.map((block) => {
      let resting = 0;
      for (const { address } of this.#resting.values()) if (block.contains(address)) resting++;
      const pods = block.taken - resting;
      const { total, reserved } = block;
      const forPods = podAddresses(block.prefix);
      const free = block.isDraining ? 0n : forPods - reserved - BigInt(block.taken);
      return {
        prefix: block.prefix,
        isDraining: block.isDraining,
        total,
        allocated: total - forPods + reserved + BigInt(pods),
        forPods,
        reserved,
        pods,
        resting,
        free: free < 0n ? 0n : free,
      };
    });
  }

  gatewayOf(address: Address): Address | undefined {
    return this.#blockOf(address)?.gateway;
  }

  blockOf(address: Address): Prefix | undefined {
    return this.#blockOf(address)?.prefix;
  }

  #blockOf(address: Address): PodAddressBlock | undefined {
    return this.#blocks.find((block) => block.contains(address));
  }

  #chooseNext(family: Family, nowMs: number): PodAddressChoice {
    const blocks = this.#blocks.filter((block) => block.prefix.family === family);
    if (blocks.length === 0) return familyNotServed(family);
    const open = blocks.filter((block) => !block.isDraining);
    const last = this.#last.get(family);
    const start = last === undefined ? -1 : open.findIndex((block) => block.contains(last));
    if (last === undefined || start < 0) {
      for (const block of open) {
        const found = block.nextFree();
        if (found !== undefined) return { kind: 'chosen', addresses: [found] };
      }
      return this.#full(family, blocks, nowMs);
    }
    const first = open[start]!;
    const offset = first.offsetOf(last);
    const around = [...open.slice(start + 1), ...open.slice(0, start)];
    let found = first.nextFree(offset + 1n);
    for (const block of around) found ??= block.nextFree();
    found ??= first.nextFree(undefined, offset);
    if (found === undefined) return this.#full(family, blocks, nowMs);
    return { kind: 'chosen', addresses: [found] };
  }

  #chooseRequested(address: Address, nowMs: number): PodAddressChoice {
    const refuse = (reason: PodAddressRefusal, detail: string): PodAddressChoice => ({
      kind: 'refused',
      reason,
      detail,
    });
    const block = this.#blockOf(address);
    if (block === undefined) {
      const own = this.#blocks.map((b) => b.prefix.toString()).join(', ') || 'none';
      return refuse('AddressOutsideBlocks', `${address} is in no block of this node (${own})`);
    }
    if (!block.isForPods(address)) {
      return refuse(
        'AddressNotForPods',
        `${address} is the network, gateway or last address of ${block.prefix}, or reserved`,
      );
    }
    if (block.isDraining) {
      return refuse('BlockDraining', `${block.prefix} is draining and gives no new addresses`);
    }
    const rest = this.#resting.get(address.toString());
    if (rest !== undefined) {
      const retryAfterMs = rest.untilMs - nowMs;
      const detail = `${address} was freed and is in cool-down for ${Math.ceil(retryAfterMs / 1000)} s more`;
      return { kind: 'refused', reason: 'AddressResting', detail, retryAfterMs };
    }
    if (block.isTaken(address)) return refuse('AddressTaken', `${address} belongs to another pod`);
    return { kind: 'chosen', addresses: [address] };
  }

  #full(family: Family, blocks: readonly PodAddressBlock[], nowMs: number): PodAddressChoice {
    const names = blocks
      .map((block) => `${block.prefix}${block.isDraining ? ' (draining)' : ''}`)
      .join(', ');
    const resting = [...this.#resting.values()].filter(({ address }) => address.family === family);
    const detail = `no free ${familyLabel(family)} address in ${names}`;
    const soonest = resting[0];
    if (soonest === undefined) return { kind: 'refused', reason: 'NoFreeAddress', detail };
    return {
      kind: 'refused',
      reason: 'NoFreeAddress',
      detail: `${detail}; ${resting.length} freed ones are in cool-down`,
      retryAfterMs: Math.max(0, soonest.untilMs - nowMs),
    };
  }

  /** Those whose cool-down is over are free. */
  #wake(nowMs: number): void {
    for (const [text, { address, untilMs }] of this.#resting) {
      if (untilMs > nowMs) return;
      this.#resting.delete(text);
      this.#blockOf(address)?.free(address);
    }
  }
}

export function familyLabel(family: Family): 'IPv4' | 'IPv6' {
  return family === 'ipv4' ? 'IPv4' : 'IPv6';
}

function familyNotServed(family: Family): PodAddressChoice {
  const detail = `this node has no ${familyLabel(family)} block`;
  return { kind: 'refused', reason: 'FamilyNotServed', detail };
}
