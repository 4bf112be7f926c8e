import { type AddressRange, freeCells, lies, rangeOf, touchingPairs } from './address-range.ts';
import type { Cluster } from './cluster.ts';
import {
  annotationKeys,
  type BlockObject,
  type NodeObject,
  type PoolObject,
  type Selector,
} from './objects.ts';

/**
 * The auditor: reads everything back from the API server and judges it by rules
 * of its own, from the promises in DESIGN.md and with none of the code that made
 * them true. Each complaint is a sentence; no complaint on a settled cluster
 * means that every node has exactly what it should and nobody has anything twice.
 */
export interface Truth {
  nodes: NodeObject[];
  pools: PoolObject[];
  blocks: BlockObject[];
}

export interface Expectations {
  /** Nodes that cannot be served, and so must hold nothing. */
  unserved?: ReadonlySet<string>;
  /** Pools whose blocks a node may keep although they do not select it now: it was relabelled. */
  mayKeepFrom?: (node: string) => ReadonlySet<string>;
  /** Address space that nodes hold without being registered: nobody may be given it. */
  alsoTaken?: readonly string[];
  /** Are the Node annotations a projection that is on? Default true. */
  annotations?: boolean;
  /** Do the pools' statuses have to be right yet? Default true. */
  poolStatus?: boolean;
}

export interface Verdict {
  complaints: string[];
  /** What was looked at: an audit of nothing finds nothing. */
  counted: {
    nodes: number;
    served: number;
    active: number;
    cooling: number;
    guards: number;
    annotations: number;
    pools: number;
  };
}

export async function readTruth(cluster: Cluster): Promise<Truth> {
  const [nodes, pools, blocks] = await Promise.all([
    cluster.nodes(),
    cluster.pools(),
    cluster.blocks(),
  ]);
  return { nodes, pools, blocks };
}

export async function audit(cluster: Cluster, expectations: Expectations = {}): Promise<Verdict> {
  return judge(await readTruth(cluster), expectations);
}

/** Throws with every complaint; for use with `eventually`. */
export async function mustBeSound(
  cluster: Cluster,
  expectations: Expectations = {},
): Promise<Verdict['counted']> {
  const { complaints, counted } = await audit(cluster, expectations);
  if (complaints.length === 0) return counted;
  const shown = complaints.slice(0, 20).join('\n  ');
  throw new Error(`${complaints.length} complaints, such as\n  ${shown}`);
}

export function judge(truth: Truth, expectations: Expectations = {}): Verdict {
  const complaints: string[] = [];
  const counted = {
    nodes: truth.nodes.length,
    served: 0,
    active: 0,
    cooling: 0,
    guards: 0,
    annotations: 0,
    pools: truth.pools.length,
  };
  const surveyed = truth.blocks.map((block) => ({ block, range: rangeOf(block.spec.cidr) }));
  for (const { block } of surveyed) {
    if (block.spec.phase === 'Active') counted.active += 1;
    if (block.spec.phase === 'Cooling') counted.cooling += 1;
    if (block.spec.phase === 'Guard') counted.guards += 1;
  }
  complaints.push(...judgeNames(truth), ...judgeOverlaps(surveyed), ...judgeHolders(truth));
  const heldBy = new Map<string, BlockObject[]>();
  for (const block of truth.blocks) {
    const holder = block.spec.node?.name ?? '';
    heldBy.set(holder, [...(heldBy.get(holder) ?? []), block]);
  }
  for (const node of truth.nodes) {
    const blocks = heldBy.get(node.metadata.name) ?? [];
    const found = judgeNode(node, { ...truth, blocks }, expectations);
    complaints.push(...found.complaints);
    counted.served += found.isServed ? 1 : 0;
    counted.annotations += found.annotations;
  }
  if (expectations.poolStatus ?? true) {
    for (const pool of truth.pools) complaints.push(...judgePool(pool, truth, expectations));
  }
  return { complaints, counted };
}

/** One name, one CIDR: the promise that everything else rests on. */
function judgeNames({ blocks }: Truth): string[] {
  return blocks.flatMap(({ metadata, spec }) => {
    const name = spec.cidr.split('.').join('-').split(':').join('-').split('/').join('-');
    return metadata.name === name ? [] : [`NodeBlock ${metadata.name} is of ${spec.cidr}`];
  });
}

