/**
 * Objects as a cluster would have them, in as few words as a test can do with,
 * and a register made of them.
 */
import { readCiliumNode } from '../../src/model/cilium-node.ts';
import { type Pool, readPool } from '../../src/model/ip-pool.ts';
import { apiVersion, outOfServiceTaint } from '../../src/model/keys.ts';
import type { LabelSelector } from '../../src/model/label-selector.ts';
import { type ClusterNode, readNode } from '../../src/model/node.ts';
import {
  type Block,
  type BlockPhase,
  type BlockWitness,
  blockName,
  readBlock,
  writeGuard,
} from '../../src/model/node-block.ts';
import { readNodeReport } from '../../src/model/node-report.ts';
import type { KubeObject, ObjectMeta } from '../../src/model/object.ts';
import { type Prefix, parsePrefix } from '../../src/net/prefix.ts';
import type { Rules } from '../../src/plan/blocks/decide-node.ts';
import { type HoldingSource, holdingSources } from '../../src/plan/blocks/holdings.ts';
import { Register } from '../../src/plan/blocks/register.ts';

export const at = (text: string): Prefix => {
  const prefix = parsePrefix(text);
  if (prefix === undefined) throw new Error(`${text} is not a prefix`);
  return prefix;
};

export const auto: Rules = { families: 'auto', byDemand: false };

/** Seconds after some beginning, as a creationTimestamp. */
export const second = (count: number): string =>
  new Date(1_700_000_000_000 + count * 1000).toISOString();

export interface PoolSpec {
  cidrs: string[];
  size?: number;
  size6?: number;
  selector?: LabelSelector;
  labels?: Record<string, string>;
  priority?: number;
  reserved?: string[];
  disabled?: boolean;
  cooldownSeconds?: number;
  releaseByTimeSeconds?: number;
  maxBlocksPerNode?: number;
}

export function poolObject(name: string, spec: PoolSpec, meta: ObjectMeta = {}): KubeObject {
  const { size, size6, selector, labels, ...rest } = spec;
  const has = (colon: boolean) => spec.cidrs.some((cidr) => cidr.includes(':') === colon);
  const nodeSelector = selector ?? (labels && { matchLabels: labels });
  return {
    apiVersion,
    kind: 'IPPool',
    metadata: { name, uid: `uid-${name}`, generation: 1, ...meta },
    spec: {
      ...rest,
      blockSize: {
        ...(has(false) ? { ipv4: size ?? 24 } : {}),
        ...(has(true) ? { ipv6: size6 ?? 64 } : {}),
      },
      ...(nodeSelector ? { nodeSelector } : {}),
    },
  };
}

export function pool(name: string, spec: PoolSpec, meta: ObjectMeta = {}): Pool {
  const read = readPool(poolObject(name, spec, meta));
  if (read.kind === 'malformed') throw new Error(read.problems.join('; '));
  return read.pool;
}

export interface NodeSpec {
  uid?: string;
  labels?: Record<string, string>;
  podCIDRs?: string[];
  annotations?: Record<string, string>;
  addresses?: string[];
  outOfService?: boolean;
  notReady?: boolean;
  created?: number;
}

export function nodeObject(name: string, spec: NodeSpec = {}): KubeObject {
  const { uid = `uid-${name}`, labels = {}, podCIDRs, annotations, addresses = [] } = spec;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid,
      labels,
      creationTimestamp: second(spec.created ?? 0),
      ...(annotations ? { annotations } : {}),
    },
    spec: {
      ...(podCIDRs ? { podCIDR: podCIDRs[0], podCIDRs } : {}),
      ...(spec.outOfService ? { taints: [{ key: outOfServiceTaint, effect: 'NoExecute' }] } : {}),
    },
    status: {
      addresses: addresses.map((address) => ({ type: 'InternalIP', address })),
      ...(spec.notReady ? { conditions: [{ type: 'Ready', status: 'Unknown' }] } : {}),
    },
  };
}

export const node = (name: string, spec?: NodeSpec): ClusterNode =>
  readNode(nodeObject(name, spec));

export function ciliumNodeObject(name: string, podCIDRs: string[]): KubeObject {
  return {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumNode',
    metadata: { name, uid: `cilium-${name}` },
    spec: { ipam: { podCIDRs } },
  };
}

export interface BlockSpec {
  pool?: string;
  nodeUid?: string;
  phase?: BlockPhase;
  /** Seconds, as in `second`. */
  coolingSince?: number;
  restedSeconds?: number;
  released?: BlockWitness;
  releaseByTimeSeconds?: number;
  nodeAddresses?: string[];
  created?: number;
}

