/** Objects as the API has them → rows as the page shows them. Pure. */
import type { ReadPool } from '../model/ip-pool.ts';
import { podCidrAnnotations } from '../model/keys.ts';
import { formatSelector } from '../model/label-selector.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import type { NodeReportStatus } from '../model/node-report-status.ts';
import { families } from '../net/family.ts';
import { witnessWords } from '../plan/blocks/witness.ts';
import type { DoctorFinding } from '../plan/doctor/finding.ts';
import type { BlockRow, FindingRow, NodeRow, PoolCidr, PoolRow, SessionRow } from './rows.ts';

export function poolRow(read: ReadPool): PoolRow {
  if (read.kind === 'malformed') {
    return {
      name: read.identity.name,
      cidrs: [],
      reserved: [],
      selector: '',
      priority: 0,
      cooldownSeconds: 0,
      disabled: false,
      state: 'MalformedPool',
      message: read.problems.join('; '),
      createdMs: 0,
    };
  }
  const { pool } = read;
  const figures = new Map((pool.status?.cidrs ?? []).map((usage) => [usage.cidr, usage]));
  const ready = pool.status?.conditions?.find(({ type }) => type === 'Ready');
  const cidrs = pool.cidrs.map((cidr): PoolCidr => {
    const blockLength = pool.blockSize[cidr.family] ?? cidr.length;
    const usage = figures.get(cidr.toString());
    const capacity = usage?.capacity ?? 2 ** (blockLength - cidr.length);
    return {
      cidr: cidr.toString(),
      blockLength,
      capacity,
      assigned: usage?.assigned ?? 0,
      cooling: usage?.cooling ?? 0,
      awaitingRelease: usage?.awaitingRelease ?? 0,
      free: usage?.free ?? capacity,
    };
  });
  return {
    name: pool.name,
    cidrs,
    reserved: pool.reserved.map(String),
    selector: pool.selector === undefined ? '' : formatSelector(pool.selector),
    priority: pool.priority,
    cooldownSeconds: pool.cooldownSeconds,
    disabled: pool.disabled,
    state: pool.disabled ? 'PoolDisabled' : ready?.status === 'False' ? ready.reason : 'Ready',
    message: ready?.message ?? '',
    createdMs: pool.createdMs,
  };
}

export function blockRow(block: Block, cooldownSeconds: number): BlockRow {
  const { prefix, pool, nodeName: node, phase, createdMs, coolingSinceMs } = block;
  const isCooling = phase === 'Cooling';
  const hasRested = (block.restedSeconds ?? 0) >= cooldownSeconds;
  const release =
    block.released === undefined ? block.releasable?.message : witnessWords(block.released);
  return {
    cidr: prefix.toString(),
    pool,
    node,
    phase,
    sinceMs: isCooling ? coolingSinceMs : createdMs,
    ...(isCooling && !hasRested ? { freeAtMs: coolingSinceMs + cooldownSeconds * 1000 } : {}),
    ...(isCooling && release !== undefined ? { release } : {}),
  };
}

/** What people call racks; the first of these labels that a node has. */
const rackLabels = [
  'topology.kubernetes.io/rack',
  'cadastre.dev/rack',
  'rack',
  'topology.kubernetes.io/zone',
];

export interface NodeRowInput {
  node: ClusterNode;
  blocks: Iterable<Block>;
  report: NodeReportStatus | undefined;
  cilium: readonly string[] | undefined;
  sinceMs: (peer: string, state: string) => number;
}

export function nodeRow({ node, blocks, report, cilium, sinceMs }: NodeRowInput): NodeRow {
  const { condition, labels } = node;
  const agent = report?.conditions.find(({ type }) => type === 'Ready');
  const rack = rackLabels.map((key) => labels[key]).find((value) => value !== undefined);
  return {
    name: node.name,
    rack: rack ?? '',
    addresses: [...node.addresses],
    labels: { ...labels },
    createdMs: node.createdMs,
    isLeaving: node.isLeaving === true,
    blocksState: condition
      ? {
          ok: condition.status === 'True',
          reason: condition.reason ?? '',
          message: condition.message ?? '',
        }
      : null,
    agent: agent
      ? {
          isReady: agent.status === 'True',
          reason: agent.reason ?? '',
          message: agent.message ?? '',
          version: report?.agentVersion ?? '',
        }
      : null,
    register: [...blocks]
      .filter(({ phase }) => phase === 'Active' || phase === 'Draining')
      .sort((a, b) => a.prefix.compare(b.prefix))
      .map(({ prefix }) => prefix.toString()),
    spec: [...node.podCidrs],
    annotation: annotationsOf(node),
    cilium: cilium === undefined ? null : [...cilium],
    used:
      report?.blocks.map(({ cidr, pods, resting, total, draining }) => ({
        cidr,
        pods,
        resting,
        total,
        draining,
      })) ?? null,
    kernel: report
      ? {
          wanted: report.kernel.wanted,
          held: report.kernel.held,
          ownRoutes: report.kernel.ownRoutes,
          refused: report.kernel.refused.map(({ route, reason }) => `${route}: ${reason}`),
        }
      : null,
    sessions: (report?.sessions ?? []).map(
      ({ peer, address, asn, state, lastError, announced }): SessionRow => ({
        peer,
        address,
        asn,
        state,
        lastError: state === 'Established' ? '' : (lastError ?? ''),
        sinceMs: sinceMs(peer, state),
        announced,
      }),
    ),
    unannounced: report?.unannounced ?? [],
  };
}

export function findingId({ reason, prefix, node, owner }: DoctorFinding): string {
  return [reason, prefix, node, owner].join(' ');
}

export function findingRow(finding: DoctorFinding): FindingRow {
  const { reason, severity, node, prefix, owner, says, hurts, fix } = finding;
  return {
    id: findingId(finding),
    reason,
    severity,
    node: node ?? '',
    prefix: prefix ?? '',
    owner: owner ?? '',
    says,
    hurtsNow: hurts.now,
    hurtsIf: hurts.if,
    fix,
  };
}

function annotationsOf({ annotations }: ClusterNode): string[] {
  return families.flatMap((family) => {
    const key = podCidrAnnotations[family].find((name) => annotations[name] !== undefined);
    return key === undefined ? [] : [annotations[key] as string];
  });
}
