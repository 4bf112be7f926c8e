import type { Cluster } from './cluster.ts';
import { inParallel, pause } from './eventually.ts';
import { paths } from './objects.ts';

/** A rack of nodes and the pool that selects it. */
export interface Rack {
  pool: string;
  /** Nodes that ever wore the rack's label and still live: no more than this. */
  most: number;
}

interface Resident {
  rack: string;
  /** Held back by a finalizer after its deletion. */
  isDying: boolean;
}

export type Deed = 'joined' | 'left' | 'returned' | 'replaced' | 'relabelled' | 'lingered' | 'beat';

const finalizer = 'example.com/drain-first';

/**
 * A cluster that never rests: nodes join, leave, return, are replaced under the
 * same name, change racks, die slowly, and send heartbeats all the time. It
 * remembers what it did, so that the auditor can be told what to expect.
 */
export class Churn {
  readonly counts: Record<Deed, number> = {
    joined: 0,
    left: 0,
    returned: 0,
    replaced: 0,
    relabelled: 0,
    lingered: 0,
    beat: 0,
  };
  readonly #cluster: Cluster;
  readonly #racks: ReadonlyMap<string, Rack>;
  readonly #random: () => number;
  readonly #residents = new Map<string, Resident>();
  readonly #gone: string[] = [];
  /** The racks that a name has been in, over all its lives: its block may be from any of them. */
  readonly #wore = new Map<string, Set<string>>();
  readonly #busy = new Set<string>();
  #serial = 0;

  constructor(cluster: Cluster, racks: ReadonlyMap<string, Rack>, random: () => number) {
    this.#cluster = cluster;
    this.#racks = racks;
    this.#random = random;
  }

  get living(): number {
    return this.#residents.size;
  }

  /** Nodes that were in one rack only, whatever became of them: for them there is one right pool. */
  get faithful(): number {
    return [...this.#wore.values()].filter((racks) => racks.size === 1).length;
  }

  mayKeepFrom = (name: string): ReadonlySet<string> => {
    const racks = [...(this.#wore.get(name) ?? [])];
    return new Set(racks.map((rack) => this.#racks.get(rack)?.pool ?? ''));
  };

  /** All at once, as after a power failure. */
  async massJoin(count: number): Promise<void> {
    const names = Array.from({ length: count }, () => this.#newName());
    await inParallel(names, 32, async (name) => {
      const rack = this.#rackWithRoom(name);
      if (rack !== undefined) await this.#join(name, rack, 'joined');
    });
  }

  /** Deeds at random until the signal, about so many a second. */
  async run(signal: AbortSignal, perSecond: number): Promise<void> {
    const lanes = Array.from({ length: 4 }, async () => {
      while (!signal.aborted) {
        await this.#doSomething();
        await pause((4_000 / perSecond) * (0.5 + this.#random()));
      }
    });
    await Promise.all(lanes);
  }

  /** Those who linger may go now, so that the end is a settled cluster. */
  async settle(): Promise<void> {
    const dying = [...this.#residents].filter(([, { isDying }]) => isDying);
    await inParallel(dying, 16, ([name]) => this.#letGo(name));
  }

  async #doSomething(): Promise<void> {
    const dice = this.#random();
    if (dice < 0.22) {
      const name = this.#newName();
      const rack = this.#rackWithRoom(name);
      if (rack !== undefined) await this.#join(name, rack, 'joined');
      return;
    }
    if (dice < 0.34) {
      const name = this.#gone.splice(Math.floor(this.#random() * this.#gone.length), 1)[0];
      if (name === undefined) return;
      // Mostly to the rack it was in, so that its block may come back to it.
      const last = [...(this.#wore.get(name) ?? [])].at(-1);
      const rack = this.#random() < 0.8 ? last : this.#rackWithRoom(name);
      if (rack === undefined || !this.#hasRoom(rack, name)) this.#gone.push(name);
      else await this.#join(name, rack, 'returned');
      return;
    }
    const name = this.#someone();
    if (name === undefined) return;
    this.#busy.add(name);
    try {
      await this.#doTo(name, this.#residents.get(name)!, dice);
    } finally {
      this.#busy.delete(name);
    }
  }

  async #doTo(name: string, resident: Resident, dice: number): Promise<void> {
    if (resident.isDying) {
      await this.#letGo(name);
    } else if (dice < 0.54) {
      await this.#cluster.retireNode(name);
      this.#leave(name);
    } else if (dice < 0.64) {
      await this.#cluster.deleteNode(name);
      await this.#create(name, resident.rack);
      this.counts.replaced += 1;
    } else if (dice < 0.74) {
      const rack = this.#rackWithRoom(name);
      if (rack === undefined) return;
      this.#wear(name, rack);
      await this.#cluster.patchNode(name, { metadata: { labels: { rack } } });
      resident.rack = rack;
      this.counts.relabelled += 1;
    } else if (dice < 0.8) {
      await this.#cluster.patchNode(name, { metadata: { finalizers: [finalizer] } });
      await this.#cluster.retireNode(name);
      resident.isDying = true;
      this.counts.lingered += 1;
    } else {
      const now = new Date().toISOString();
      const beat = { type: 'Ready', status: 'True', reason: 'Alive', message: now };
      await this.#cluster.must(
        'PATCH',
        `${paths.nodes}/${name}/status`,
        { status: { conditions: [{ ...beat, lastHeartbeatTime: now }] } },
        'application/strategic-merge-patch+json',
      );
      this.counts.beat += 1;
    }
  }

  async #join(name: string, rack: string, deed: 'joined' | 'returned'): Promise<void> {
    this.#residents.set(name, { rack, isDying: false });
    this.#wear(name, rack);
    this.#busy.add(name);
    try {
      await this.#create(name, rack);
      this.counts[deed] += 1;
    } finally {
      this.#busy.delete(name);
    }
  }

  async #create(name: string, rack: string): Promise<void> {
    await this.#cluster.createNode(name, { labels: { rack }, annotations: { made: 'by-churn' } });
  }

  async #letGo(name: string): Promise<void> {
    await this.#cluster.patchNode(name, { metadata: { finalizers: null } });
    this.#leave(name);
  }

  #leave(name: string): void {
    this.#residents.delete(name);
    this.#gone.push(name);
    this.counts.left += 1;
  }

  #newName(): string {
    this.#serial += 1;
    return `node-${String(this.#serial).padStart(5, '0')}`;
  }

  #wear(name: string, rack: string): void {
    this.#wore.set(name, (this.#wore.get(name) ?? new Set()).add(rack));
  }

  #rackWithRoom(name: string): string | undefined {
    const racks = [...this.#racks.keys()];
    const from = Math.floor(this.#random() * racks.length);
    const inTurn = [...racks.slice(from), ...racks.slice(0, from)];
    return inTurn.find((rack) => this.#hasRoom(rack, name));
  }

  #hasRoom(rack: string, name: string): boolean {
    let wearers = 0;
    for (const resident of this.#residents.keys()) {
      if (resident !== name && this.#wore.get(resident)?.has(rack)) wearers += 1;
    }
    return wearers < (this.#racks.get(rack)?.most ?? 0);
  }

  #someone(): string | undefined {
    const names = [...this.#residents.keys()];
    for (let attempt = 0; attempt < 5; attempt++) {
      const name = names[Math.floor(this.#random() * names.length)];
      if (name !== undefined && !this.#busy.has(name)) return name;
    }
    return undefined;
  }
}
