import { addToGroup } from '../../base/add-to-group.ts';
import { listNames, plural } from '../../base/count-text.ts';
import { reasons } from '../../model/reasons.ts';
import type { Subject } from '../find/subject.ts';
import { compareText } from '../pools/pool-set.ts';
import { keyOf } from './drift.ts';
import { type DoctorFinding, type DoctorReason, type Severity, severities } from './finding.ts';
import { wrongRecord } from './fixes.ts';
import type { Survey } from './survey.ts';

/**
 * What findings have in common. A router that no node reaches makes a finding for each
 * block of each node; one who is called at night wants to read of the router, and of the
 * blocks below it. Causes come with the most pods hurt first.
 */
export interface Cause {
  /** The same cause at the same place has the same one. */
  id: string;
  /** `tor1 is unreachable from 4 of 4 nodes`. */
  title: string;
  /** Of its findings, the first in the order of the judgement. */
  reason: DoctorReason;
  /** Of its findings, the worst. */
  severity: Severity;
  /** What it is about: a page of the console. */
  subject: Subject | null;
  /** Pods of nodes that are hurt now, as far as anybody counts them. */
  podsHurt: number;
  nodesHurt: string[];
  /** The same for one event more, such as another router lost. */
  podsAtRisk: number;
  nodesAtRisk: string[];
  /** In the order of the judgement. */
  findings: DoctorFinding[];
}

export function causesOf(survey: Survey, findings: readonly DoctorFinding[]): Cause[] {
  const lost = lostRouters(survey);
  const groups = new Map<string, { origin: Origin; findings: DoctorFinding[] }>();
  const all = new Set(findings.map(({ reason }) => reason));
  for (const finding of findings) {
    const origin =
      routerOrigin(survey, lost, finding) ??
      allocatorOrigin(survey, all, finding) ??
      ownOrigin(survey, finding);
    const group = groups.get(origin.id);
    if (group === undefined) groups.set(origin.id, { origin, findings: [finding] });
    else group.findings.push(finding);
  }
  const causes = [...groups.values()].map(({ origin, findings: own }) =>
    causeOf(survey, origin, own),
  );
  return causes.sort(
    (a, b) =>
      b.podsHurt - a.podsHurt ||
      b.nodesHurt.length - a.nodesHurt.length ||
      severities.indexOf(a.severity) - severities.indexOf(b.severity) ||
      b.podsAtRisk - a.podsAtRisk ||
      b.nodesAtRisk.length - a.nodesAtRisk.length,
  );
}

/** The cause of each finding, by the finding's key. */
export function causeIdsOf(causes: readonly Cause[]): Map<string, string> {
  return new Map(
    causes.flatMap(({ id, findings }) => findings.map((one) => [keyOf(one), id] as const)),
  );
}

interface Origin {
  id: string;
  subject: Subject | null;
  title(findings: readonly DoctorFinding[]): string;
}

interface LostRouter {
  name: string;
  /** Nodes whose session with it is down, and all that are to have one. */
  down: ReadonlySet<string>;
  nodes: number;
}

/** A router that more than one node has lost is the router's fault, or its link's. */
function lostRouters({ nodes }: Survey): Map<string, LostRouter> {
  const sessions = new Map<string, { node: string; isUp: boolean }[]>();
  for (const [node, { report }] of nodes) {
    for (const { peer, state } of report?.status?.sessions ?? []) {
      addToGroup(sessions, peer, { node, isUp: state === 'Established' });
    }
  }
  const lost = new Map<string, LostRouter>();
  for (const [name, all] of [...sessions].sort(([a], [b]) => compareText(a, b))) {
    const down = new Set(all.flatMap(({ node, isUp }) => (isUp ? [] : [node])));
    if (down.size > 1) lost.set(name, { name, down, nodes: all.length });
  }
  return lost;
}

const ofRoutes: ReadonlySet<DoctorReason> = new Set(['Blackhole', 'NotAnnounced', 'NotHeld']);

function routerOrigin(
  survey: Survey,
  lost: ReadonlyMap<string, LostRouter>,
  { reason, owner, node, prefix }: DoctorFinding,
): Origin | undefined {
  if (!ofRoutes.has(reason)) return undefined;
  const name = owner ?? node ?? '';
  const sessions = survey.nodes.get(name)?.report?.status?.sessions ?? [];
  // A block that an established session does not carry has a cause of its own.
  const isOwnFault = sessions.some(
    ({ state, announced }) =>
      state === 'Established' && !announced.some((one) => one.prefix === prefix),
  );
  if (isOwnFault) return undefined;
  const routers = [...lost.values()].filter(({ down }) => down.has(name));
  const [first] = routers;
  if (first === undefined) return undefined;
  const names = routers.map((router) => router.name);
  const down = Math.max(...routers.map((router) => router.down.size));
  const nodes = Math.max(...routers.map((router) => router.nodes));
  const verb = names.length === 1 ? 'is' : 'are';
  return {
    id: `router ${names.join(' ')}`,
    subject: { kind: 'router', name: first.name },
    title: () => `${names.join(' and ')} ${verb} unreachable from ${down} of ${nodes} nodes`,
  };
}

