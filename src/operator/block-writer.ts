import type { Log } from '../base/log.ts';
import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { getIfThere, ifFound } from '../kube/get-if-there.ts';
import type { ClusterNode } from '../model/node.ts';
import {
  type Block,
  type BlockPhase,
  type BlockWitness,
  blockName,
  readBlock,
  recordedAddresses,
  writeBlock,
  writeGuard,
} from '../model/node-block.ts';
import type { Condition, KubeObject } from '../model/object.ts';
import { nodeBlocks } from '../model/resources.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Register } from '../plan/blocks/register.ts';
import { createOrFind } from './create-or-find.ts';

/**
 * The only writer of NodeBlocks. Creating one *is* the allocation
 * (create-or-find).
 *
 * Every later change is fenced by uid and resourceVersion: what was decided on an
 * old version is refused by the API server, and decided again on the new one.
 */
type CreateOutcome =
  /** `isNew`: made by this very call; otherwise the node may be using it already. */
  { kind: 'ours'; block: Block; isNew: boolean } | { kind: 'held'; block: Block };

/** Of a Node, what a block records. */
type BlockHolder = Pick<ClusterNode, 'name' | 'uid' | 'addresses'>;

interface BlockStore {
  put(raw: unknown): void;
  remove(key: string, uid: string): void;
}

export interface BlockWriterOptions {
  client: Pick<KubeClient, 'create' | 'get' | 'patch' | 'delete'>;
  store: BlockStore;
  register: Pick<Register, 'poolSet'>;
  log: Log;
  /** Throws when this process does not lead; asked before every write. */
  assertLeading(): void;
}

export class BlockWriter {
  readonly #o: BlockWriterOptions;

  constructor(options: BlockWriterOptions) {
    this.#o = options;
  }

  create(prefix: Prefix, pool: string, node: BlockHolder): Promise<CreateOutcome> {
    const body = writeBlock({
      prefix,
      pool,
      nodeName: node.name,
      nodeUid: node.uid,
      nodeAddresses: recordedAddresses(node),
      releaseByTimeSeconds: this.#policyOf({ pool, prefix }),
    });
    return this.#create(body, (block) => block.nodeName === node.name);
  }

  /** Takes a cell for odd-sized blocks, or finds it taken so; `held` when a node owns the cell itself. */
  guard(cell: Prefix, pool: string, guarded: Prefix): Promise<CreateOutcome> {
    const body = writeGuard(cell, pool, [guarded.toString()]);
    return this.#create(body, ({ phase }) => phase === 'Guard');
  }

  /** Lists a block in its guard, and strikes others out; no write where nothing changes. */
  async relist(guard: Block, listed: Prefix, struck: readonly Prefix[]): Promise<void> {
    const out = new Set(struck.map((prefix) => prefix.toString()));
    const text = listed.toString();
    if (guard.guards.includes(text) && out.size === 0) return;
    const others = guard.guards.filter((one) => one !== text && !out.has(one));
    await this.#change(guard, { guards: [...others, text] });
  }

  /** A node that came back, or was made anew, takes its own block over. */
  rebind(block: Block, node: BlockHolder): Promise<Block> {
    return this.#rebind(block, node, block.phase === 'Cooling' ? 'Active' : block.phase);
  }

  /** A node that came back has another block: this one is its own until nobody there uses it. */
  drainAgain(block: Block, node: BlockHolder): Promise<Block> {
    return this.#rebind(block, node, 'Draining');
  }

