import { Pool } from 'undici';
import type { ApiServer } from '../parts/apiserver.ts';
import { type AddressRange, rangeOf, touch } from './address-range.ts';
import { pause } from './eventually.ts';
import { annotationKeys, type BlockObject, type NodeObject, paths } from './objects.ts';

/**
 * Somebody who saw everything. The auditor looks at the end; a block that was
 * taken away from a living node and given back in time would escape it. The
 * witness follows Nodes and NodeBlocks from the first moment to the last,
 * straight from the API server. Both live in one etcd, so the version of an
 * event is its place in one common history, and the history can be judged
 * exactly: what was true at the moment of each single write.
 */
export interface Testimony {
  complaints: string[];
  counted: {
    events: number;
    nodesBorn: number;
    nodesGone: number;
    blocksMade: number;
    blocksFreed: number;
    cooled: number;
    returned: number;
    /** Blocks cut for a node that had one already: two leaders at once. Allowed, and drained. */
    surplus: number;
    /** Blocks cut for a node that was gone at that moment. Allowed, and cooled. */
    late: number;
    annotated: number;
  };
}

interface Happening {
  version: bigint;
  receivedMs: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  node?: SeenNode;
  block?: SeenBlock;
}

interface SeenNode {
  name: string;
  uid: string;
  said: Record<string, string>;
}

interface SeenBlock {
  name: string;
  uid: string;
  cidr: string;
  pool: string;
  phase: BlockObject['spec']['phase'];
  holder: string;
  holderUid: string;
  coolingSince: string;
  guards: readonly string[];
}

export class Witness {
  /** Blocks that cooled and went back to their node, seen so far. */
  returns = 0;
  readonly #cooling = new Set<string>();
  readonly #api: ApiServer;
  readonly #history: Happening[] = [];
  readonly #stop = new AbortController();
  readonly #watching: Promise<unknown>[] = [];
  #hand: Pool;

  private constructor(api: ApiServer) {
    this.#api = api;
    this.#hand = handTo(api);
  }

  /** Begins on an empty cluster: what is there already would have no history. */
  static async start(api: ApiServer): Promise<Witness> {
    const witness = new Witness(api);
    for (const path of [paths.nodes, paths.blocks]) {
      const version = await witness.#begin(path);
      witness.#watching.push(witness.#follow(path, version));
    }
    return witness;
  }