function judgeOverlaps(surveyed: Array<{ block: BlockObject; range: AddressRange }>): string[] {
  return touchingPairs(surveyed).flatMap(([{ block: a }, { block: b }]) => {
    if (guards(a, b) || guards(b, a)) return [];
    return [`${describe(a)} overlaps ${describe(b)}`];
  });
}

function guards(guard: BlockObject, block: BlockObject): boolean {
  return guard.spec.phase === 'Guard' && (guard.spec.guards ?? []).includes(block.spec.cidr);
}

/** Who is entered as a holder must exist, under the uid that is entered. */
function judgeHolders({ nodes, blocks }: Truth): string[] {
  const uids = new Map(nodes.map(({ metadata }) => [metadata.name, metadata.uid]));
  return blocks.flatMap((block) => {
    const { phase, node } = block.spec;
    if (phase === 'Guard' || phase === 'Cooling') return [];
    if (node === undefined) return [`${describe(block)} names no node`];
    const uid = uids.get(node.name);
    if (uid === undefined) return [`${describe(block)} is held by a node that does not exist`];
    if (uid !== node.uid) return [`${describe(block)} is held by an earlier ${node.name}`];
    return [];
  });
}

function judgeNode(
  node: NodeObject,
  { pools, blocks }: Truth,
  expectations: Expectations,
): { complaints: string[]; isServed: boolean; annotations: number } {
  const { name } = node.metadata;
  const complaints: string[] = [];
  const own = blocks.filter(({ spec }) => spec.phase === 'Active');
  if (expectations.unserved?.has(name)) {
    if (own.length > 0) complaints.push(`${name} holds ${own.map(describe).join(', ')}`);
    return { complaints, isServed: false, annotations: 0 };
  }
  const wanted = poolFor(node, pools);
  if (wanted === undefined) {
    complaints.push(`${name}: no pool selects it, and it was not expected to go without`);
    return { complaints, isServed: false, annotations: 0 };
  }
  const mayBeFrom = new Set([wanted.metadata.name, ...(expectations.mayKeepFrom?.(name) ?? [])]);
  const source = pools.find(({ metadata }) => metadata.name === own[0]?.spec.pool) ?? wanted;
  const [due, offered] = [familiesOf(wanted), familiesOf(source)];
  let annotations = 0;
  for (const family of ['ipv4', 'ipv6'] as const) {
    const held = own.filter(({ spec }) => rangeOf(spec.cidr).family === family);
    // A node that was in several pools is owed what its pool now and the pool of its block
    // both have; of the other family it has what it had got, or not yet lost, by then.
    const least = due.has(family) && offered.has(family) ? 1 : 0;
    const most = mayBeFrom.size === 1 ? least : 1;
    if (held.length < least || held.length > most) {
      const list = own.map(describe).join(', ') || 'nothing';
      const pool = wanted.metadata.name;
      complaints.push(
        `${name} has ${held.length} ${family} blocks; it is ${pool}'s and has ${list}`,
      );
      continue;
    }
    const block = held[0];
    if (block === undefined) continue;
    if (!mayBeFrom.has(block.spec.pool)) {
      complaints.push(`${name} has ${describe(block)}, not one of ${[...mayBeFrom].join(' or ')}`);
    }
    if (expectations.annotations ?? true) {
      for (const key of annotationKeys[family]) {
        annotations += 1;
        const said = node.metadata.annotations?.[key];
        if (said !== block.spec.cidr) {
          complaints.push(`${name}: ${key} says ${said}, the register says ${block.spec.cidr}`);
        }
      }
    }
  }
  return { complaints, isServed: complaints.length === 0, annotations };
}

function familiesOf({ spec }: PoolObject): Set<string> {
  return new Set(spec.cidrs.map((cidr) => rangeOf(cidr).family));
}

/** Highest priority, then the selector with most requirements, then the name. */
export function poolFor(node: NodeObject, pools: readonly PoolObject[]): PoolObject | undefined {
  const labels = node.metadata.labels ?? {};
  const requirements = ({ spec }: PoolObject) =>
    Object.keys(spec.nodeSelector?.matchLabels ?? {}).length +
    (spec.nodeSelector?.matchExpressions ?? []).length;
  return pools
    .filter(({ spec }) => spec.disabled !== true && matches(spec.nodeSelector ?? {}, labels))
    .sort(
      (a, b) =>
        (b.spec.priority ?? 0) - (a.spec.priority ?? 0) ||
        requirements(b) - requirements(a) ||
        (a.metadata.name < b.metadata.name ? -1 : 1),
    )[0];
}