  #rebind(block: Block, node: BlockHolder, phase: BlockPhase): Promise<Block> {
    const change = { phase, coolingSince: null, restedSeconds: null, released: null };
    return this.#change(block, { ...change, ...this.#recordOf(block, node) });
  }

  /** What the block should know of its node and its pool. */
  record(block: Block, node: BlockHolder): Promise<Block> {
    return this.#change(block, this.#recordOf(block, node));
  }

  drain(block: Block): Promise<Block> {
    return this.#change(block, { phase: 'Draining' });
  }

  /** `released`: the witness, where the node itself released the block. */
  cool(block: Block, nowMs: number, released?: BlockWitness): Promise<Block> {
    const coolingSince = new Date(nowMs).toISOString();
    const change = { phase: 'Cooling', coolingSince, restedSeconds: null };
    return this.#change(block, released === undefined ? change : { ...change, released });
  }

  /** How much of the cool-down was watched, for the next leader. */
  rest(block: Block, restedSeconds: number): Promise<Block> {
    return this.#change(block, { restedSeconds });
  }

  /** The witness, before anything is done by its word; null takes it back. */
  witness(block: Block, released: BlockWitness | null, restedSeconds?: number): Promise<Block> {
    const rested = restedSeconds === undefined ? {} : { restedSeconds };
    return this.#change(block, { released, ...rested });
  }

  /** The condition Releasable, or none. */
  async say(block: Block, condition: Condition | undefined): Promise<void> {
    this.#o.assertLeading();
    const { name, uid, resourceVersion } = block;
    const status = { conditions: condition === undefined ? [] : [condition] };
    const body = { metadata: { uid, resourceVersion }, status };
    const options = { type: 'merge', subresource: 'status', body } as const;
    this.#learn(await this.#o.client.patch<KubeObject>(nodeBlocks, name, options));
  }

  async free(block: Block): Promise<void> {
    this.#o.assertLeading();
    const { name, uid, resourceVersion } = block;
    await ifFound(this.#o.client.delete(nodeBlocks, name, { uid, resourceVersion }));
    this.#o.store.remove(name, uid);
  }

  /** What the API server itself says about a block, past every cache. */
  look(prefix: Prefix): Promise<Block | undefined> {
    return this.#read(blockName(prefix));
  }

  #recordOf(block: Block, node: BlockHolder): object {
    const { name, uid } = node;
    const addresses = recordedAddresses(node);
    return {
      // Without addresses nothing is known that would be better than what is recorded.
      node: { name, uid, ...(addresses.length > 0 ? { addresses } : {}) },
      releaseByTimeSeconds: this.#policyOf(block) ?? null,
    };
  }

  #policyOf(block: { pool: string; prefix: Prefix }): number | undefined {
    return this.#o.register.poolSet.homeOf(block)?.releaseByTimeSeconds;
  }

  async #create(body: KubeObject, isOurs: (block: Block) => boolean): Promise<CreateOutcome> {
    const outcome = await createOrFind({
      ...this.#o,
      resource: nodeBlocks,
      body,
      read: () => this.#read(body.metadata?.name ?? ''),
    });
    if (outcome.kind === 'made') {
      return { kind: 'ours', block: this.#learn(outcome.raw), isNew: true };
    }
    const block = outcome.found;
    return isOurs(block) ? { kind: 'ours', block, isNew: false } : { kind: 'held', block };
  }

  async #read(name: string): Promise<Block | undefined> {
    const raw = await getIfThere(this.#o.client, nodeBlocks, name);
    return raw === undefined ? undefined : this.#learn(raw);
  }

  async #change(block: Block, spec: object): Promise<Block> {
    this.#o.assertLeading();
    const { name, uid, resourceVersion } = block;
    const body = { metadata: { uid, resourceVersion }, spec };
    try {
      return this.#learn(
        await this.#o.client.patch<KubeObject>(nodeBlocks, name, { type: 'merge', body }),
      );
    } catch (error) {
      // The cache was behind: see what is there now, and let it be decided again.
      if (error instanceof ApiError && error.isConflict) await this.#read(name);
      if (error instanceof ApiError && error.isNotFound) this.#o.store.remove(name, uid);
      throw error;
    }
  }

  #learn(raw: KubeObject): Block {
    this.#o.store.put(raw);
    const read = readBlock(raw);
    if (read.kind === 'malformed')
      throw new Error(`NodeBlock ${read.identity.name}: ${read.problem}`);
    return read.block;
  }
}
