/**
 * Five hundred nodes in 63 racks with a few faults, without a cluster: evidence, judged by the
 * doctor's own code, and the rows that follow from it.
 */
import { HttpServer } from '../../src/base/http-server.ts';
import type { Assets } from '../../src/console/assets.ts';
import { addConsoleRoutes, pageHeaders } from '../../src/console/console-routes.ts';
import { EventStream } from '../../src/console/event-stream.ts';
import { Finder } from '../../src/console/finder.ts';
import { blockRow, findingRow, nodeRow } from '../../src/console/make-rows.ts';
import { ConsoleState } from '../../src/console/state.ts';
import { emptyState } from '../../src/model/cluster-state.ts';
import type { NodeReportStatus } from '../../src/model/node-report-status.ts';
import { type Evidence, evidenceOf } from '../../src/plan/doctor/evidence.ts';
import { judgeSurvey } from '../../src/plan/doctor/judge.ts';
import { survey } from '../../src/plan/doctor/survey.ts';
import { truthTable } from '../../src/plan/doctor/truth-table.ts';
import { waysTo } from '../../src/plan/ways/survey-ways.ts';
import { block, node, nowMs, pool, report, route, router } from '../doctor/worlds.ts';

const nodeCount = 500;
const routerNames = ['tor1', 'tor2'];
/** Two nodes whose blocks the routers have swapped, one that no router has, one session that is down. */
export const faults = { swapped: ['node7', 'node100'], cutOff: 'node200', down: 'node300' };

export const addressOf = (index: number) => `10.4.${Math.floor(index / 8)}.${10 + (index % 8)}`;
export const blockOf = (index: number) => `10.${64 + (index >> 8)}.${index & 255}.0/24`;
const numberOf = (name: string) => Number(name.slice('node'.length));
const indexes = Array.from({ length: nodeCount }, (_, index) => index);

function nextHopOf(index: number): number {
  const [first, second] = faults.swapped.map(numberOf) as [number, number];
  return index === first ? second : index === second ? first : index;
}

function tableOf(name: string) {
  return router(
    name,
    indexes
      .filter((index) => index !== numberOf(faults.cutOff))
      .filter((index) => name !== 'tor1' || index !== numberOf(faults.down))
      .map((index) => route(blockOf(index), addressOf(nextHopOf(index)))),
    { addresses: [routerAddress(name)] },
  );
}

const routerAddress = (name: string) => `10.4.255.${name.slice(-1)}`;

function statusOf(index: number): NodeReportStatus {
  const cidr = blockOf(index);
  return {
    agentVersion: 'test',
    startedAt: '',
    blocks: [{ cidr, pool: 'all', draining: false, pods: 3, resting: 0, total: '254' }],
    kernel: { wanted: 500, held: 500, repaired: 0, ownRoutes: [cidr], refused: [] },
    sessions: routerNames.map((peer) => {
      const isDown = peer === 'tor1' && index === numberOf(faults.down);
      return {
        peer,
        address: routerAddress(peer),
        asn: 64524,
        state: isDown ? 'Idle' : 'Established',
        announced: isDown ? [] : [{ prefix: cidr, nextHop: addressOf(index) }],
      };
    }),
    findings: [],
    conditions: [],
  };
}

function evidence(): Evidence {
  const labels = (index: number) => ({
    'topology.kubernetes.io/rack': `rack-${Math.floor(index / 8) + 1}`,
  });
  return evidenceOf(
    {
      ...emptyState,
      mode: 'ip-pool',
      nodes: indexes.map((index) =>
        node(`node${index}`, addressOf(index), { labels: labels(index) }),
      ),
      pools: [pool('all', ['10.64.0.0/12'], { ipv4: 24 })],
      blocks: indexes.map((index) => block(blockOf(index), `node${index}`)),
      reports: indexes.map((index) => report(`node${index}`, statusOf(index))),
    },
    { nowMs, routers: routerNames.map(tableOf) },
  );
}

function fill(state: ConsoleState, seen: Evidence): void {
  state.put('meta', '', {
    ...{ title: 'five hundred', version: '', cluster: '', mode: 'ip-pool', commandFlags: '' },
    ...{ tryIt: null, sources: [] },
  });
  for (const [index, one] of seen.nodes.entries()) {
    const blocks = seen.blocks.filter(({ nodeName }) => nodeName === one.name);
    const row = nodeRow({
      ...{ node: one, blocks, report: statusOf(index), cilium: undefined, sinceMs: () => nowMs },
    });
    state.put('node', one.name, row);
    for (const held of blocks) state.put('block', held.prefix.toString(), blockRow(held, 0));
  }
  for (const table of seen.routers) {
    state.put('router', table.router, {
      ...{ name: table.router, addresses: [...table.addresses], asn: 64524, isUp: true },
      sessions: [],
      held: table.routes.map(({ prefix, nextHop }) => ({
        ...{ prefix: prefix.toString(), nextHop, from: '', sinceMs: 0, isStale: false },
      })),
    });
  }
  const surveyed = survey(seen);
  const findings = judgeSurvey(surveyed);
  for (const row of findings.map(findingRow)) state.put('finding', row.id, row);
  const { columns, rows } = truthTable(surveyed, findings);
  for (const [at, column] of columns.entries()) state.put('column', column.id, { ...column, at });
  for (const row of rows) state.put('truth', row.node, row);
}

export async function startMapSite(assets: Assets) {
  const seen = evidence();
  const state = new ConsoleState({ epoch: 'map' });
  fill(state, seen);
  const stream = new EventStream(state);
  const server = new HttpServer({ headers: pageHeaders });
  addConsoleRoutes(server, {
    assets,
    state,
    stream,
    finder: new Finder(() => seen),
    past: () => [],
    detail: () => undefined,
    whatIf: () => ({ kind: 'unknown', why: 'there is no cluster behind this' }),
    ways: (to) => waysTo(survey(seen), to),
    tryIt: undefined,
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    url: `http://127.0.0.1:${server.port}`,
    async stop() {
      state.close();
      stream.close();
      await server.close();
    },
  };
}
