/**
 * Operator and agent of one node in turn, as plain judgement: the agent says what it needs and what it
 * gives back, the operator cuts, and so on until neither has anything to do.
 */
import type { BlockRelease } from '../../src/model/node-report.ts';
import type { Address } from '../../src/net/address.ts';
import type { Family } from '../../src/net/family.ts';
import type { Prefix } from '../../src/net/prefix.ts';
import { asWritten } from '../../src/plan/blocks/cut.ts';
import { decideNode, type Rules } from '../../src/plan/blocks/decide-node.ts';
import { nextReleases } from '../../src/plan/blocks/give-back.ts';
import type { Register } from '../../src/plan/blocks/register.ts';
import type { OwnedBlock } from '../../src/plan/node/node-truth.ts';
import { addressRoom } from '../../src/plan/pod-address/address-room.ts';
import { PodAddressSpace } from '../../src/plan/pod-address/pod-address.ts';
import { type PodDemand, podDemand } from '../../src/plan/pod-address/pod-address-demand.ts';
import { nodeObject, put } from '../register/objects.ts';

const rules: Rules = { families: 'auto', byDemand: true };

/** One node: its agent's books, and what the operator knows of it. */
export class DemandingNode {
  readonly name: string;
  readonly space = new PodAddressSpace();
  readonly pods: Address[][] = [];
  readonly #register: Register;
  readonly #preAllocate: number;
  readonly #reserved: readonly Prefix[];
  #releases: readonly BlockRelease[] = [];
  #isFull = false;

  constructor(
    register: Register,
    name: string,
    preAllocate: number,
    reserved: readonly Prefix[] = [],
  ) {
    this.#register = register;
    this.name = name;
    this.#preAllocate = preAllocate;
    this.#reserved = reserved;
    put(register, nodeObject(name));
  }

  get owned(): OwnedBlock[] {
    return this.#register
      .blocksOf(this.name)
      .map(({ prefix, pool, uid }) => ({ prefix, pool, uid, isDraining: false }));
  }

  /** As the agent: what it needs, what it gives back, what it gives addresses out of. */
  #report(): PodDemand {
    const { owned } = this;
    const isGivenBack = ({ uid }: OwnedBlock) => this.#releases.some((one) => one.uid === uid);
    const useOf = () =>
      this.space.use(0).map((use) => {
        const block = owned.find(({ prefix }) => prefix.equals(use.prefix));
        return { ...use, isDraining: block === undefined || isGivenBack(block) };
      });
    const take = () =>
      this.space.setBlocks(
        owned.map((block) => ({ prefix: block.prefix, isDraining: isGivenBack(block) })),
        this.#reserved,
      );
    take();
    const use = useOf();
    const demand = podDemand(use, this.#preAllocate);
    this.#releases = nextReleases({ owned, use, before: this.#releases, demand });
    take();
    this.#isFull = addressRoom(this.space.use(0), this.#isFull).isFull;
    return demand;
  }

  /** As the operator: takes what is given back, and cuts what is needed. Whether anything was done. */
  #serve(neededAddresses: PodDemand): boolean {
    const register = this.#register;
    const given = this.#releases;
    for (const { cidr, uid } of given) {
      const block = this.#register.blocksOf(this.name).find((one) => one.uid === uid);
      if (block?.prefix.toString() === cidr) register.removeBlock(block.name);
    }
    put(register, {
      kind: 'NodeReport',
      metadata: { name: this.name },
      spec: { nodeUID: `uid-${this.name}`, neededAddresses },
    });
    const node = register.nodes.get(this.name)!;
    const { assign } = decideNode(register, node, rules);
    for (const cut of assign) {
      register.putBlock({ ...asWritten(node, cut), uid: `${this.name} ${cut.prefix} ${serial++}` });
    }
    return given.length + assign.length > 0;
  }

  /** Until neither has anything to do: at most one round for sixteen blocks that come or go. */
  settle(): void {
    for (let rounds = 0; this.#serve(this.#report()); rounds++) {
      if (rounds > 200)
        throw new Error(`${this.name} does not settle: ${this.owned.length} blocks`);
    }
    this.#report();
  }

  /** How many of so many pods get an address at once; none comes to a node that is tainted as full. */
  run(count: number, families: readonly Family[], isTainted: boolean): number {
    for (let more = 0; more < count; more++) {
      if (isTainted) {
        this.#isFull = addressRoom(this.space.use(0), this.#isFull).isFull;
        if (this.#isFull) return more;
      }
      const choice = this.space.choose({ families }, 0);
      if (choice.kind === 'refused') return more;
      for (const address of choice.addresses) this.space.take(address);
      this.pods.push(choice.addresses);
    }
    return count;
  }

  end(count: number): void {
    for (const addresses of this.pods.splice(0, count)) {
      for (const address of addresses) this.space.release(address, 0, 0);
    }
  }

  /** Runs pods until all are served, or the node has all that it can be given. */
  runAll(count: number, families: readonly Family[], isTainted = false): number {
    let served = 0;
    for (;;) {
      this.settle();
      const more = this.run(count - served, families, isTainted);
      served += more;
      if (served === count || more === 0) break;
    }
    this.settle();
    return served;
  }
}

let serial = 0;
