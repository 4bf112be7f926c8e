import { Prefix, parsePrefix } from '../net/prefix.ts';
import type { ResourceDefinition } from './crd.ts';
import { apiVersion } from './keys.ts';
import { type Identity, identityOf, type KubeObject, timestampMs } from './object.ts';
import { nodeBlocks } from './resources.ts';
import * as field from './schema/field.ts';
import { ruled, type ValueOf } from './schema/schema.ts';

/**
 * NodeBlock: the register's entry. Its name *is* its CIDR, so creating it is
 * the allocation: the API server refuses a second object of that name, and a
 * CEL rule refuses a name that is not its CIDR's.
 *
 * The phase lives in spec, not in status: it is the register's own fact, it
 * must be there from the first write (a create cannot set status), and one
 * write per block is all a mass join can afford.
 */
const shape = field.object('', ['cidr', 'pool'], {
  cidr: field.cidr('The block. The object is named after it.'),
  pool: field.name('The pool it was cut from or adopted into.'),
  node: field.object('The node that holds the block.', ['name', 'uid'], {
    name: { type: 'string', minLength: 1, maxLength: 253 },
    uid: field.uid(),
  }),
  phase: field.text(
    'Active: in use. Draining: given back as soon as the node has emptied it. Cooling: the node is gone, the block is in its cool-down. Guard: a cell kept out of use because odd-sized blocks lie in it.',
    { enum: ['Active', 'Draining', 'Cooling', 'Guard'], default: 'Active' },
  ),
  coolingSince: field.time(),
  guards: field.list('', 1024, field.cidrText, { 'x-kubernetes-list-type': 'set' }),
});

type NodeBlockSpec = ValueOf<typeof shape>;
export type BlockPhase = NodeBlockSpec['phase'];

const specRules = [
  { rule: 'self.cidr == oldSelf.cidr', message: 'cidr is fixed' },
  {
    rule: "self.phase == 'Guard' ? !has(self.node) && has(self.guards) : has(self.node) && !has(self.guards)",
    message: 'a Guard names the blocks it guards and no node; every other phase names its node',
  },
  {
    rule: "(self.phase == 'Guard') == (oldSelf.phase == 'Guard')",
    message: 'a Guard stays a Guard',
  },
  {
    rule: "self.phase != 'Cooling' || has(self.coolingSince)",
    message: 'a Cooling block says since when',
  },
  {
    rule: '!has(self.node) || !has(oldSelf.node) || self.node.name == oldSelf.node.name',
    message: 'a block never passes from one node to another; it is released first',
  },
];

/** What `specRules` say about an object by itself. */
function specProblems(spec: NodeBlockSpec, path: string): string[] {
  const because = `but ${path}.phase is ${spec.phase ?? 'Active'}`;
  const isGuard = spec.phase === 'Guard';
  const needed = isGuard ? ['guards'] : ['node'];
  if (spec.phase === 'Cooling') needed.push('coolingSince');
  const refused = isGuard ? 'node' : 'guards';
  const isGiven = (name: string) => (spec as Record<string, unknown>)[name] != null;
  return [
    ...needed.flatMap((name) => (isGiven(name) ? [] : `${path}.${name} is missing, ${because}`)),
    ...(isGiven(refused) ? [`${path}.${refused} is given, ${because}`] : []),
  ];
}

export const nodeBlockDefinition: ResourceDefinition = {
  resource: nodeBlocks,
  shortName: 'nb',
  revision: 7,
  digest: '8baa48adb9ef683e',
  spec: { ...shape, ...ruled<NodeBlockSpec>(specRules, specProblems) },
  status: field.onlyConditions,
  rules: ruled<KubeObject & { spec: NodeBlockSpec }>(
    [
      {
        rule: "self.metadata.name == self.spec.cidr.replace('.', '-').replace(':', '-').replace('/', '-')",
        message: 'a NodeBlock is named after its CIDR, with dashes for dots, colons and the slash',
      },
    ],
    ({ metadata, spec }) => {
      const wanted = blockName(parsePrefix(spec.cidr)!);
      if (metadata?.name === wanted) return [];
      return [
        `metadata.name is "${metadata?.name}", but the NodeBlock of ${spec.cidr} is ${wanted}`,
      ];
    },
  ),
  columns: [
    { name: 'CIDR', type: 'string', jsonPath: '.spec.cidr' },
    { name: 'Pool', type: 'string', jsonPath: '.spec.pool' },
    { name: 'Node', type: 'string', jsonPath: '.spec.node.name' },
    { name: 'Phase', type: 'string', jsonPath: '.spec.phase' },
  ],
};

