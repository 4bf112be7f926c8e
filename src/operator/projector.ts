import type { Counter } from '../base/metrics.ts';
import { ApiError } from '../kube/api-error.ts';
import { decodeNode } from '../kube/protobuf/node.ts';
import type { Resource } from '../kube/resource.ts';
import type { Reason } from '../model/reasons.ts';
import { ciliumNodes, nodes } from '../model/resources.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { NodeDecision } from '../plan/blocks/decide-node.ts';
import { refusalText } from '../plan/blocks/finding.ts';
import { projectOnPools } from '../plan/blocks/pool-projection.ts';
import {
  immutableDisagreement,
  type Projection,
  type ProjectionSwitches,
  projectedBlocks,
  projectOnCiliumNode,
  projectOnNode,
} from '../plan/blocks/projection.ts';
import type { BlockWriter } from './block-writer.ts';
import type { NodeReporter } from './node-reporter.ts';
import type { WriterBase } from './operator-base.ts';

/**
 * Writes the register's blocks to where others read them. A projection that is refused, or
 * that somebody else keeps overwriting, is reported and tried again ever more
 * slowly; it is never fought over in a hot loop, and never touches the register.
 */
interface ProjectorOptions extends WriterBase {
  writer: BlockWriter;
  switches: Readonly<ProjectionSwitches>;
  /** Whether the cluster has CiliumNodes to write to. */
  cilium: { readonly isUsed: boolean };
  /** Caches that the answers of our own writes go into. */
  nodeStore: { put(raw: unknown): void };
  ciliumStore: { put(raw: unknown): void };
  reporter: Pick<NodeReporter, 'event'>;
}

const done = { kind: 'done' } as const;

type Projected = { kind: 'done' } | { kind: 'decide again' } | { kind: 'later'; afterMs: number };

/**
 * The same words written so often within the window are a contest: somebody undoes
 * them, by overwriting or by removing, it does not matter which.
 */
const contestCount = 3;
const contestWindowMs = 10 * 60_000;
const firstPauseMs = 10_000;
const slowestMs = 5 * 60_000;

interface Written {
  /** What was written, and on which incarnation of the node. */
  words: string;
  count: number;
  lastMs: number;
  isReported: boolean;
}

export class Projector {
  readonly #o: ProjectorOptions;
  readonly #written = new Map<string, Written>();
  readonly #counter: Counter;

