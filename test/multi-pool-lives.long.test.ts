/**
 * Random lives of a cluster in mode multi-pool: agents that ask, use and drop, an operator
 * whose cache is behind, that crashes between the register and the list, and that starts
 * again with nothing in memory. No address is ever on two nodes.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { modes } from '../src/model/modes.ts';
import type { KubeObject } from '../src/model/object.ts';
import { decideBlock } from '../src/plan/blocks/block-life.ts';
import { decideNode, rulesOf } from '../src/plan/blocks/decide-node.ts';
import { projectOnPools } from '../src/plan/blocks/pool-projection.ts';
import type { Register } from '../src/plan/blocks/register.ts';
import { ciliumPoolsObject } from './multi-pool/objects.ts';
import { type ListedPool, SimulatedAgent } from './multi-pool/simulated-agent.ts';
import { runs } from './parts/random.ts';
import { blockObject, nodeObject, poolObject, put, registerOf } from './register/objects.ts';

const rules = rulesOf(modes['multi-pool'], 'auto');
const nodes = ['a', 'b', 'c'];
const pools = ['default', 'mars'];

interface Pools {
  allocated?: ListedPool[];
}

class World {
  readonly agents = new Map(nodes.map((name) => [name, new SimulatedAgent({ default: 2 })]));
  readonly seen = { dropped: 0, cooled: 0, moved: 0 };
  readonly #lastHolder = new Map<string, string>();
  /** What the API server has. */
  readonly #ciliumNodes = new Map<string, KubeObject>();
  readonly #blocks = new Map<string, KubeObject>();
  readonly #fixed = [
    poolObject('default', { cidrs: ['10.0.0.0/27'], size: 29 }),
    poolObject('mars', { cidrs: ['10.9.0.0/27'], size: 30 }),
    ...nodes.map((name, created) => nodeObject(name, { created })),
  ];
  /** What the operator has of it. */
  #register: Register;
  #version = 0;
  #granted = 0;

  constructor() {
    for (const name of nodes) this.#store(ciliumPoolsObject(name, {}));
    this.#register = this.#restarted();
  }

  /** The agent's PUT, refused if the object is another by now. */
  sync(name: string): void {
    const agent = this.agents.get(name)!;
    agent.observe(this.#allocated(name));
    const before = agent.cidrs.length;
    this.#store({ ...this.#ciliumNodes.get(name)!, spec: { ipam: { pools: agent.sync() } } });
    if (agent.cidrs.length < before) this.seen.dropped++;
  }

  /** All of it in the order that it usually has. */
  turn(name: string): void {
    this.sync(name);
    this.hear(name);
    this.serve(name, 'never');
    this.sync(name);
  }

  /** A watch event; without it the cache stays behind. */
  hear(name: string): void {
    put(this.#register, this.#ciliumNodes.get(name)!);
  }

  serve(name: string, crash: 'between' | 'never'): void {
    const node = this.#register.nodes.get(name)!;
    const { adopt, assign, rebind } = decideNode(this.#register, node, rules);
    for (const { prefix, pool } of [...rebind, ...adopt, ...assign]) {
      const block = blockObject(`${prefix}`, name, { pool, created: ++this.#granted });
      const key = `${prefix}`;
      const holder = this.#blocks.get(key)?.spec as { node: { name: string } } | undefined;
      // The API server refuses a second object of one name.
      expect(holder === undefined || holder.node.name === name).toBe(true);
      this.#blocks.set(key, block);
      if ((this.#lastHolder.get(key) ?? name) !== name) this.seen.moved++;
      this.#lastHolder.set(key, name);
      put(this.#register, block);
    }
    if (crash === 'between') {
      this.restart();
      return;
    }
    const { keep } = decideNode(this.#register, node, rules);
    const patch = projectOnPools(this.#register, this.#register.ciliumNodes.get(name), keep);
    if (patch.kind !== 'patch') return;
    const stored = this.#ciliumNodes.get(name)!;
    const [, version, add] = patch.operations;
    if (version!.value !== stored.metadata!.resourceVersion) return;
    const spec = structuredClone(stored.spec) as { ipam: { pools: Pools } };
    expect(add!.path).toBe('/spec/ipam/pools/allocated');
    spec.ipam.pools.allocated = add!.value as ListedPool[];
    put(this.#register, this.#store({ ...stored, spec }));
  }

  /** As the block worker does: what depends on absence is read afresh. */
  cool(): void {
    for (const block of [...this.#register.blocks.values()]) {
      const ask = () => decideBlock(this.#register, block, 0, true);
      if (block.phase === 'Cooling' || ask().kind !== 'cool') continue;
      this.hear(block.nodeName);
      const cidr = `${block.prefix}`;
      if (ask().kind !== 'cool' || this.agents.get(block.nodeName)!.usesAnyOf(cidr)) continue;
      const { pool, nodeName } = block;
      const cooling = blockObject(cidr, nodeName, { pool, phase: 'Cooling' });
      this.#blocks.set(cidr, cooling);
      this.seen.cooled++;
      put(this.#register, cooling);
    }
  }

  free(): void {
    for (const block of [...this.#register.blocks.values()]) {
      if (block.phase !== 'Cooling') continue;
      this.#blocks.delete(`${block.prefix}`);
      this.#register.removeBlock(block.name);
    }
  }

  restart(): void {
    this.#register = this.#restarted();
  }

  check(): void {
    const addresses = [...this.agents.values()].flatMap((agent) => agent.addresses);
    expect(new Set(addresses).size).toBe(addresses.length);
    const listed = nodes.flatMap((name) =>
      this.#allocated(name).flatMap(({ cidrs = [] }) => cidrs),
    );
    expect(new Set(listed).size).toBe(listed.length);
    // First registered, then listed; and given up only after it was dropped.
    for (const name of nodes) {
      for (const { cidrs = [] } of this.#allocated(name)) {
        for (const cidr of cidrs) {
          const block = this.#blocks.get(cidr) as { spec: { node: object; phase: string } };
          expect(block?.spec).toMatchObject({ node: { name } });
        }
      }
    }
  }

  /** Everybody does everything in turn: all that is asked for must come. */
  settle(): void {
    for (let round = 0; round < 12; round++) {
      for (const name of nodes) {
        this.sync(name);
        this.hear(name);
        this.serve(name, 'never');
      }
      this.cool();
      this.free();
      this.check();
    }
  }

  #allocated(name: string): readonly ListedPool[] {
    const spec = this.#ciliumNodes.get(name)!.spec as { ipam: { pools: Pools } };
    return spec.ipam.pools.allocated ?? [];
  }

  #store(object: KubeObject): KubeObject {
    const { name = '' } = object.metadata!;
    const resourceVersion = `${++this.#version}`;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion } };
    this.#ciliumNodes.set(name, stored);
    return stored;
  }

  #restarted(): Register {
    const all = [...this.#fixed, ...this.#blocks.values(), ...this.#ciliumNodes.values()];
    return registerOf(all, undefined, true);
  }
}

const step = fc.record({
  node: fc.constantFrom(...nodes),
  pool: fc.constantFrom(...pools),
  what: fc.constantFrom(
    ...(['use', 'use', 'fill', 'fill', 'release', 'empty', 'sync', 'hear', 'serve'] as const),
    ...(['turn', 'turn', 'turn', 'turn', 'crash', 'cool', 'cool', 'free', 'restart'] as const),
  ),
});

test('no address is on two nodes, whatever comes in which order; in the end everybody is served', () => {
  const seen = { dropped: 0, cooled: 0, moved: 0 };
  fc.assert(
    fc.property(fc.array(step, { minLength: 120, maxLength: 160 }), (steps) => {
      const world = new World();
      for (const { what, node, pool } of steps) {
        const agent = world.agents.get(node)!;
        if (what === 'use') agent.use(pool);
        else if (what === 'fill') for (let more = 0; more < 8; more++) agent.use(pool);
        else if (what === 'release') agent.release(pool);
        else if (what === 'empty') agent.releaseAll(pool);
        else if (what === 'sync') world.sync(node);
        else if (what === 'turn') world.turn(node);
        else if (what === 'hear') world.hear(node);
        else if (what === 'serve') world.serve(node, 'never');
        else if (what === 'crash') world.serve(node, 'between');
        else world[what]();
        world.check();
      }
      for (const key of ['dropped', 'cooled', 'moved'] as const) seen[key] += world.seen[key];
      for (const agent of world.agents.values()) {
        for (const pool of pools) agent.releaseAll(pool);
        agent.expirePending();
      }
      world.settle();
      for (const agent of world.agents.values()) expect(agent.use('default')).toBeDefined();
      // What nobody needs any more is free again: all of mars, and all but one of default.
      for (const agent of world.agents.values()) expect(agent.cidrs).toHaveLength(1);
    }),
    { numRuns: runs(30) },
  );
  // The lives were not idle.
  expect(seen.dropped).toBeGreaterThan(100);
  expect(seen.cooled).toBeGreaterThan(50);
  expect(seen.moved).toBeGreaterThan(10);
});
