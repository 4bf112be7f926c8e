/** The rows of a past moment, made by the same code as those of now, out of BlockHistory. */
import type { NodeReportStatus } from '../model/node-report-status.ts';
import { stateAsOf } from '../plan/blocks/as-of.ts';
import { causesOf } from '../plan/doctor/causes.ts';
import { type Evidence, evidenceOf } from '../plan/doctor/evidence.ts';
import { judgeSurvey } from '../plan/doctor/judge.ts';
import { survey } from '../plan/doctor/survey.ts';
import { truthTable } from '../plan/doctor/truth-table.ts';
import { blockRow, findingId, findingRow, nodeRow, poolRow } from './make-rows.ts';
import type { PoolCidr, RowChange } from './rows.ts';

const noStatus: NodeReportStatus = {
  agentVersion: '',
  startedAt: '',
  blocks: [],
  kernel: { wanted: 0, held: 0, repaired: 0, ownRoutes: [], refused: [] },
  sessions: [],
  findings: [],
  conditions: [],
};

export function rowsAsOf(now: Evidence, atMs: number): RowChange[] {
  const state = stateAsOf(now, atMs);
  const surveyed = survey(evidenceOf(state, { nowMs: atMs }));
  const findings = judgeSurvey(surveyed);
  const rows: RowChange[] = [];
  for (const pool of state.pools) {
    const row = poolRow({ kind: 'pool', pool } as Parameters<typeof poolRow>[0]);
    const held = state.blocks.filter((block) => block.pool === pool.name);
    const cidrs = row.cidrs.map((cidr, at): PoolCidr => {
      const own = held.filter(({ prefix }) => pool.cidrs[at]?.contains(prefix));
      const cooling = own.filter(({ phase }) => phase === 'Cooling').length;
      const free = cidr.capacity - own.length;
      return { ...cidr, assigned: own.length - cooling, cooling, awaitingRelease: 0, free };
    });
    rows.push(['pool', pool.name, { ...row, cidrs }]);
  }
  for (const block of state.blocks) {
    // Counted from that moment, a cool-down has always just begun; its end is not told.
    const { freeAtMs: _, ...row } = blockRow(block, 0);
    rows.push(['block', row.cidr, row]);
  }
  const reports = new Map(state.reports.map(({ name, status }) => [name, status]));
  for (const node of state.nodes) {
    const status = { ...noStatus, ...reports.get(node.name) };
    const blocks = state.blocks.filter(({ nodeName }) => nodeName === node.name);
    const since = new Map(
      status.sessions.map(({ peer, establishedAt = '' }) => [peer, Date.parse(establishedAt)]),
    );
    const sinceMs = (peer: string) => since.get(peer) ?? 0;
    const row = nodeRow({ node, blocks, report: status, cilium: undefined, sinceMs });
    rows.push(['node', node.name, { ...row, used: null, kernel: null, agent: null }]);
  }
  for (const finding of findings) rows.push(['finding', findingId(finding), findingRow(finding)]);
  causesOf(surveyed, findings).forEach((cause, at) => {
    rows.push(['cause', cause.id, { ...cause, at, findings: cause.findings.map(findingId) }]);
  });
  const table = truthTable(surveyed, findings);
  table.columns.forEach((column, at) => {
    rows.push(['column', column.id, { ...column, at }]);
  });
  for (const row of table.rows) rows.push(['truth', row.node, row]);
  rows.push(['judgement', '', { isSettled: true, why: '' }]);
  return rows;
}