  async #begin(path: string): Promise<string> {
    const answer = await this.#hand.request({ method: 'GET', path, headers: this.#headers() });
    const list = (await answer.body.json()) as {
      metadata: { resourceVersion: string };
      items: unknown[];
    };
    if (list.items.length > 0) throw new Error(`the witness came too late for ${path}`);
    return list.metadata.resourceVersion;
  }

  /** Watches to the end; a watch that ends goes on where it ended. */
  async #follow(path: string, from: string): Promise<void> {
    let version = from;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const answer = await this.#hand.request({
          method: 'GET',
          path: `${path}?watch=true&allowWatchBookmarks=true&resourceVersion=${version}`,
          headers: this.#headers(),
          signal,
        });
        if (answer.statusCode !== 200) throw new Error(`watch: ${answer.statusCode}`);
        let rest = '';
        for await (const piece of answer.body) {
          const lines = (rest + piece).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) version = this.#hear(path, line) ?? version;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (String(error).includes('lost history')) throw error;
        await pause(100);
      }
    }
  }

  #hear(path: string, line: string): string | undefined {
    if (line === '') return undefined;
    const { type, object } = JSON.parse(line) as {
      type: Happening['type'] | 'BOOKMARK' | 'ERROR';
      object: NodeObject & BlockObject;
    };
    if (type === 'ERROR') throw new Error(`lost history: ${line}`);
    const { resourceVersion } = object.metadata;
    if (type === 'BOOKMARK') return resourceVersion;
    const seen = path === paths.nodes ? { node: seenNode(object) } : { block: seenBlock(object) };
    this.#history.push({
      version: BigInt(resourceVersion),
      receivedMs: Date.now(),
      type,
      ...seen,
    });
    if (seen.block !== undefined) this.#countReturn(seen.block);
    return resourceVersion;
  }

  #countReturn({ uid, phase }: SeenBlock): void {
    if (phase === 'Cooling') this.#cooling.add(uid);
    else if (this.#cooling.delete(uid)) this.returns += 1;
  }

  #headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#api.token}`, 'user-agent': 'the-witness' };
  }

  /** After the API server was down. */
  async reconnect(): Promise<void> {
    const old = this.#hand;
    this.#hand = handTo(this.#api);
    await old.destroy();
  }

  /** Waits until everything up to now was heard, then says what was wrong with it. */
  async testify(cooldownSeconds: (pool: string) => number): Promise<Testimony> {
    await pause(500);
    this.#stop.abort();
    await Promise.all(this.#watching);
    await this.#hand.destroy();
    return judgeHistory(this.#history, cooldownSeconds);
  }
}

function handTo(api: ApiServer): Pool {
  return new Pool(api.url, {
    connections: 4,
    connect: { ca: api.ca },
    bodyTimeout: 0,
    headersTimeout: 0,
  });
}

function seenNode({ metadata }: NodeObject): SeenNode {
  const said: Record<string, string> = {};
  for (const key of [...annotationKeys.ipv4, ...annotationKeys.ipv6]) {
    const value = metadata.annotations?.[key];
    if (value !== undefined) said[key] = value;
  }
  return { name: metadata.name, uid: metadata.uid, said };
}

function seenBlock({ metadata, spec }: BlockObject): SeenBlock {
  return {
    name: metadata.name,
    uid: metadata.uid,
    cidr: spec.cidr,
    pool: spec.pool,
    phase: spec.phase,
    holder: spec.node?.name ?? '',
    holderUid: spec.node?.uid ?? '',
    coolingSince: spec.coolingSince ?? '',
    guards: spec.guards ?? [],
  };
}

export function judgeHistory(
  history: readonly Happening[],
  cooldownSeconds: (pool: string) => number,
): Testimony {
  const judge = new HistoryJudge(cooldownSeconds);
  const inOrder = [...history].sort((a, b) => Number(a.version - b.version));
  for (const happening of inOrder) judge.consider(happening);
  return judge.testimony;
}

class HistoryJudge {
  readonly testimony: Testimony = {
    complaints: [],
    counted: {
      events: 0,
      nodesBorn: 0,
      nodesGone: 0,
      blocksMade: 0,
      blocksFreed: 0,
      cooled: 0,
      returned: 0,
      surplus: 0,
      late: 0,
      annotated: 0,
    },
  };
  readonly #cooldownSeconds: (pool: string) => number;
  readonly #nodes = new Map<string, SeenNode>();
  readonly #uids = new Map<string, Set<string>>();
  readonly #blocks = new Map<string, SeenBlock>();
  readonly #heldBy = new Map<string, Set<SeenBlock>>();
  readonly #ranges = { ipv4: new RangeIndex(), ipv6: new RangeIndex() };

  constructor(cooldownSeconds: (pool: string) => number) {
    this.#cooldownSeconds = cooldownSeconds;
  }

  consider({ type, node, block, receivedMs, version }: Happening): void {
    this.testimony.counted.events += 1;
    const complain = (what: string) => this.testimony.complaints.push(`at ${version}: ${what}`);
    if (node !== undefined) this.#considerNode(type, node, complain);
    if (block !== undefined) this.#considerBlock(type, block, receivedMs, complain);
  }

  #considerNode(type: string, node: SeenNode, complain: (what: string) => void): void {
    const { counted } = this.testimony;
    if (type === 'DELETED') {
      counted.nodesGone += 1;
      this.#nodes.delete(node.name);
      return;
    }
    const before = this.#nodes.get(node.name);
    this.#nodes.set(node.name, node);
    if (type === 'ADDED') {
      counted.nodesBorn += 1;
      this.#uids.set(node.name, (this.#uids.get(node.name) ?? new Set()).add(node.uid));
    }
    for (const [key, cidr] of Object.entries(node.said)) {
      const last = before?.said[key];
      if (last === cidr) continue;
      counted.annotated += 1;
      if (last !== undefined) complain(`${key} of ${node.name} went from ${last} to ${cidr}`);
      const block = this.#blocks.get(cidr.replace(/[./:]/g, '-'));
      // A projection is written from the register: what it says was true when it was written.
      if (block?.holder !== node.name) {
        const owner = block === undefined ? 'nobody' : `${block.holder} (${block.phase})`;
        complain(`${key} of ${node.name} says ${cidr}, which is held by ${owner}`);
      }
    }
  }

  #considerBlock(
    type: string,
    block: SeenBlock,
    receivedMs: number,
    complain: (what: string) => void,
  ): void {
    const before = this.#blocks.get(block.name);
    if (type === 'ADDED') this.#added(block, complain);
    else if (before === undefined) complain(`${block.cidr} changed before it was made`);
    else if (type === 'MODIFIED') this.#changed(block, before, complain);
    else this.#freed(before, receivedMs, complain);
  }

  #added(block: SeenBlock, complain: (what: string) => void): void {
    const { counted } = this.testimony;
    counted.blocksMade += 1;
    if (this.#blocks.has(block.name)) complain(`${block.cidr} was made twice`);
    const range = rangeOf(block.cidr);
    for (const other of this.#ranges[range.family].touching(range)) {
      const guarded = [...other.guards, ...block.guards];
      if (guarded.includes(block.cidr) || guarded.includes(other.cidr)) continue;
      complain(`${block.cidr} of ${block.holder} overlaps ${other.cidr} of ${other.holder}`);
    }
    if (this.#nodes.get(block.holder)?.uid !== block.holderUid) counted.late += 1;
    const siblings = [...(this.#heldBy.get(block.holder) ?? [])].filter(
      (other) => other.phase === 'Active' && rangeOf(other.cidr).family === range.family,
    );
    if (siblings.length > 0) counted.surplus += 1;
    this.#put(block);
  }

  #changed(block: SeenBlock, before: SeenBlock, complain: (what: string) => void): void {
    const { counted } = this.testimony;
    const what = `${block.cidr} of ${block.holder}`;
    if (block.holder !== before.holder) complain(`${what} passed over from ${before.holder}`);
    if (block.phase === 'Cooling' && before.phase !== 'Cooling') {
      counted.cooled += 1;
      const isAlive = this.#nodes.get(block.holder)?.uid === before.holderUid;
      if (isAlive && before.phase === 'Active') complain(`${what} cooled under a living node`);
      if (isAlive && this.#isSaid(block)) complain(`${what} cooled while its node speaks of it`);
    }
    if (before.phase === 'Cooling' && block.phase === 'Active') counted.returned += 1;
    if (block.holderUid !== before.holderUid) {
      const known = this.#uids.get(block.holder)?.has(block.holderUid) ?? false;
      if (!known) complain(`${what} went to a uid that no node had`);
    }
    this.#drop(before);
    this.#put(block);
  }

  #freed(block: SeenBlock, receivedMs: number, complain: (what: string) => void): void {
    this.testimony.counted.blocksFreed += 1;
    const what = `${block.cidr} of ${block.holder} (${block.phase})`;
    const isAlive = this.#nodes.get(block.holder)?.uid === block.holderUid;
    if (block.phase === 'Cooling') {
      const restedMs = receivedMs - Date.parse(block.coolingSince);
      if (restedMs < this.#cooldownSeconds(block.pool) * 1_000) {
        complain(`${what} was freed after ${restedMs} ms`);
      }
    } else if (block.phase !== 'Guard') {
      complain(`${what} was freed without a rest`);
    }
    if (isAlive && this.#isSaid(block)) complain(`${what} was freed while its node speaks of it`);
    this.#drop(block);
  }

  /** Whether the node's own annotations name the block at this moment. */
  #isSaid({ holder, cidr }: SeenBlock): boolean {
    return Object.values(this.#nodes.get(holder)?.said ?? {}).includes(cidr);
  }

  #put(block: SeenBlock): void {
    this.#blocks.set(block.name, block);
    this.#heldBy.set(block.holder, (this.#heldBy.get(block.holder) ?? new Set()).add(block));
    this.#ranges[rangeOf(block.cidr).family].add(block);
  }

  #drop(block: SeenBlock): void {
    this.#blocks.delete(block.name);
    this.#heldBy.get(block.holder)?.delete(block);
    this.#ranges[rangeOf(block.cidr).family].remove(block);
  }
}

