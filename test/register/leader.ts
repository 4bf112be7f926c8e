/**
 * An operator without its queues, clocks and wires: it hears of objects when it
 * is let to, kind by kind, decides with the real code on what it has heard, and
 * writes to the API model step by step in the order the operator does. It can be
 * stopped after any write (a crash), and it may be one of two.
 */
import { type ClusterNode, readNode } from '../../src/model/node.ts';
import { type Block, blockName, writeBlock, writeGuard } from '../../src/model/node-block.ts';
import { readNodeReport } from '../../src/model/node-report.ts';
import type { KubeObject } from '../../src/model/object.ts';
import type { Prefix } from '../../src/net/prefix.ts';
import { RestCounter } from '../../src/operator/rest-counter.ts';
import { cooldownOf, decideBlock } from '../../src/plan/blocks/block-life.ts';
import type { Cut } from '../../src/plan/blocks/cut.ts';
import { decideNode, type NodeDecision, type Rules } from '../../src/plan/blocks/decide-node.ts';
import { rivalsInGuard } from '../../src/plan/blocks/guards.ts';
import { allHoldings, holdingSources } from '../../src/plan/blocks/holdings.ts';
import {
  type Projection,
  type ProjectionSwitches,
  projectOnCiliumNode,
  projectOnNode,
} from '../../src/plan/blocks/projection.ts';
import { Register } from '../../src/plan/blocks/register.ts';
import { findWitness } from '../../src/plan/blocks/witness.ts';
import {
  type Answer,
  type ApiModel,
  jsonPatched,
  type Kind,
  kinds,
  withSpec,
} from './api-model.ts';
import { blockOf, put } from './objects.ts';

/** Thrown when the writes that were allowed are used up: the process is gone. */
const crash = new Error('the process is gone');

/** As in the operator: a guard this young may belong to an adoption under way. */
const youngGuardMs = 60_000;
const mostRounds = 24;

export class Leader {
  readonly register = new Register(holdingSources);
  /** Every decision of the last reconcile, for whoever wants to check them. */
  onDecision: ((decision: NodeDecision) => void) | undefined;
  /** What somebody else does just before one of this leader's writes. */
  interrupt: { writesBefore: number; work: () => void } | undefined;
  readonly #api: ApiModel;
  readonly #rules: Rules;
  readonly #switches: ProjectionSwitches;
  /** How wrong its wall clock is. */
  clockOffsetMs = 0;
  readonly #rest: RestCounter;
  readonly #heard = new Map<Kind, number>();
  readonly #versions = new Map<string, number>();
  #writesLeft = Number.POSITIVE_INFINITY;

  constructor(api: ApiModel, rules: Rules, switches: ProjectionSwitches) {
    this.#api = api;
    this.#rules = rules;
    this.#switches = switches;
    // The monotonic clocks of two processes have nothing to do with each other.
    const startedMs = api.nowMs;
    const clock = { monotonicMs: () => api.nowMs - startedMs };
    this.#rest = new RestCounter({ clock, term: () => this });
    // A list shows the present; what was before it is never heard of.
    for (const kind of kinds) {
      this.#heard.set(kind, api.log(kind).length);
      for (const object of api.list(kind)) this.#learn(kind, object);
    }
  }

