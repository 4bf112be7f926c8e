/**
 * The operator of the site: the real decisions about nodes, blocks and witnesses, on what it
 * can reach. Its replicas count rest by their own clocks; a new one goes on from what is written.
 */

import { readNode } from '../../src/model/node.ts';
import type { Block } from '../../src/model/node-block.ts';
import { blockName, recordedAddresses, writeBlock } from '../../src/model/node-block.ts';
import { readNodeReport } from '../../src/model/node-report.ts';
import { cooldownOf, decideBlock } from '../../src/plan/blocks/block-life.ts';
import { decideNode, type NodeDecision } from '../../src/plan/blocks/decide-node.ts';
import { type HeardRouters, noHeardRouters } from '../../src/plan/blocks/heard-routers.ts';
import type { Register } from '../../src/plan/blocks/register.ts';
import { routersClear } from '../../src/plan/blocks/routers-clear.ts';
import { findWitness } from '../../src/plan/blocks/witness.ts';
import { type Kind, kinds, withSpec } from '../register/api-model.ts';
import { auto, blockOf, registerOf } from '../register/objects.ts';
import { SimEar } from './router.ts';
import { type Site, tickMs } from './site.ts';

export class SimOperator {
  isApiCut = false;
  readonly routerCuts = new Set<number>();
  readonly #site: Site;
  #ears: SimEar[] = [];
  /** What this leader has watched, by uid of the block. */
  #watchedMs = new Map<string, number>();
  #writtenAtMs = 0;
  #known: { version: number; register: Register } | undefined;

  constructor(site: Site) {
    this.#site = site;
    this.changeLeader();
  }

  /** The next one has heard nothing and watched nothing. */
  changeLeader(): void {
    this.#ears = this.#site.routers.map((router) => new SimEar(router));
    this.#watchedMs = new Map();
  }

  step(): void {
    const site = this.#site;
    if (site.choices.hasWitness) {
      for (const [at, ear] of this.#ears.entries()) {
        ear.listen(!this.routerCuts.has(at), site.nowMs);
      }
    }
    if (this.isApiCut || !site.isApiUp) return;
    this.#collectReports();
    for (const { metadata } of [...site.api.list('Node')]) this.#serve(metadata?.name ?? '');
    site.lost.clear();
    for (const { metadata } of [...site.api.list('NodeBlock')]) this.#end(metadata?.name ?? '');
  }

  get #heard(): HeardRouters {
    if (!this.#site.choices.hasWitness) return noHeardRouters;
    return { routers: this.#ears.map((ear) => ear.heard(this.#site.nowMs)) };
  }

  /** Made anew only when something was written. */
  #register(): Register {
    const { api } = this.#site;
    const version = kinds.reduce((sum, kind) => sum + api.log(kind).length, 0);
    if (this.#known?.version !== version) {
      const register = registerOf(kinds.flatMap((kind: Kind) => [...api.list(kind)]));
      this.#known = { version, register };
    }
    return this.#known.register;
  }

  #serve(name: string): void {
    for (let round = 0; round < 4; round++) {
      const register = this.#register();
      const node = register.nodes.get(name);
      if (node === undefined) return;
      if (!this.#write(decideNode(register, node, auto))) return;
    }
  }

  #write({ node, rebind, adopt, assign }: NodeDecision): boolean {
    const { api, choices } = this.#site;
    const addresses = recordedAddresses(node);
    for (const block of rebind) {
      const phase = block.phase === 'Cooling' ? 'Active' : block.phase;
      this.#change(block, {
        phase,
        coolingSince: null,
        restedSeconds: null,
        released: null,
        node: { name: node.name, uid: node.uid, addresses },
      });
      this.#watchedMs.delete(block.uid);
    }
    for (const { prefix, pool, replaces } of [...adopt, ...assign]) {
      if (replaces !== undefined) api.delete('NodeBlock', replaces.name, { uid: replaces.uid });
      const made = writeBlock({ prefix, pool, nodeName: node.name, nodeUid: node.uid });
      const { releaseByTimeSeconds } = choices;
      api.create(
        withSpec(made, {
          node: { name: node.name, uid: node.uid, addresses },
          ...(releaseByTimeSeconds === undefined ? {} : { releaseByTimeSeconds }),
        }),
      );
    }
    return rebind.length + adopt.length > 0;
  }

  #end(name: string): void {
    const { api } = this.#site;
    const object = api.get('NodeBlock', name);
    if (object === undefined) return;
    const register = this.#register();
    const block = blockOf(object);
    const restedSeconds = this.#rested(block);
    const step = decideBlock(register, block, restedSeconds, false);
    switch (step.kind) {
      case 'cool':
        this.#change(block, {
          phase: 'Cooling',
          coolingSince: new Date(api.nowMs).toISOString(),
          restedSeconds: 0,
        });
        return;
      case 'witness':
        this.#change(block, { released: step.by === null ? null : { by: step.by } });
        return;
      case 'await':
        this.#askWitness(register, block, restedSeconds);
        return;
      case 'free':
        api.delete('NodeBlock', name, { uid: block.uid });
        return;
      default:
        this.#writeRest(block, restedSeconds);
    }
  }

  #rested(block: Block): number {
    if (block.phase !== 'Cooling') return 0;
    const watchedMs =
      (this.#watchedMs.get(block.uid) ?? (block.restedSeconds ?? 0) * 1_000 - tickMs) + tickMs;
    this.#watchedMs.set(block.uid, watchedMs);
    return watchedMs / 1_000;
  }

  #writeRest(block: Block, restedSeconds: number): void {
    const { nowMs } = this.#site;
    if (block.phase !== 'Cooling' || nowMs - this.#writtenAtMs < 4 * tickMs) return;
    this.#writtenAtMs = nowMs;
    this.#change(block, { restedSeconds: Math.floor(restedSeconds) });
  }

  #askWitness(register: Register, block: Block, restedSeconds: number): void {
    const { api, nowMs, routers } = this.#site;
    const node = api.get('Node', block.nodeName);
    const report = api.get('NodeReport', block.nodeName);
    const verdict = findWitness({
      block,
      pool: register.poolSet.homeOf(block),
      cooldownSeconds: cooldownOf(register, block),
      restedSeconds,
      node: node && readNode(node),
      report: report && readNodeReport(report),
      isRecorded: false,
      routers: routersClear({
        heard: this.#heard,
        routers: new Set(routers.map(({ address }) => address)),
        prefix: block.prefix,
        nodeAddresses: block.nodeAddresses ?? [],
        nowMs,
      }),
      // Pods and Leases of a Node that is gone are collected; nobody sees a machine in them.
      traces: [],
    });
    if (verdict.kind !== 'witness') {
      this.#writeRest(block, restedSeconds);
      return;
    }
    this.#change(block, { released: { by: verdict.by, detail: verdict.detail } });
  }

  /** As the operator's cleaner of reports: of a Node that is gone, when no block has its name. */
  #collectReports(): void {
    const { api } = this.#site;
    const named = new Set(Array.from(api.list('NodeBlock'), (object) => blockOf(object).nodeName));
    for (const { metadata } of [...api.list('NodeReport')]) {
      const name = metadata?.name ?? '';
      if (named.has(name) || api.get('Node', name) !== undefined) continue;
      api.delete('NodeReport', name);
    }
  }

  #change(block: Block, fields: Record<string, unknown>): void {
    const name = blockName(block.prefix);
    this.#site.api.change('NodeBlock', name, { uid: block.uid }, (object) =>
      withSpec(object, fields),
    );
  }
}