export function blockObject(cidr: string, nodeName: string, spec: BlockSpec = {}): KubeObject {
  return {
    apiVersion,
    kind: 'NodeBlock',
    metadata: {
      name: blockName(at(cidr)),
      uid: `uid-${cidr}`,
      resourceVersion: '1',
      creationTimestamp: second(spec.created ?? 0),
    },
    spec: {
      cidr,
      pool: spec.pool ?? 'pool',
      node: {
        name: nodeName,
        uid: spec.nodeUid ?? `uid-${nodeName}`,
        ...(spec.nodeAddresses ? { addresses: spec.nodeAddresses } : {}),
      },
      phase: spec.phase ?? 'Active',
      ...(spec.phase === 'Cooling' ? { coolingSince: second(spec.coolingSince ?? 0) } : {}),
      ...(spec.restedSeconds === undefined ? {} : { restedSeconds: spec.restedSeconds }),
      ...(spec.released ? { released: spec.released } : {}),
      ...(spec.releaseByTimeSeconds === undefined
        ? {}
        : { releaseByTimeSeconds: spec.releaseByTimeSeconds }),
    },
  };
}

export function block(cidr: string, nodeName: string, spec: BlockSpec = {}): Block {
  return blockOf(blockObject(cidr, nodeName, spec));
}

export const guard = (cell: string, guards: string[], pool = 'pool'): Block =>
  blockOf(writeGuard(at(cell), pool, guards));

export function blockOf(object: KubeObject): Block {
  const read = readBlock(object);
  if (read.kind === 'malformed') throw new Error(read.problem);
  return read.block;
}

export interface ReportSpec {
  nodeUid?: string;
  ipv4?: number;
  ipv6?: number;
  /** CIDRs of blocks as `block` makes them, or with a uid of their own. */
  releases?: Array<string | { cidr: string; uid: string }>;
  uses?: string[];
  fenced?: string[];
  silentAfter?: Record<string, number>;
  reconfirmAfterSeconds?: number;
}

export function reportObject(nodeName: string, spec: ReportSpec): KubeObject {
  const { ipv4, ipv6, releases = [], fenced = [], silentAfter = {}, reconfirmAfterSeconds } = spec;
  const ofBlock = (cidr: string) => ({ cidr, uid: `uid-${cidr}` });
  return {
    apiVersion,
    kind: 'NodeReport',
    metadata: { name: nodeName, uid: `report-${nodeName}` },
    spec: {
      nodeUID: spec.nodeUid ?? `uid-${nodeName}`,
      neededAddresses: { ...(ipv4 ? { ipv4 } : {}), ...(ipv6 ? { ipv6 } : {}) },
      releases: releases.map((one) => (typeof one === 'string' ? ofBlock(one) : one)),
      ...(spec.uses === undefined ? {} : { uses: spec.uses.map((cidr) => ({ cidr })) }),
      fenced: fenced.map(ofBlock),
      silentAfter: Object.entries(silentAfter).map(([cidr, seconds]) => ({
        ...ofBlock(cidr),
        seconds,
      })),
      ...(reconfirmAfterSeconds === undefined ? {} : { reconfirmAfterSeconds }),
    },
  };
}

/** Objects are never altered, so each version of one needs to be read only once. */
function once<T extends object>(read: (object: KubeObject) => T): (object: KubeObject) => T {
  const known = new WeakMap<KubeObject, T>();
  return (object) => {
    const found = known.get(object) ?? read(object);
    known.set(object, found);
    return found;
  };
}

const readers = {
  pool: once(readPool),
  node: once(readNode),
  block: once(blockOf),
  ciliumNode: once(readCiliumNode),
  report: once(readNodeReport),
};

/** Puts any object of a kind the register knows into it, as a watch would. */
export function put(register: Register, object: KubeObject): void {
  switch (object.kind) {
    case 'IPPool': {
      const read = readers.pool(object);
      if (read.kind === 'pool') register.putPool(read.pool);
      else register.removePool(read.identity.name);
      break;
    }
    case 'Node':
      register.putNode(readers.node(object));
      break;
    case 'NodeBlock':
      register.putBlock(readers.block(object));
      break;
    case 'CiliumNode':
      register.putCiliumNode(readers.ciliumNode(object));
      break;
    case 'NodeReport':
      register.putReport(readers.report(object));
      break;
    default:
      throw new Error(`the register knows no ${object.kind}`);
  }
}

export function registerOf(
  objects: Iterable<KubeObject>,
  sources: readonly HoldingSource[] = holdingSources,
  byDemand = false,
  compared: readonly HoldingSource[] = [],
): Register {
  const register = new Register(sources, byDemand, compared);
  for (const object of objects) put(register, object);
  return register;
}

export const texts = (list: Iterable<{ prefix: Prefix }>): string[] =>
  Array.from(list, ({ prefix }) => prefix.toString());

/** Every claim, sorted: registers are compared by what they claim. */
export const claimsOf = (register: Register): string[] =>
  Array.from(register.claims.entries(), ({ prefix, owner }) => `${prefix} ${owner}`).sort();
