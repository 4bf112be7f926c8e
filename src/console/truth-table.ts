/**
 * One row a node, one column a source: what each of them says that the node has.
 * A cell that names a block of another node is joined to that node by a line;
 * where two allocators disagree the lines show the permutation at a glance. Pure.
 */
import type { RouterView } from './router-view.ts';
import type { BlockRow, NodeRow } from './rows.ts';

export interface TruthColumn {
  id: string;
  label: string;
  /** What it is, for those who ask. */
  title: string;
  /** False: nothing of this source could be seen, which is not the same as agreement. */
  isSeen: boolean;
}

/** `differs` is a disagreement; `empty` says nothing, and that is fine; `missing` is not. */
export type CellState = 'truth' | 'agrees' | 'differs' | 'missing' | 'empty' | 'unseen';

export interface TruthCell {
  column: string;
  cidrs: string[];
  state: CellState;
}

export interface TruthRow {
  node: string;
  cells: TruthCell[];
  disagrees: boolean;
}

/** A cell says that `node` has what `owner` has. */
export interface TruthLine {
  node: string;
  column: string;
  cidr: string;
  owner: string;
}

export interface TruthTable {
  columns: TruthColumn[];
  rows: TruthRow[];
  lines: TruthLine[];
  /** Held by a router with a next hop that is no node's. */
  strays: Array<{ router: string; prefix: string; nextHop: string }>;
  /** Blocks about which not everybody says the same. */
  disputed: Set<string>;
}

export interface TruthInput {
  nodes: readonly NodeRow[];
  blocks: Iterable<BlockRow>;
  routers: readonly RouterView[];
}

export function truthTable({ nodes, blocks, routers }: TruthInput): TruthTable {
  const owners = new Map<string, string>();
  for (const { cidr, node, phase } of blocks) if (phase !== 'Guard') owners.set(cidr, node);
  const byAddress = new Map(
    nodes.flatMap((node) => node.addresses.map((address) => [address, node.name] as const)),
  );
  const heldBy = new Map(
    routers
      .filter(({ isUp }) => isUp)
      .map((router) => [router.name, { router, routes: byNode(router, byAddress) }]),
  );
  const columns = columnsOf(nodes, routers);
  const table: TruthTable = { columns, rows: [], lines: [], strays: [], disputed: new Set() };
  for (const node of nodes) {
    const cells = columns.map(({ id }) => cellOf(id, node, heldBy));
    table.rows.push({
      node: node.name,
      cells,
      disagrees: cells.some(({ state }) => state === 'differs' || state === 'missing'),
    });
    for (const { column, cidrs, state } of cells) {
      if (state !== 'differs' && state !== 'missing') continue;
      for (const cidr of node.register) if (!cidrs.includes(cidr)) table.disputed.add(cidr);
      for (const cidr of cidrs) {
        if (node.register.includes(cidr)) continue;
        table.disputed.add(cidr);
        const owner = owners.get(cidr);
        if (owner !== undefined && owner !== node.name) {
          table.lines.push({ node: node.name, column, cidr, owner });
        }
      }
    }
  }
  for (const { name: router, held } of routers) {
    for (const { prefix, nextHop } of held) {
      if (!byAddress.has(nextHop)) table.strays.push({ router, prefix, nextHop });
    }
  }
  return table;
}

function columnsOf(nodes: readonly NodeRow[], routers: readonly RouterView[]): TruthColumn[] {
  const hasReports = nodes.some(({ used }) => used !== null);
  const hasCilium = nodes.some(({ cilium }) => cilium !== null);
  return [
    {
      id: 'register',
      label: 'Register',
      title: 'NodeBlock objects: the truth, from which all else is derived',
      isSeen: true,
    },
    { id: 'spec', label: 'Node.spec', title: 'Node.spec.podCIDRs', isSeen: true },
    { id: 'annotation', label: 'Annotation', title: "the Node's annotation", isSeen: true },
    ...(hasCilium
      ? [
          {
            id: 'cilium',
            label: 'CiliumNode',
            title: 'CiliumNode.spec.ipam.podCIDRs',
            isSeen: true,
          },
        ]
      : []),
    {
      id: 'agent',
      label: 'Agent',
      title: "what the node's agent gives pods addresses from",
      isSeen: hasReports,
    },
    {
      id: 'kernel',
      label: 'Kernel',
      title: "blocks that the node's kernel has a route for",
      isSeen: hasReports,
    },
    {
      id: 'announced',
      label: 'Announced',
      title: 'what the node has told its routers',
      isSeen: hasReports,
    },
    ...routers.map(({ name, isUp }) => ({
      id: `held ${name}`,
      label: name,
      title: `what ${name} holds with this node as next hop`,
      isSeen: isUp,
    })),
  ];
}

function cellOf(
  column: string,
  node: NodeRow,
  heldBy: ReadonlyMap<string, { router: RouterView; routes: ReadonlyMap<string, string[]> }>,
): TruthCell {
  const { register, isLeaving } = node;
  const cell = (cidrs: string[], state: CellState): TruthCell => ({ column, cidrs, state });
  /** A record that need not be there at all. */
  const record = (cidrs: string[]) => cell(cidrs, cidrs.length === 0 ? 'empty' : judge(cidrs));
  /** Something that must be there while the node serves. */
  const deed = (cidrs: string[]) => {
    if (cidrs.length > 0) return cell(cidrs, judge(cidrs));
    return cell(cidrs, register.length === 0 || isLeaving ? 'empty' : 'missing');
  };
  const judge = (cidrs: string[]): CellState => {
    const isSame = cidrs.length === register.length && cidrs.every((c) => register.includes(c));
    return isSame ? 'agrees' : 'differs';
  };
  switch (column) {
    case 'register':
      return cell(register, register.length === 0 ? 'empty' : 'truth');
    case 'agent':
      return node.used === null ? cell([], 'unseen') : deed(node.used.map(({ cidr }) => cidr));
    case 'kernel':
      return node.kernel === null ? cell([], 'unseen') : deed(node.kernel.ownRoutes);
    case 'announced': {
      const up = node.sessions.filter(({ state }) => state === 'Established');
      if (up.length === 0) return cell([], 'unseen');
      return deed([...new Set(up.flatMap(({ announced }) => announced.map((a) => a.prefix)))]);
    }
    case 'spec':
      return record(node.spec);
    case 'annotation':
      return record(node.annotation);
    case 'cilium':
      return node.cilium === null ? cell([], 'unseen') : record(node.cilium);
    default: {
      const held = heldBy.get(column.slice('held '.length));
      if (held === undefined) return cell([], 'unseen');
      const cidrs = held.routes.get(node.name) ?? [];
      return isPeer(node, held.router) ? deed(cidrs) : record(cidrs);
    }
  }
}

/** Whom it speaks with is known; a node without a report may speak with everybody. */
function isPeer({ sessions }: NodeRow, { name, address }: RouterView): boolean {
  if (sessions.length === 0) return true;
  return sessions.some((one) => one.peer === name || (address !== '' && one.address === address));
}

function byNode(
  { held }: RouterView,
  byAddress: ReadonlyMap<string, string>,
): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { prefix, nextHop } of held) {
    const node = byAddress.get(nextHop);
    if (node === undefined) continue;
    const list = found.get(node);
    if (list === undefined) found.set(node, [prefix]);
    else if (!list.includes(prefix)) list.push(prefix);
  }
  return found;
}
