/**
 * A cluster in a dozen lines: who can be reached, what runs there, how full it is, which sessions
 * are up and what is wrong. Nothing is judged here that the doctor does not judge: a node is reachable
 * if it is Ready, its agent (where one reports) is ready, and no finding hurts it now.
 */
import { addToGroup } from '../../base/add-to-group.ts';
import type { Condition } from '../../model/object.ts';
import { type Family, families } from '../../net/family.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { registerOf } from '../blocks/register-of.ts';
import { type DoctorFinding, type Severity, severities } from '../doctor/finding.ts';
import type { Survey } from '../doctor/survey.ts';
import { hostAddresses, podAddresses } from '../pod-address/block-addresses.ts';
import { poolUsage, totalUsage } from '../pools/pool-status.ts';

export interface ClusterStatus {
  health: { reachable: number; nodes: number };
  unreachable: Array<{ node: string; reason: string; detail: string }>;
  /** Of the agents that report; nodes without one are counted apart. */
  agents: { ready: number; reporting: number; versions: Array<{ version: string; nodes: number }> };
  mode: { name: string; why: string };
  /** Of pod addresses, as far as agents report them. Text: IPv6 has more than a number can count. */
  addresses: Array<{ family: Family; allocated: string; total: string; from: string[] }>;
  blocks: number;
  /** Blocks of each pool, of the family that runs out first. */
  pools: Array<{ name: string; cidrs: string[]; assigned: number; free: number; capacity: number }>;
  sessions: { established: number; configured: number; down: DownSession[] };
  findings: Array<{ reason: string; severity: Severity; count: number }>;
}

interface DownSession {
  node: string;
  peer: string;
  address: string;
  state: string;
  lastError: string;
}

export function clusterStatus(survey: Survey, findings: readonly DoctorFinding[]): ClusterStatus {
  const { truth, blocks, evidence } = survey;
  const names = evidence.nodes.map(({ name }) => name).sort();
  const hurt = hurtBy(findings);
  const unreachable = names.flatMap((node) => whyUnreachable(survey, node, hurt.get(node)));
  return {
    health: { reachable: names.length - unreachable.length, nodes: names.length },
    unreachable,
    agents: agentsOf(survey),
    mode: { name: truth.mode.name, why: truth.why },
    addresses: families.flatMap((family) => addressesOf(survey, family)),
    blocks: blocks.length,
    pools: poolsOf(survey),
    sessions: sessionsOf(survey),
    findings: countFindings(findings),
  };
}

/** The worst finding that hurts each node now. */
function hurtBy(findings: readonly DoctorFinding[]): Map<string, DoctorFinding> {
  const worst = new Map<string, DoctorFinding>();
  for (const severity of severities) {
    for (const finding of findings) {
      if (finding.severity !== severity) continue;
      for (const node of finding.hurts.now) if (!worst.has(node)) worst.set(node, finding);
    }
  }
  return worst;
}

function whyUnreachable(
  { nodes, evidence }: Survey,
  name: string,
  hurt: DoctorFinding | undefined,
): ClusterStatus['unreachable'] {
  const because = (reason: string, detail: string) => [{ node: name, reason, detail }];
  const node = nodes.get(name)?.node ?? evidence.nodes.find((one) => one.name === name);
  if (node?.isNotReady) {
    return because('NotReady', 'its kubelet does not report, or says that it cannot run pods');
  }
  const ready = readyOf(nodes.get(name)?.report?.status?.conditions);
  if (ready?.status === 'False') return because(ready.reason, ready.message);
  if (hurt === undefined) return [];
  const { reason, prefix, fix } = hurt;
  return because(reason, `${prefix === null ? '' : `${prefix}: `}${fix}`);
}

const readyOf = (conditions: readonly Condition[] | undefined) =>
  conditions?.find(({ type }) => type === 'Ready');

function agentsOf({ nodes }: Survey): ClusterStatus['agents'] {
  const versions = new Map<string, string[]>();
  let ready = 0;
  let reporting = 0;
  for (const [name, { report }] of nodes) {
    if (report?.status === undefined) continue;
    reporting += 1;
    if (readyOf(report.status.conditions)?.status === 'True') ready += 1;
    addToGroup(versions, report.status.agentVersion || 'unknown', name);
  }
  return {
    ready,
    reporting,
    versions: [...versions]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([version, of]) => ({ version, nodes: of.length })),
  };
}

/** As `cadastre status` of a node counts them, added up: the gateway and what is reserved are allocated. */
function addressesOf({ nodes, pools }: Survey, family: Family): ClusterStatus['addresses'] {
  let [allocated, total] = [0n, 0n];
  const reported = new Set<string>();
  for (const { report } of nodes.values()) {
    for (const block of report?.status?.blocks ?? []) {
      const prefix = parsePrefix(block.cidr);
      if (prefix === undefined || prefix.family !== family) continue;
      const { pods = 0, resting = 0 } = block;
      const free = BigInt(block.total || podAddresses(prefix)) - BigInt(pods + resting);
      total += hostAddresses(prefix);
      allocated += hostAddresses(prefix) - free;
      reported.add(block.cidr);
    }
  }
  if (reported.size === 0) return [];
  const ofPools = pools.flatMap(({ cidrs }) => cidrs.filter((cidr) => cidr.family === family));
  const from = ofPools.length > 0 ? ofPools.map(String) : [...reported];
  return [{ family, allocated: `${allocated}`, total: `${total}`, from }];
}

function poolsOf({ evidence, pools }: Survey): ClusterStatus['pools'] {
  if (pools.length === 0) return [];
  const register = registerOf(evidence);
  return pools.map((pool) => {
    const { assigned, free, capacity } = totalUsage(pool, poolUsage(register, pool));
    return { name: pool.name, cidrs: pool.cidrs.map(String), assigned, free, capacity };
  });
}

function sessionsOf({ nodes }: Survey): ClusterStatus['sessions'] {
  let established = 0;
  const down: DownSession[] = [];
  for (const [node, { report }] of nodes) {
    for (const { peer, address, state, lastError = '' } of report?.status?.sessions ?? []) {
      if (state === 'Established') established += 1;
      else down.push({ node, peer, address, state, lastError });
    }
  }
  return { established, configured: established + down.length, down };
}

function countFindings(findings: readonly DoctorFinding[]): ClusterStatus['findings'] {
  const counts = new Map<string, ClusterStatus['findings'][number]>();
  for (const { reason, severity } of findings) {
    const key = `${severity} ${reason}`;
    const count = (counts.get(key)?.count ?? 0) + 1;
    counts.set(key, { reason, severity, count });
  }
  return severities.flatMap((severity) =>
    [...counts.values()].filter((one) => one.severity === severity),
  );
}