function matches(selector: Selector, labels: Record<string, string>): boolean {
  const pairs = Object.entries(selector.matchLabels ?? {});
  if (pairs.some(([key, value]) => labels[key] !== value)) return false;
  return (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    const value = labels[key];
    switch (operator) {
      case 'In':
        return value !== undefined && values.includes(value);
      case 'NotIn':
        return value === undefined || !values.includes(value);
      case 'Exists':
        return value !== undefined;
      default:
        return value === undefined;
    }
  });
}

/** What a pool says of itself must be what the objects say. */
function judgePool(
  pool: PoolObject,
  { blocks }: Truth,
  { alsoTaken = [] }: Expectations,
): string[] {
  const { name, generation } = pool.metadata;
  const { status, spec } = pool;
  if (status === undefined) return [`pool ${name} has no status`];
  const complaints: string[] = [];
  if (status.observedGeneration !== generation) {
    complaints.push(`pool ${name} is at ${generation}, its status at ${status.observedGeneration}`);
  }
  const own = blocks.filter((block) => block.spec.pool === name && block.spec.phase !== 'Guard');
  for (const block of own) {
    const range = rangeOf(block.spec.cidr);
    if (!spec.cidrs.some((cidr) => lies(range, rangeOf(cidr)))) {
      complaints.push(`${describe(block)} lies outside pool ${name}`);
    }
  }
  const taken = [
    ...blocks.map((block) => rangeOf(block.spec.cidr)),
    ...[...(spec.reserved ?? []), ...alsoTaken].map((cidr) => rangeOf(cidr)),
  ];
  const totals: Record<string, Usage> = {};
  for (const cidr of spec.cidrs) {
    const range = rangeOf(cidr);
    const size = spec.blockSize[range.family] ?? range.length;
    const inside = own.filter((block) => lies(rangeOf(block.spec.cidr), range));
    const count = (isIt: (block: BlockObject) => boolean) => inside.filter(isIt).length;
    const isAwaiting = ({ spec: { phase, released, restedSeconds = -1 } }: BlockObject) =>
      phase === 'Cooling' &&
      released === undefined &&
      restedSeconds >= (spec.cooldownSeconds ?? 300);
    const awaitingRelease = count(isAwaiting);
    const cooling = count((block) => block.spec.phase === 'Cooling' && !isAwaiting(block));
    const counted: Usage = {
      capacity: 2 ** (size - range.length),
      assigned: inside.length - cooling - awaitingRelease,
      free: freeCells(range, size, taken),
      cooling,
      awaitingRelease,
    };
    complaints.push(...differences(`${name}, ${cidr},`, at(status.cidrs, cidr), counted));
    totals[range.family] ??= {
      capacity: 0,
      assigned: 0,
      free: 0,
      cooling: 0,
      awaitingRelease: 0,
    };
    const total = totals[range.family]!;
    for (const what of figures) total[what] += counted[what];
  }
  // The pool as a whole speaks of the family that runs out first: a node takes one of each.
  const { ipv4, ipv6 } = totals;
  const scarcest = ipv4 && ipv6 ? (ipv6.free < ipv4.free ? ipv6 : ipv4) : (ipv4 ?? ipv6);
  return [...complaints, ...differences(name, status, scarcest!)];
}

const figures = ['capacity', 'assigned', 'free', 'cooling', 'awaitingRelease'] as const;
type Usage = Record<(typeof figures)[number], number>;

function at<T extends { cidr: string }>(list: readonly T[] | undefined, cidr: string) {
  return list?.find((one) => one.cidr === cidr) ?? {};
}

function differences(pool: string, said: Partial<Usage>, counted: Usage): string[] {
  return figures
    .filter((what) => said[what] !== counted[what])
    .map((what) => `pool ${pool} says ${what} ${said[what]}, the objects say ${counted[what]}`);
}

export function describe({ spec }: BlockObject): string {
  const holder = spec.node === undefined ? '' : ` of ${spec.node.name}`;
  return `${spec.cidr}${holder} (${spec.phase}, pool ${spec.pool})`;
}
