import { getIfThere } from '../kube/get-if-there.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import { clusterKinds, type WitnessReport } from '../model/cluster-kinds.ts';
import { type ClusterNode, readNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import { nodeReports, nodes } from '../model/resources.ts';
import { whyUnattributed } from '../plan/blocks/attribution.ts';
import { cooldownOf } from '../plan/blocks/block-life.ts';
import type { HeardRouters } from '../plan/blocks/heard-routers.ts';
import { allHoldings } from '../plan/blocks/holdings.ts';
import type { Register } from '../plan/blocks/register.ts';
import { routersClear, routersOfNode } from '../plan/blocks/routers-clear.ts';
import { findWitness, type WitnessVerdict } from '../plan/blocks/witness.ts';
import { NodeTraces } from './node-traces.ts';
import type { OperatorBase } from './operator-base.ts';

/**
 * Looks for somebody who says that the old node of a cooling block does not use it.
 * First in memory, which costs nothing; what looks like a witness there is asked for
 * again of the API server itself: the Node, then the NodeReport (plan/blocks/witness
 * says why in this order), the policy that the report was written under, and what is left of the node only if nobody else can know.
 */
interface WitnessSearchOptions extends OperatorBase {
  register: Register;
  nodeStore: { put(raw: unknown): void };
  reportStore: { get(name: string): WitnessReport | undefined; put(raw: unknown): void };
  attribution: { look(): Promise<void> };
  heard: HeardRouters;
  peers(): readonly BgpPeer[];
}

interface Known {
  node: ClusterNode | undefined;
  report: WitnessReport | undefined;
  traces?: readonly string[];
}

/** What was left of a node is believed for so long: looking costs several lists. */
const lookEveryMs = 30_000;

export class WitnessSearch {
  readonly #o: WitnessSearchOptions;
  readonly #traces: NodeTraces;
  readonly #lastLook = new Map<string, { atMs: number; traces: readonly string[] }>();

  constructor(options: WitnessSearchOptions) {
    this.#o = options;
    this.#traces = new NodeTraces(options);
  }

  async find(block: Block, restedSeconds: number): Promise<WitnessVerdict> {
    const { register, reportStore, attribution, clock } = this.#o;
    const nowMs = clock.monotonicMs();
    const last = this.#lastLook.get(block.name);
    const isRecent = last !== undefined && nowMs - last.atMs < lookEveryMs;
    const inMemory = this.#judge(block, restedSeconds, {
      node: register.nodes.get(block.nodeName),
      report: reportStore.get(block.nodeName),
      ...(isRecent ? { traces: last.traces } : {}),
    });
    if (inMemory.kind === 'awaiting') return inMemory;
    const known: Known = { node: await this.#freshNode(block), report: undefined };
    known.report = await this.#freshReport(block);
    await attribution.look();
    const fresh = this.#judge(block, restedSeconds, known);
    if (fresh.kind !== 'look for traces') return fresh;
    const traces =
      known.node === undefined
        ? await this.#traces.ofGoneNode(block)
        : await this.#traces.inBlock(block);
    this.#lastLook.set(block.name, { atMs: nowMs, traces });
    return this.#judge(block, restedSeconds, { ...known, traces });
  }

  /** What lives in a block of a node that is there, or of its namesake. */
  usesOf(block: Block): Promise<readonly string[]> {
    return this.#traces.inBlock(block);
  }

  forget(block: Block): void {
    this.#lastLook.delete(block.name);
    this.#traces.forget(block);
  }

  #judge(block: Block, restedSeconds: number, known: Known): WitnessVerdict {
    const { register, heard, peers, clock } = this.#o;
    const { node, report } = known;
    const doubt = whyUnattributed(register.attribution, report);
    const sessions = report?.nodeUid === block.nodeUid ? report.status?.sessions : undefined;
    const labels = node?.uid === block.nodeUid ? node.labels : undefined;
    const verdict = findWitness({
      ...known,
      doubt,
      block,
      pool: register.poolSet.homeOf(block),
      cooldownSeconds: cooldownOf(register, block),
      restedSeconds,
      isRecorded: allHoldings(register.holdingsOf(block.nodeName)).some((held) =>
        held.overlaps(block.prefix),
      ),
      routers: routersClear({
        heard,
        routers: routersOfNode(peers(), sessions, labels, doubt === undefined),
        prefix: block.prefix,
        nodeAddresses: block.nodeAddresses ?? [],
        nowMs: clock.monotonicMs(),
      }),
    });
    this.#o.log.debug?.(
      { node: block.nodeName, block: `${block.prefix}`, state: verdict.kind, detail: verdict },
      'judged whether the old node of a block still uses it',
    );
    return verdict;
  }

  async #freshNode({ nodeName }: Block): Promise<ClusterNode | undefined> {
    const raw = await getIfThere(this.#o.client, nodes, nodeName);
    if (raw === undefined) return undefined;
    this.#o.nodeStore.put(raw);
    return readNode(raw);
  }

  async #freshReport({ nodeName }: Block): Promise<WitnessReport | undefined> {
    const raw = await getIfThere(this.#o.client, nodeReports, nodeName);
    if (raw === undefined) return undefined;
    this.#o.reportStore.put(raw);
    return clusterKinds.reports.read(raw).item;
  }
}
