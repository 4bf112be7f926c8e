import { mustBeSound, type Verdict } from './audit.ts';
import type { Cluster, NewNode } from './cluster.ts';
import { inParallel } from './eventually.ts';

/**
 * A thousand nodes that lived without Cadastre, and what they hold by the word
 * of four different records: most of it right, some of it odd, some of it wrong.
 */
export interface Resident extends NewNode {
  name: string;
  cilium?: string[];
  /** What it must hold in the end; absent: something new. */
  holds?: string[];
  /** Why it cannot be served. */
  finding?: string;
}

const newName = 'network.cilium.io/ipv4-pod-cidr';
const oldName = 'io.cilium.network.ipv4-pod-cidr';

/** The /24 with this number in the pool `main`. */
const cell = (at: number, tail = '0/24') => `10.${128 + (at >> 8)}.${at & 255}.${tail}`;

export function residents(): Resident[] {
  const all: Resident[] = [];
  const settle = (count: number, make: (at: number) => Omit<Resident, 'name'>) => {
    for (let i = 0; i < count; i++) {
      const at = all.length;
      all.push({ name: `node-${String(at).padStart(4, '0')}`, ...make(at) });
    }
  };
  // Every second cell: what is free between them is a temptation.
  const own = (at: number) => cell(at * 2);
  settle(250, (at) => ({ podCIDRs: [own(at)], holds: [own(at)] }));
  settle(200, (at) => ({ annotations: { [newName]: own(at) }, holds: [own(at)] }));
  settle(150, (at) => ({ annotations: { [oldName]: own(at) }, holds: [own(at)] }));
  settle(250, (at) => ({ cilium: [own(at)], holds: [own(at)] }));
  settle(50, (at) => {
    const both = [`10.208.${at & 255}.0/24`, `fd00:d0:0:${at.toString(16)}::/64`];
    return { labels: { stack: 'dual' }, podCIDRs: both, holds: both };
  });
  // Larger than a block of the pool: it is theirs no more than anybody's.
  settle(10, (at) => ({ podCIDRs: [cell(at * 2, '0/23')], finding: 'ClaimRefused' }));
  // Two of another size in one cell.
  settle(10, (at) => {
    const small = cell((at >> 1) * 4, at % 2 === 0 ? '32/27' : '224/27');
    return { annotations: { [oldName]: small }, holds: [small] };
  });
  // Host bits: an API server of today refuses them in Node.spec, an annotation takes anything.
  settle(5, (at) => ({
    annotations: { [newName]: own(at).replace('.0/', '.7/') },
    holds: [own(at)],
  }));
  settle(5, (at) => ({ annotations: { [newName]: `nonsense-${at}` } }));
  settle(5, (at) => ({ podCIDRs: [own(at - 930)], finding: 'DuplicateBlock' }));
  settle(5, (at) => ({ cilium: [cell((at - 800) * 2, '128/25')], finding: 'OverlappingBlocks' }));
  settle(5, (at) => ({ podCIDRs: [`172.31.${at & 255}.0/24`], finding: 'OutsidePools' }));
  // Half of what it holds cannot be: then nothing of it is taken over.
  settle(5, (at) => ({
    labels: { stack: 'dual' },
    podCIDRs: [`10.209.${at & 255}.0/24`, `fd00:bad:0:${at.toString(16)}::/64`],
    finding: 'OutsidePools',
  }));
  settle(50, () => ({}));
  return all;
}

/** Two pools, and the nodes with their records as they are before the first operator starts. */
export async function moveIn(cluster: Cluster, all: readonly Resident[]): Promise<void> {
  await cluster.createPool('main', {
    cidrs: ['10.128.0.0/10'],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 1,
    nodeSelector: { matchExpressions: [{ key: 'stack', operator: 'DoesNotExist' }] },
  });
  await cluster.createPool('dual', {
    cidrs: ['10.208.0.0/15', 'fd00:d0::/48'],
    blockSize: { ipv4: 24, ipv6: 64 },
    nodeSelector: { matchLabels: { stack: 'dual' } },
  });
  await inParallel(all, 24, async ({ name, cilium, holds: _, finding: __, ...node }) => {
    await cluster.createNode(name, node);
    if (cilium !== undefined) await cluster.createCiliumNode(name, cilium);
  });
}

/** Everybody has what it held, or something new, or is told why not; throws what is missing. */
export async function mustBeTakenOver(
  cluster: Cluster,
  all: readonly Resident[],
): Promise<Verdict['counted'] & { kept: number }> {
  const refused = all.filter(({ finding }) => finding !== undefined);
  const unserved = new Set(refused.map(({ name }) => name));
  const alsoTaken = refused
    .filter(({ finding }) => finding !== 'ClaimRefused')
    .flatMap(({ podCIDRs = [], cilium = [] }) => [...podCIDRs, ...cilium]);
  const counted = await mustBeSound(cluster, { unserved, alsoTaken });
  const held = new Map<string, string[]>();
  for (const { spec } of await cluster.blocks()) {
    const name = spec.node?.name ?? '';
    held.set(name, [...(held.get(name) ?? []), spec.cidr]);
  }
  let kept = 0;
  for (const { name, holds } of all) {
    if (holds === undefined) continue;
    const now = held.get(name)?.sort().join(' ');
    const before = [...holds].sort().join(' ');
    if (now !== before) throw new Error(`${name} held ${before} and has ${now} now`);
    kept += holds.length;
  }
  return { ...counted, kept };
}