const ofRecords: ReadonlySet<DoctorReason> = new Set(['SourcesDisagree', 'Detour', 'Orphan']);

/** Where somebody else writes records too, it is they who make them differ, and routes follow records. */
function allocatorOrigin(
  survey: Survey,
  all: ReadonlySet<DoctorReason>,
  { reason, prefix, owner, node }: DoctorFinding,
): Origin | undefined {
  if (!all.has('SecondAllocator')) return undefined;
  // A route that is missing follows from it only where nodes announce the record that it writes.
  const isRoute =
    reason === 'Blackhole' &&
    wrongRecord(survey, { prefix: prefix ?? '', owner, node }) !== undefined;
  if (reason !== 'SecondAllocator' && !ofRecords.has(reason) && !isRoute) return undefined;
  return {
    id: 'SecondAllocator',
    subject: null,
    title: (findings) => {
      const nodes = new Set(findings.flatMap(({ node, owner }) => owner ?? node ?? []));
      return `a second allocator writes blocks of its own: ${plural(nodes.size, 'node')} with records that differ`;
    },
  };
}

/** The same fault of one node or pool; elsewhere it is another cause, unless it is about nobody. */
function ownOrigin({ nodes }: Survey, finding: DoctorFinding): Origin {
  const { reason, node, owner, prefix, says } = finding;
  const pool = says.pool ?? '';
  if (pool !== '' && node === null) {
    return {
      id: `${reason} pool ${pool}`,
      subject: { kind: 'pool', name: pool },
      title: () => `pool ${pool}: ${says.forecast ?? says.free ?? reasons[reason]}`,
    };
  }
  const name = owner ?? node;
  if (name !== null && nodes.has(name)) {
    if (ofRoutes.has(reason)) {
      return {
        id: `routes node ${name}`,
        subject: { kind: 'node', name },
        title: (all) => `routes to ${name} are missing: ${listNames(prefixesOf(all), 3)}`,
      };
    }
    return {
      id: `${reason} node ${name}`,
      subject: { kind: 'node', name },
      title: (all) => `${reason} at ${name}: ${listNames(prefixesOf(all), 3) || reasons[reason]}`,
    };
  }
  return {
    id: `${reason}`,
    subject: prefix === null || prefix.includes(',') ? null : { kind: 'prefix', name: prefix },
    title: (all) => `${reason}: ${listNames(prefixesOf(all), 3) || says.labels || reasons[reason]}`,
  };
}

function prefixesOf(findings: readonly DoctorFinding[]): string[] {
  return [...new Set(findings.flatMap(({ prefix }) => prefix ?? []))];
}

function causeOf(survey: Survey, origin: Origin, findings: DoctorFinding[]): Cause {
  const hurt = new Set(findings.flatMap(({ hurts }) => hurts.now));
  const atRisk = new Set(findings.flatMap(({ hurts }) => hurts.if.flatMap(({ nodes }) => nodes)));
  const worst = findings.reduce((a, b) =>
    severities.indexOf(b.severity) < severities.indexOf(a.severity) ? b : a,
  );
  const pods = (nodes: ReadonlySet<string>) =>
    [...nodes].reduce((sum, name) => sum + podsOn(survey, name), 0);
  return {
    id: origin.id,
    title: origin.title(findings),
    reason: findings[0]!.reason,
    severity: worst.severity,
    subject: origin.subject,
    podsHurt: pods(hurt),
    nodesHurt: [...hurt].sort(compareText),
    podsAtRisk: pods(atRisk),
    nodesAtRisk: [...atRisk].sort(compareText),
    findings,
  };
}

/** By the agent's report, which is never older than its session; else by the Pods that were listed. */
function podsOn({ nodes, evidence }: Survey, name: string): number {
  const reported = nodes.get(name)?.report?.status?.blocks;
  if (reported !== undefined) return reported.reduce((sum, { pods }) => sum + pods, 0);
  return (evidence.pods ?? []).filter(({ node }) => node === name).length;
}
