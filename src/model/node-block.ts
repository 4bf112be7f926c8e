import { Prefix, parsePrefix } from '../net/prefix.ts';
import type { ResourceDefinition } from './crd.ts';
import { apiVersion, releasableCondition } from './keys.ts';
import {
  type Condition,
  type Identity,
  identityOf,
  type KubeObject,
  textList,
  timestampMs,
} from './object.ts';
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
export const blockPhases = ['Active', 'Draining', 'Cooling', 'Guard'] as const;

export const witnesses = [
  'Agent',
  'Fenced',
  'Routers',
  'Administrator',
  'OutOfService',
  'NoRecord',
  'Time',
] as const;

/**
 *   Agent          the node's agent emptied the block and gave it back
 *   Fenced         the agent withdrew it, and uses it no more before the API server confirms it
 *   Routers        every router of the node is heard, holds no route to it, and has no session with it
 *   Administrator  a person said that the machine is off (`cadastre blocks release`)
 *   OutOfService   the Node carries Kubernetes' out-of-service taint
 *   NoRecord       a draining block that nothing names and nothing lives in, on a node without an agent
 *   Time           nobody; the pool's policy allows it
 */
export type WitnessName = (typeof witnesses)[number];

const mostAddresses = 16;

const shape = field.object('', ['cidr', 'pool'], {
  cidr: field.cidr('The block. The object is named after it.'),
  pool: field.name('The pool it was cut from or adopted into.'),
  node: field.object('The node that holds the block.', ['name', 'uid'], {
    name: { type: 'string', minLength: 1, maxLength: 253 },
    uid: field.uid(),
    addresses: field.list(
      'Addresses of the Node when it got the block: a Node of the same name with none of them is another machine.',
      mostAddresses,
      field.text('', { maxLength: 45 }),
    ),
  }),
  phase: field.text(
    'Active: in use. Draining: given back as soon as the node has emptied it. Cooling: the node is gone; the block is free after its cool-down, once a witness has said that the node does not use it. Guard: a cell kept out of use because odd-sized blocks lie in it.',
    { enum: [...blockPhases], default: 'Active' },
  ),
  coolingSince: field.time(),
  restedSeconds: field.count(
    'How much of the cool-down leaders have watched, by their own monotonic clocks.',
  ),
  released: field.object(
    'The witness: who says that the old node does not use the block. An agent does not use a block that has one.',
    ['by'],
    {
      by: field.text('', { enum: witnesses }),
      at: field.time(),
      detail: field.text('', { maxLength: 1024 }),
    },
  ),
  releaseByTimeSeconds: field.integer(
    "The pool's policy when the node got the block: released by time alone after so long. An agent that has reported it is silent after half of it.",
    { minimum: 0 },
  ),
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
  revision: 8,
  digest: '9f6618538a73ca5b',
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
    { name: 'Released by', type: 'string', jsonPath: '.spec.released.by', priority: 1 },
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
  /** What leaders have watched of the cool-down. */
  restedSeconds?: number;
  released?: BlockWitness;
  releaseByTimeSeconds?: number;
  /** Addresses of the Node that got it; absent on blocks of earlier versions. */
  nodeAddresses?: readonly string[];
  /** Our condition on it, while nobody says that its node does not use it. */
  releasable?: Condition;
  /** Guard only: the odd-sized blocks inside this cell. */
  guards: readonly string[];
  createdMs: number;
  deleting: boolean;
}

export interface BlockWitness {
  by: WitnessName;
  at?: string;
  detail?: string;
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
  const node = (spec.node ?? {}) as { name?: string; uid?: string; addresses?: unknown };
  const addresses = textList(node.addresses);
  const released = spec.released as BlockWitness | undefined;
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
      ...countOf('restedSeconds', spec),
      ...countOf('releaseByTimeSeconds', spec),
      ...(released?.by === undefined ? {} : { released }),
      ...(addresses.length > 0 ? { nodeAddresses: addresses } : {}),
      ...readReleasable(object.status),
      guards: Array.isArray(spec.guards) ? (spec.guards as string[]) : [],
      createdMs: timestampMs(object.metadata?.creationTimestamp),
      deleting: Boolean(object.metadata?.deletionTimestamp),
    },
  };
}

function readReleasable(status: unknown): Pick<Block, 'releasable'> {
  const { conditions } = (status ?? {}) as { conditions?: unknown };
  if (!Array.isArray(conditions)) return {};
  const releasable = (conditions as Condition[]).find(({ type }) => type === releasableCondition);
  return releasable === undefined ? {} : { releasable };
}

function countOf<K extends 'restedSeconds' | 'releaseByTimeSeconds'>(
  name: K,
  spec: Record<string, unknown>,
): Partial<Record<K, number>> {
  const value = spec[name];
  return typeof value === 'number' ? ({ [name]: value } as Record<K, number>) : {};
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
  nodeAddresses?: readonly string[] | undefined;
  /** The pool's policy. */
  releaseByTimeSeconds?: number | undefined;
}

/** As many of a Node's addresses as a block has room for. */
export function recordedAddresses({ addresses }: { addresses: readonly string[] }): string[] {
  return addresses.slice(0, mostAddresses);
}

export function writeBlock(block: NewBlock): KubeObject {
  const { prefix, pool, nodeName, nodeUid, nodeAddresses = [], releaseByTimeSeconds } = block;
  const addresses = nodeAddresses.length > 0 ? { addresses: nodeAddresses } : {};
  return {
    apiVersion,
    kind: 'NodeBlock',
    metadata: { name: blockName(prefix) },
    spec: {
      cidr: prefix.toString(),
      pool,
      node: { name: nodeName, uid: nodeUid, ...addresses },
      ...(releaseByTimeSeconds === undefined ? {} : { releaseByTimeSeconds }),
    },
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