  constructor(options: ProjectorOptions) {
    this.#o = options;
    this.#counter = options.metrics.counter(
      'cadastre_projections_total',
      'Projections of the register written to other objects, by target and result.',
    );
  }

  forget(node: string): void {
    for (const target of ['node', 'ciliumnode']) this.#written.delete(`${target}/${node}`);
  }

  async project(decision: NodeDecision): Promise<Projected> {
    const { register } = this.#o;
    const { node } = decision;
    const { annotations, nodeSpec, ciliumNode } = this.#o.switches;
    const switches = { annotations, nodeSpec, ciliumNode: ciliumNode && this.#o.cilium.isUsed };
    const pools = this.#o.switches.ciliumPools && this.#o.cilium.isUsed;
    const listed = pools ? await this.#projectPools(decision) : done;
    if (decision.keep.length === 0 || listed.kind === 'decide again') return listed;
    const cilium = register.ciliumNodes.get(node.name);
    const { onNode: blocks, onCilium: ciliumBlocks } = projectedBlocks(decision.keep, cilium);
    const complete = decision.refused.length === 0;
    const stuck = immutableDisagreement(node, blocks, switches);
    if (stuck !== undefined) this.#report(decision, 'ProjectionRefused', stuck);
    const onNode = projectOnNode(node, blocks, complete, switches);
    const first = await this.#write(decision, onNode, nodes, 'node');
    if (first.kind === 'decide again') return first;
    const onCilium = projectOnCiliumNode(cilium, ciliumBlocks, switches);
    const second = await this.#write(decision, onCilium, ciliumNodes, 'ciliumnode');
    // One record that must wait does not hold up the other.
    if (second.kind === 'decide again') return second;
    const later = [first, second, listed].filter((one) => one.kind === 'later');
    if (later.length === 0) return done;
    return { kind: 'later', afterMs: Math.min(...later.map(({ afterMs }) => afterMs)) };
  }

  /** Mode multi-pool: the blocks by pool. */
  #projectPools(decision: NodeDecision): Promise<Projected> {
    const { register } = this.#o;
    const cilium = register.ciliumNodes.get(decision.node.name);
    const projection = projectOnPools(register, cilium, decision.keep);
    return this.#write(decision, projection, ciliumNodes, 'ciliumnode');
  }

  /**
   * Why a node lacks a block, where Cilium's users look for it: the place in which
   * cilium-operator says so. Cleared when the node is served.
   */
  async reportOnCiliumNode({ node, refused }: NodeDecision): Promise<void> {
    const { switches, cilium, register, client, ciliumStore, log } = this.#o;
    const known = register.ciliumNodes.get(node.name);
    const isWanted = switches.ciliumNode || switches.ciliumPools;
    if (!isWanted || !cilium.isUsed || known === undefined) return;
    const error = refusalText(refused);
    if (error === (known.operatorError ?? '')) return;
    const body = {
      metadata: { uid: known.uid },
      status: { ipam: { 'operator-status': error === '' ? null : { error } } },
    };
    this.#o.assertLeading();
    try {
      const options = { type: 'merge', subresource: 'status', body } as const;
      ciliumStore.put(await client.patch(ciliumNodes, node.name, options));
    } catch (failure) {
      if (!(failure instanceof ApiError) || failure.outcome === 'unknown') throw failure;
      if (!failure.isNotFound) log.warn({ node: node.name }, failure.message);
    }
  }

  async #write(
    decision: NodeDecision,
    projection: Projection,
    resource: Resource,
    target: 'node' | 'ciliumnode',
  ): Promise<Projected> {
    if (projection.kind === 'none') return { kind: 'done' };
    const { name } = decision.node;
    const { client } = this.#o;
    const store = target === 'node' ? this.#o.nodeStore : this.#o.ciliumStore;
    const { overwrites } = projection;
    if (await this.#learnOwn(decision, overwrites)) return { kind: 'decide again' };
    const waitMs = this.#contestedForMs(decision, target, overwrites);
    if (waitMs > 0) return { kind: 'later', afterMs: waitMs };
    this.#o.assertLeading();
    try {
      const answer = await client.patch(resource, name, {
        type: 'json',
        body: projection.operations,
        decode: target === 'node' ? decodeNode : undefined,
      });
      store.put(answer);
      this.#remember(decision, target);
      this.#counter.inc({ target, result: 'written' });
      return { kind: 'done' };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return this.#failed(decision, error, resource, target, store);
    }
  }

  /**
   * Before a record that names another block is overwritten, the API server is
   * asked whose block that is: if it is this node's own, then it is our cache
   * that is behind, and the record is right.
   */
  async #learnOwn(decision: NodeDecision, overwrites: readonly string[]): Promise<boolean> {
    const { name } = decision.node;
    for (const text of overwrites) {
      const prefix = parsePrefix(text);
      if (prefix === undefined) continue;
      const isKnown = this.#o.register.blocksOf(name).some((block) => block.prefix.equals(prefix));
      if (isKnown) continue;
      const block = await this.#o.writer.look(prefix);
      if (block?.nodeName === name) return true;
    }
    return false;
  }

  /** How long to leave a contested record alone; 0 to write now. */
  #contestedForMs(decision: NodeDecision, target: string, overwrites: readonly string[]): number {
    const written = this.#lastWritten(decision, target);
    if (written === undefined || written.count < contestCount) return 0;
    const pauseMs = Math.min(slowestMs, firstPauseMs * 2 ** (written.count - contestCount));
    const leftMs = written.lastMs + pauseMs - this.#o.clock.monotonicMs();
    if (leftMs <= 0) return 0;
    if (!written.isReported) {
      written.isReported = true;
      this.#counter.inc({ target, result: 'contested' });
      const now = overwrites.length > 0 ? `it says ${overwrites.join(', ')}` : 'it is gone';
      const message = `another writer keeps undoing the ${target} record of ${decision.node.name} (now ${now}); it is left alone for ${pauseMs / 1000} s, then written again ever more slowly`;
      this.#report(decision, 'ProjectionContested', message);
    }
    return leftMs;
  }

  #lastWritten(decision: NodeDecision, target: string): Written | undefined {
    const last = this.#written.get(`${target}/${decision.node.name}`);
    if (last === undefined || last.words !== wordsOf(decision)) return undefined;
    return this.#o.clock.monotonicMs() - last.lastMs < contestWindowMs ? last : undefined;
  }

  /** Only what was certainly done counts: a server that fails is no rival. */
  #remember(decision: NodeDecision, target: string): void {
    const count = (this.#lastWritten(decision, target)?.count ?? 0) + 1;
    const lastMs = this.#o.clock.monotonicMs();
    const words = wordsOf(decision);
    this.#written.set(`${target}/${decision.node.name}`, {
      words,
      count,
      lastMs,
      isReported: false,
    });
  }

  async #failed(
    decision: NodeDecision,
    error: ApiError,
    resource: Resource,
    target: string,
    store: { put(raw: unknown): void },
  ): Promise<Projected> {
    const { name } = decision.node;
    if (error.outcome === 'unknown' || error.isThrottled) throw error;
    if (error.isNotFound) {
      // The node, or Cilium's resource, is gone; the watch will say so.
      this.#counter.inc({ target, result: 'gone' });
      return { kind: 'later', afterMs: 5_000 };
    }
    // A failed test: the cache was behind.
    const fresh = await this.#o.client.get(resource, name).catch(() => undefined);
    if (fresh !== undefined) {
      const before = versionOf(
        resource === nodes ? decision.node : this.#o.register.ciliumNodes.get(name),
      );
      store.put(fresh);
      if (fresh.metadata.resourceVersion !== before) return { kind: 'decide again' };
    }
    this.#counter.inc({ target, result: 'refused' });
    this.#report(decision, 'ProjectionRefused', error.message);
    return { kind: 'later', afterMs: 60_000 };
  }

  #report({ node }: NodeDecision, reason: Reason, message: string): void {
    this.#o.log.warn({ reason, node: node.name }, message);
    this.#o.reporter.event(node, 'Warning', reason, message);
  }
}

function wordsOf({ node, keep }: NodeDecision): string {
  return `${node.uid} ${keep.map((block) => block.name).join(' ')}`;
}

function versionOf(kept: { resourceVersion: string } | undefined): string | undefined {
  return kept?.resourceVersion;
}