  /** Whether nothing happened that this leader has not heard of. */
  get isCurrent(): boolean {
    return kinds.every((kind) => this.#heard.get(kind) === this.#api.log(kind).length);
  }

  /** Hears of what happened to a kind, up to now or only so many events on. */
  hear(kind: Kind, atMost = Number.POSITIVE_INFINITY): void {
    const log = this.#api.log(kind);
    const from = this.#heard.get(kind) ?? 0;
    const to = Math.min(log.length, from + atMost);
    for (const { name, version, object } of log.slice(from, to)) {
      if (object !== undefined) this.#learn(kind, object);
      else this.#forget(kind, name, version);
    }
    this.#heard.set(kind, to);
  }

  /**
   * After a watch that broke off: the present is listed, and what happened in
   * between is never heard of. A name may have passed to quite another object.
   */
  relist(kind: Kind): void {
    this.#heard.set(kind, this.#api.log(kind).length);
    for (const name of [...this.#known(kind).keys()]) {
      if (this.#api.get(kind, name) === undefined) {
        this.#forget(kind, name, Number.MAX_SAFE_INTEGER);
        this.#versions.delete(`${kind}/${name}`);
      }
    }
    for (const object of this.#api.list(kind)) this.#learn(kind, object);
  }

  #known(kind: Kind): ReadonlyMap<string, unknown> {
    const { register } = this;
    if (kind === 'Node') return register.nodes;
    if (kind === 'NodeBlock') return register.blocks;
    if (kind === 'CiliumNode') return register.ciliumNodes;
    if (kind === 'NodeReport') return register.reports;
    return new Map(register.poolSet.pools.map((pool) => [pool.name, pool]));
  }

  hearAll(): void {
    for (const kind of kinds) this.hear(kind);
  }

  /** Reconciles under a limit of writes; false if that was a crash. */
  within(writes: number, work: () => void): boolean {
    this.#writesLeft = writes;
    try {
      work();
      return true;
    } catch (error) {
      if (error === crash) return false;
      throw error;
    } finally {
      this.#writesLeft = Number.POSITIVE_INFINITY;
      this.interrupt = undefined;
    }
  }

  /** As NodeWorker.reconcile: ask, do, and ask again until there is nothing left to do. */
  reconcileNode(name: string): NodeDecision | undefined {
    for (let round = 0; round < mostRounds; round++) {
      const node = this.register.nodes.get(name);
      if (node === undefined) return undefined;
      const decision = decideNode(this.register, node, this.#rules);
      this.onDecision?.(decision);
      const done = this.#writeDecision(decision);
      if (done === 'again') continue;
      if (done === 'refused') return decision;
      return this.#project(decision) ? decision : undefined;
    }
    throw new Error(`${name} did not settle in ${mostRounds} rounds`);
  }

  /** As BlockWorker.reconcile; true if the block was changed. */
  reconcileBlock(name: string, isConfirmed = false): boolean {
    const block = this.register.blocks.get(name);
    if (block?.phase !== 'Cooling') this.#rest.forget(name);
    if (block === undefined) return false;
    const rested = block.phase === 'Cooling' ? this.#rest.seconds(block) : 0;
    const step = decideBlock(this.register, block, rested, this.#rules.byDemand);
    if (step.kind === 'await') return this.#seekWitness(block, rested);
    if (step.kind === 'cool') {
      if (step.nodeGone && !isConfirmed && this.#sees('Node', block.nodeName)) {
        return this.reconcileBlock(name, true);
      }
      if (step.noRecord && !isConfirmed) {
        for (const kind of ['Node', 'CiliumNode', 'NodeReport'] as const) {
          this.#sees(kind, block.nodeName);
        }
        return this.reconcileBlock(name, true);
      }
      const coolingSince = new Date(this.#api.nowMs + this.clockOffsetMs).toISOString();
      const released = step.nodeGone
        ? {}
        : { released: { by: step.noRecord ? 'NoRecord' : 'Agent' } };
      return this.#changeBlock(name, { phase: 'Cooling', coolingSince, ...released });
    }
    if (step.kind !== 'free') return false;
    if (block.phase === 'Guard' && this.#api.nowMs - block.createdMs < youngGuardMs) return false;
    if (step.unlessExists.some((prefix) => this.#sees('NodeBlock', blockName(prefix))))
      return false;
    const isFreed = this.#free(name);
    // And once more: it may have come in between.
    for (const prefix of step.unlessExists) this.#sees('NodeBlock', blockName(prefix));
    return isFreed;
  }

  /** As BlockWorker: the Node and then the report are read afresh, and the witness is written first. */
  #seekWitness(block: Block, rested: number): boolean {
    const { nodeName } = block;
    const node = this.#fresh('Node', nodeName);
    const report = this.#fresh('NodeReport', nodeName);
    const cilium = this.#fresh('CiliumNode', nodeName);
    const pool = this.register.poolSet.homeOf(block);
    const verdict = findWitness({
      block,
      pool,
      cooldownSeconds: cooldownOf(this.register, block),
      restedSeconds: rested,
      node: node && readNode(node),
      report: report && readNodeReport(report),
      isRecorded: allHoldings(this.register.holdingsOf(nodeName)).some((held) =>
        held.overlaps(block.prefix),
      ),
      routers: { kind: 'none' },
      traces: node === undefined && cilium !== undefined ? ['a CiliumNode'] : [],
    });
    const restedSeconds = Math.floor(rested);
    if (verdict.kind !== 'witness') {
      if (block.restedSeconds !== undefined) return false;
      return this.#changeBlock(block.name, { restedSeconds });
    }
    return this.#changeBlock(block.name, { released: { by: verdict.by }, restedSeconds });
  }

  #fresh(kind: Kind, name: string): KubeObject | undefined {
    return this.#sees(kind, name) ? this.#api.get(kind, name) : undefined;
  }

  /** As PoolWorker: a pool that is being deleted goes when nothing of it is left. */
  reconcilePool(name: string): void {
    const pool = this.register.poolSet.get(name);
    if (!pool?.deleting || this.register.blocksOfPool(name).size > 0) return;
    const { uid, resourceVersion } = pool;
    this.#write('IPPool', () => this.#api.delete('IPPool', name, { uid, resourceVersion }));
  }

  #writeDecision(decision: NodeDecision): 'again' | 'refused' | 'nothing' {
    const { node, rebind, adopt, surplus, assign, unguarded } = decision;
    for (const block of rebind) {
      const phase = block.phase === 'Cooling' ? 'Active' : block.phase;
      const addresses = node.addresses.length > 0 ? { addresses: node.addresses } : {};
      const change = {
        phase,
        coolingSince: null,
        restedSeconds: null,
        released: null,
        node: { name: node.name, uid: node.uid, ...addresses },
      };
      if (!this.#changeBlock(block.name, change)) return 'refused';
    }
    for (const cut of adopt) {
      if (!this.#guard(cut)) return 'refused';
      const made = this.#create(cut, node);
      if (made === 'held') return 'refused';
      if (made === 'made' && !this.#isStillGuarded(cut)) {
        this.#free(blockName(cut.prefix));
        return 'refused';
      }
    }
    if (rebind.length > 0 || adopt.length > 0) return 'again';
    for (const cut of unguarded) if (!this.#guard(cut)) return 'refused';
    const spare = surplus.find((block) => block.phase !== 'Draining');
    if (spare !== undefined) {
      return this.#changeBlock(spare.name, { phase: 'Draining' }) ? 'again' : 'refused';
    }
    if (assign.length === 0) return 'nothing';
    return this.#assign(decision) ? 'again' : 'refused';
  }

  #assign({ node, assign }: NodeDecision): boolean {
    const created: string[] = [];
    for (const { prefix } of assign) this.register.reserve(node.name, prefix);
    try {
      for (const cut of assign) {
        if (cut.replaces !== undefined && !this.#free(cut.replaces.name)) return false;
        const made = this.#create(cut, node);
        // Only what this very write made is taken back: an own block that was there is in use.
        if (made === 'made') created.push(blockName(cut.prefix));
        if (made === 'held') {
          const again = decideNode(this.register, node, this.#rules);
          const isStuck = again.refused.length > 0 && again.assign.length === 0;
          if (isStuck) for (const name of created) this.#free(name);
          return false;
        }
      }
      return true;
    } finally {
      for (const { prefix } of assign) this.register.unreserve(node.name, prefix);
    }
  }

  #guard({ prefix, pool, guards }: Cut): boolean {
    return guards.every((cell) => {
      const text = prefix.toString();
      const answer = this.#write('NodeBlock', () =>
        this.#api.create(writeGuard(cell, pool, [text])),
      );
      if (answer.kind !== 'exists') return true;
      const block = blockOf(answer.object);
      if (block.phase !== 'Guard') return false;
      if (block.guards.includes(text)) return true;
      const rivals = rivalsInGuard(block, prefix);
      if (rivals.length > 0 && this.#sees('NodeBlock', blockName(prefix))) return false;
      if (!rivals.every((rival) => this.#takeName(rival, pool, text))) return false;
      const guards = block.guards.filter((one) => !rivals.some((rival) => `${rival}` === one));
      return this.#changeBlock(block.name, { guards: [...guards, text] });
    });
  }

  /** So that whoever listed the rival can no longer make it. */
  #takeName(rival: Prefix, pool: string, text: string): boolean {
    const body = writeGuard(rival, pool, [text]);
    const answer = this.#write('NodeBlock', () => this.#api.create(body));
    if (answer.kind !== 'exists') return answer.kind === 'done';
    const { phase, guards, name } = blockOf(answer.object);
    if (phase !== 'Guard') return false;
    return guards.includes(text) || this.#changeBlock(name, { guards: [...guards, text] });
  }

  /**
   * An odd block is looked after once more when it is there: the names it had taken
   * may have become free again while its leader slept.
   */
  #isStillGuarded({ prefix, guards }: Cut): boolean {
    return guards.every((cell) => {
      const found = this.#api.get('NodeBlock', blockName(cell));
      if (found === undefined) return false;
      this.#learn('NodeBlock', found);
      const block = blockOf(found);
      if (block.phase !== 'Guard' || !block.guards.includes(prefix.toString())) return false;
      return !rivalsInGuard(block, prefix).some((rival) => {
        const found = this.#api.get('NodeBlock', blockName(rival));
        return found !== undefined && blockOf(found).phase !== 'Guard';
      });
    });
  }

  #create({ prefix, pool }: Cut, node: ClusterNode): 'made' | 'own' | 'held' {
    const { name: nodeName, uid: nodeUid, addresses: nodeAddresses } = node;
    const body = writeBlock({ prefix, pool, nodeName, nodeUid, nodeAddresses });
    const answer = this.#write('NodeBlock', () => this.#api.create(body));
    if (answer.kind === 'done') return 'made';
    return this.#isOwn(answer, prefix, node.name) ? 'own' : 'held';
  }

  #isOwn(answer: Answer, prefix: Prefix, nodeName: string): boolean {
    if (answer.kind !== 'exists') return false;
    const block = blockOf(answer.object);
    return block.nodeName === nodeName && block.prefix.equals(prefix);
  }

  #changeBlock(name: string, fields: Record<string, unknown>): boolean {
    const block = this.register.blocks.get(name);
    if (block === undefined) return false;
    const { uid, resourceVersion } = block;
    const answer = this.#write('NodeBlock', () =>
      this.#api.change('NodeBlock', name, { uid, resourceVersion }, (o) => withSpec(o, fields)),
    );
    if (answer.kind === 'missing') this.register.removeBlock(name);
    return answer.kind === 'done';
  }

  #free(name: string): boolean {
    const { uid, resourceVersion } = this.register.blocks.get(name) ?? {};
    if (uid === undefined || resourceVersion === undefined) return false;
    const fence = { uid, resourceVersion };
    const answer = this.#write('NodeBlock', () => this.#api.delete('NodeBlock', name, fence));
    if (answer.kind === 'missing') this.register.removeBlock(name);
    return answer.kind === 'done';
  }

  /** Past every cache: is there such an object? What comes back corrects the copy. */
  #sees(kind: Kind, name: string): boolean {
    const found = this.#api.get(kind, name);
    if (found !== undefined) this.#learn(kind, found);
    return found !== undefined;
  }

  #project(decision: NodeDecision): boolean {
    const { node, keep, refused } = decision;
    const blocks = [...keep]
      .map(({ prefix }) => prefix)
      .sort((a, b) => (a.family === b.family ? 0 : a.family === 'ipv4' ? -1 : 1));
    if (blocks.length === 0) return true;
    const onNode = projectOnNode(node, blocks, refused.length === 0, this.#switches);
    if (!this.#writeProjection('Node', node.name, onNode)) return false;
    const cilium = this.register.ciliumNodes.get(node.name);
    const onCilium = projectOnCiliumNode(cilium, blocks, this.#switches);
    return this.#writeProjection('CiliumNode', node.name, onCilium);
  }

  #writeProjection(kind: Kind, name: string, projection: Projection): boolean {
    if (projection.kind === 'none') return true;
    const answer = this.#write(kind, () =>
      this.#api.change(kind, name, {}, (o) => jsonPatched(o, projection.operations)),
    );
    return answer.kind === 'done';
  }

  /** Every write goes through here: it may be the last, and its answer is learned. */
  #write(kind: Kind, write: () => Answer): Answer {
    if (this.#writesLeft <= 0) throw crash;
    this.#writesLeft--;
    const interrupt = this.interrupt;
    if (interrupt !== undefined && --interrupt.writesBefore < 0) {
      this.interrupt = undefined;
      interrupt.work();
    }
    const answer = write();
    if (answer.kind === 'missing') return answer;
    const { name = '' } = answer.object.metadata ?? {};
    if (answer.kind !== 'done' || this.#api.get(kind, name) === answer.object) {
      this.#learn(kind, answer.object);
    } else this.#forget(kind, name, answer.version);
    return answer;
  }

  /** What is older than what is known already says nothing. */
  #isNews(kind: Kind, name: string, version: number): boolean {
    const key = `${kind}/${name}`;
    if ((this.#versions.get(key) ?? -1) >= version) return false;
    this.#versions.set(key, version);
    return true;
  }

  #learn(kind: Kind, object: KubeObject): void {
    const { name = '', resourceVersion } = object.metadata ?? {};
    if (this.#isNews(kind, name, Number(resourceVersion))) put(this.register, object);
  }

  #forget(kind: Kind, name: string, version: number): void {
    if (!this.#isNews(kind, name, version)) return;
    if (kind === 'IPPool') this.register.removePool(name);
    else if (kind === 'Node') this.register.removeNode(name);
    else if (kind === 'NodeBlock') this.register.removeBlock(name);
    else if (kind === 'CiliumNode') this.register.removeCiliumNode(name);
    else this.register.removeReport(name);
  }
}