/** Who holds range of one family at a moment, sorted, so that neighbours are found quickly. */
class RangeIndex {
  readonly #pages: Array<{ range: AddressRange; block: SeenBlock }> = [];

  add(block: SeenBlock): void {
    const range = rangeOf(block.cidr);
    this.#pages.splice(this.#at(range.first), 0, { range, block });
  }

  remove(block: SeenBlock): void {
    const { first } = rangeOf(block.cidr);
    for (let at = this.#at(first); at < this.#pages.length; at++) {
      const page = this.#pages[at]!;
      if (page.range.first !== first) return;
      if (page.block === block) {
        this.#pages.splice(at, 1);
        return;
      }
    }
  }

  touching(range: AddressRange): SeenBlock[] {
    const found: SeenBlock[] = [];
    // Larger range that began before: in a sound history only its direct neighbours reach so far.
    for (let at = this.#at(range.first) - 1; at >= 0 && at > this.#at(range.first) - 4; at--) {
      const page = this.#pages[at]!;
      if (touch(page.range, range)) found.push(page.block);
    }
    for (let at = this.#at(range.first); at < this.#pages.length; at++) {
      const page = this.#pages[at]!;
      if (page.range.first > range.last) break;
      if (touch(page.range, range)) found.push(page.block);
    }
    return found;
  }

  /** The first page whose range begins at or after the address. */
  #at(first: bigint): number {
    let [low, high] = [0, this.#pages.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#pages[middle]!.range.first < first) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
