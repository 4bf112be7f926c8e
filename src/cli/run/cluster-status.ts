/** `cadastre status` of a whole cluster, in the form in which `cilium status` shows a node. */
import { plural } from '../../base/count-text.ts';
import { printable } from '../../base/printable.ts';
import { apiVersion } from '../../model/keys.ts';
import { severities } from '../../plan/doctor/finding.ts';
import { judgeSurvey } from '../../plan/doctor/judge.ts';
import { survey } from '../../plan/doctor/survey.ts';
import { type ClusterStatus, clusterStatus } from '../../plan/status/cluster-status.ts';
import { type DoctorFlagValues, gatherEvidence } from '../doctor/doctor-flags.ts';
import { countText, timeText } from '../numbers.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import type { LookFlagValues } from '../view/look.ts';

export async function showClusterStatus(flags: LookFlagValues, terminal: Terminal): Promise<void> {
  terminal.failureCode = 2;
  const asked: DoctorFlagValues = { ...flags, listenSeconds: '1', ciliumNamespace: 'kube-system' };
  const evidence = await gatherEvidence(asked, terminal);
  const seen = survey(evidence);
  const status = clusterStatus(seen, judgeSurvey(seen));
  const at = timeText(Math.floor(evidence.nowMs / 1000) * 1000);
  await printAnswer(terminal, flags.output, {
    data: { apiVersion, kind: 'ClusterStatus', at, ...status },
    names: evidence.nodes.map(({ name }) => `node/${name}`).sort(),
    table: (columns) => statusText(status, at, columns),
  });
  const isCritical = status.findings.some(({ severity }) => severity === 'critical');
  terminal.exitCode = status.unreachable.length > 0 || isCritical ? 1 : 0;
}

function statusText(status: ClusterStatus, at: string, columns: number): string {
  const { health, mode, unreachable, sessions, findings } = status;
  const lines: Array<[string, string]> = [
    ['Cluster health:', `${health.reachable}/${health.nodes} reachable   (${at})`],
    ['Agents:', agentsText(status)],
    ['Mode:', `${mode.name}   (${mode.why})`],
    ...listed('IPAM:', ipamLines(status)),
    ...listed('Pools:', poolLines(status)),
    ['BGP:', `${sessions.established}/${sessions.configured} sessions established`],
    ['Findings:', findingsText(status)],
  ];
  const width = Math.max(...lines.map(([name]) => name.length)) + 2;
  const text = lines.map(([name, value]) => `${name.padEnd(width)}${printable(value)}\n`).join('');
  const tables = [
    table(['NOT REACHABLE', 'REASON', 'DETAIL'], unreachable, columns, (one) => [
      one.node,
      one.reason,
      one.detail,
    ]),
    table(['NODE', 'PEER', 'ADDRESS', 'STATE', 'LAST ERROR'], sessions.down, columns, (one) => [
      one.node,
      one.peer,
      one.address,
      one.state,
      one.lastError,
    ]),
    table(['FINDING', 'SEVERITY', 'COUNT'], findings, columns, (one) => [
      one.reason,
      one.severity,
      String(one.count),
    ]),
  ];
  return text + tables.join('');
}

function listed(name: string, values: readonly string[]): Array<[string, string]> {
  return values.map((value, at) => [at === 0 ? name : '', value]);
}

function agentsText({ agents, health }: ClusterStatus): string {
  const { ready, reporting, versions } = agents;
  if (reporting === 0) return 'none reports';
  const which = versions.map(({ version, nodes }) => `${version} on ${plural(nodes, 'node')}`);
  const others = health.nodes - reporting;
  const silent = others === 0 ? '' : `; ${plural(others, 'node')} without a report`;
  return `${ready}/${reporting} ready   (${which.join(', ')}${silent})`;
}

const familyNames = { ipv4: 'IPv4', ipv6: 'IPv6' } as const;

function ipamLines({ addresses, blocks }: ClusterStatus): string[] {
  if (addresses.length === 0) return [`${plural(blocks, 'block')}; no agent reports addresses`];
  return addresses.map(
    ({ family, allocated, total, from }) =>
      `${familyNames[family]}: ${allocated}/${total} allocated from ${from.join(', ')}`,
  );
}

function poolLines({ pools }: ClusterStatus): string[] {
  if (pools.length === 0) return ['none known'];
  return pools.map(
    ({ name, cidrs, assigned, free, capacity }) =>
      `${name} ${cidrs.join(', ')}: ${countText(assigned)}/${countText(capacity)} blocks assigned, ${countText(free)} free`,
  );
}

function findingsText({ findings }: ClusterStatus): string {
  if (findings.length === 0) return 'none';
  const counts = severities.flatMap((severity) => {
    const count = findings
      .filter((one) => one.severity === severity)
      .reduce((sum, one) => sum + one.count, 0);
    return count === 0 ? [] : [`${count} ${severity}`];
  });
  return `${counts.join(', ')}   (cadastre doctor says whom they hurt, and the cure)`;
}

function table<T>(
  head: string[],
  rows: readonly T[],
  columns: number,
  cells: (row: T) => string[],
): string {
  return rows.length === 0 ? '' : `\n${renderTable(head, rows.map(cells), columns)}`;
}