export interface Block extends Identity {
  prefix: Prefix;
  pool: string;
  /** Empty name for a Guard, which belongs to no node. */
  nodeName: string;
  nodeUid: string;
  phase: BlockPhase;
  coolingSinceMs: number;
  /** Guard only: the odd-sized blocks inside this cell. */
  guards: readonly string[];
  createdMs: number;
  deleting: boolean;
}

export type ReadBlock =
  | { kind: 'block'; block: Block }
  | { kind: 'malformed'; identity: Identity; problem: string };

/** The object name of a block: `10.5.113.0/24` is `10-5-113-0-24`, `fd00::/64` is `fd00---64`. */
export function blockName(prefix: Prefix): string {
  return prefix.toString().replace(/[.:/]/g, '-');
}

const lowestIpv6 = Prefix.of({ family: 'ipv6', w0: 0, w1: 0, w2: 0, w3: 0 }, 16);

/**
 * Blocks within ::/16 (reserved, RFC 4291 §2.4) print with a colon in front,
 * and no Kubernetes name begins with the dash that would stand for it.
 */
export function unnameable(cidr: Prefix): string | undefined {
  if (!cidr.overlaps(lowestIpv6)) return undefined;
  return `${cidr} overlaps ${lowestIpv6}, whose blocks cannot be named`;
}

export function readBlock(object: KubeObject): ReadBlock {
  const identity = identityOf(object);
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const prefix = typeof spec.cidr === 'string' ? parsePrefix(spec.cidr) : undefined;
  if (prefix === undefined) {
    const problem = `spec.cidr is ${JSON.stringify(spec.cidr)}, not a CIDR`;
    return { kind: 'malformed', identity, problem };
  }
  const node = (spec.node ?? {}) as { name?: string; uid?: string };
  return {
    kind: 'block',
    block: {
      ...identity,
      prefix,
      pool: typeof spec.pool === 'string' ? spec.pool : '',
      nodeName: node.name ?? '',
      nodeUid: node.uid ?? '',
      phase: readPhase(spec.phase),
      coolingSinceMs: timestampMs(spec.coolingSince as string | undefined),
      guards: Array.isArray(spec.guards) ? (spec.guards as string[]) : [],
      createdMs: timestampMs(object.metadata?.creationTimestamp),
      deleting: Boolean(object.metadata?.deletionTimestamp),
    },
  };
}

/** A phase of a later version is an Active block: it keeps its addresses. */
function readPhase(value: unknown): BlockPhase {
  const { enum: phases, default: byDefault } = shape.properties.phase;
  return phases.find((phase) => phase === value) ?? byDefault;
}

export interface NewBlock {
  prefix: Prefix;
  pool: string;
  nodeName: string;
  nodeUid: string;
}

export function writeBlock({ prefix, pool, nodeName, nodeUid }: NewBlock): KubeObject {
  return {
    apiVersion,
    kind: 'NodeBlock',
    metadata: { name: blockName(prefix) },
    spec: { cidr: prefix.toString(), pool, node: { name: nodeName, uid: nodeUid } },
  };
}

export function writeGuard(cell: Prefix, pool: string, guards: string[]): KubeObject {
  return {
    apiVersion,
    kind: 'NodeBlock',
    metadata: { name: blockName(cell) },
    spec: { cidr: cell.toString(), pool, phase: 'Guard', guards },
  };
}
