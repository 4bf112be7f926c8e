/**
 * A console over a site of any size, without agents: objects as the API has them, rows and
 * findings by the same code as ever. Racks of sixteen nodes with a pool and two routers each.
 */
import { systemClock } from '../../src/base/clock.ts';
import { HttpServer } from '../../src/base/http-server.ts';
import { silentLog } from '../../src/base/log.ts';
import type { Assets } from '../../src/console/assets.ts';
import { addConsoleRoutes, pageHeaders } from '../../src/console/console-routes.ts';
import { EventStream } from '../../src/console/event-stream.ts';
import { Examiner } from '../../src/console/examiner.ts';
import { Finder } from '../../src/console/finder.ts';
import { blockRow, nodeRow, poolRow } from '../../src/console/make-rows.ts';
import { rowsAsOf } from '../../src/console/past.ts';
import type { RouterView } from '../../src/console/router-view.ts';
import { tablesOf } from '../../src/console/router-view.ts';
import { ConsoleState } from '../../src/console/state.ts';
import type { BlockLog } from '../../src/model/block-history.ts';
import { emptyState, stateOfObjects } from '../../src/model/cluster-state.ts';
import { apiVersion } from '../../src/model/keys.ts';
import { type Evidence, evidenceOf } from '../../src/plan/doctor/evidence.ts';
import { whatIf } from '../../src/plan/doctor/what-if.ts';
import { block, node, pool, report, session } from '../doctor/worlds.ts';

const rackSize = 16;
const dayMs = 86_400_000;

export interface ManySite {
  url: string;
  state: ConsoleState;
  stop(): Promise<void>;
}

export async function startManySite(
  assets: Assets,
  count: number,
  options: { isBroken?: boolean } = {},
): Promise<ManySite> {
  const state = new ConsoleState({ epoch: `many${count}` });
  const nowMs = Date.now();
  const { evidence, routers } = manyNodes(count, nowMs, options.isBroken === true);
  fill(state, evidence, routers, nowMs);
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + examined };
  let examined = 0;
  const examiner = new Examiner({
    evidence: () => evidence,
    notReady: () => undefined,
    state,
    clock,
    log: silentLog,
  });
  // Two rounds make a finding, and by then sessions have had their time.
  examined = 60_000;
  examiner.examine();
  examiner.examine();
  examiner.stop();
  const stream = new EventStream(state);
  const server = new HttpServer({ headers: pageHeaders });
  addConsoleRoutes(server, {
    assets,
    state,
    stream,
    finder: new Finder(() => evidence),
    past: (atMs) => rowsAsOf(evidence, atMs),
    detail: (name) => ({ node: name, pool: '', why: '', candidates: [] }),
    whatIf: (action) => whatIf(evidence, action),
    tryIt: undefined,
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    url: `http://127.0.0.1:${server.port}`,
    state,
    async stop() {
      state.close();
      stream.close();
      await server.close();
    },
  };
}

/** Broken: the second rack has lost its first router, and one node has no session at all. */
export function manyNodes(
  count: number,
  nowMs: number,
  isBroken: boolean,
): { evidence: Evidence; routers: RouterView[] } {
  const racks = Math.max(1, Math.ceil(count / rackSize));
  const names = Array.from({ length: count }, (_, at) => `node${at + 1}`);
  const rackOf = (at: number) => Math.floor(at / rackSize);
  const address = (at: number) => `10.4.${rackOf(at)}.${(at % rackSize) + 10}`;
  const cidr = (at: number) => `10.${64 + rackOf(at)}.${at % rackSize}.0/24`;
  const peers = (rack: number) => [`tor${2 * rack + 1}`, `tor${2 * rack + 2}`];
  const isDown = (at: number, peer: number) =>
    isBroken && ((rackOf(at) === 1 % racks && peer === 0) || at === count - 1);
  const joinedMs = (at: number) => nowMs - (20 + ((at * 7) % 60)) * dayMs;
  const nodes = names.map((name, at) =>
    node(name, address(at), {
      labels: { rack: `rack-${rackOf(at) + 1}` },
      createdMs: joinedMs(at),
    }),
  );
  const pools = Array.from({ length: racks }, (_, rack) =>
    pool(
      `rack-${rack + 1}`,
      [`10.${64 + rack}.0.0/19`],
      { ipv4: 24 },
      {
        nodeSelector: { matchLabels: { rack: `rack-${rack + 1}` } },
      },
    ),
  );
  const blocks = names.map((name, at) =>
    block(cidr(at), name, { pool: `rack-${rackOf(at) + 1}`, createdMs: joinedMs(at) }),
  );
  const reports = names.map((name, at) =>
    report(name, {
      agentVersion: '1',
      startedAt: '',
      findings: [],
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'AgentReady',
          message: 'serves',
          lastTransitionTime: '',
        },
      ],
      kernel: { wanted: count, held: count, repaired: 0, ownRoutes: [cidr(at)], refused: [] },
      blocks: [
        {
          cidr: cidr(at),
          pool: `rack-${rackOf(at) + 1}`,
          draining: false,
          pods: 20 + ((at * 13) % 90),
          resting: 0,
          total: '253',
        },
      ],
      sessions: peers(rackOf(at)).map((peer, which) => {
        const isLost = isDown(at, which);
        const own = session(peer, address(at), ...(isLost ? [] : [cidr(at)]));
        const error = isLost ? { lastError: 'connect ETIMEDOUT' } : {};
        const state = isLost ? 'Active' : 'Established';
        return { ...own, address: `10.4.${rackOf(at)}.${250 + which}`, state, ...error };
      }),
    }),
  );
  const routers = Array.from({ length: racks }, (_, rack) => rack).flatMap((rack) =>
    peers(rack).map((name, which): RouterView => {
      const heard = names.flatMap((of, at) =>
        rackOf(at) === rack && !isDown(at, which) ? [{ of, at }] : [],
      );
      return {
        name,
        addresses: [`10.4.${rack}.${250 + which}`],
        asn: 64_524,
        isUp: true,
        sessions: [],
        held: heard.map(({ of, at }) => ({
          prefix: cidr(at),
          nextHop: address(at),
          from: of,
          sinceMs: joinedMs(at),
          isStale: false,
        })),
      };
    }),
  );
  const history = names.map((name, at): BlockLog => {
    const begun = new Date(joinedMs(at)).toISOString();
    return {
      cidr: cidr(at),
      dropped: 0,
      entries: [
        { at: begun, event: 'Assigned', node: name, pool: `rack-${rackOf(at) + 1}` },
        { at: begun, event: 'Announced', node: name, peers: peers(rackOf(at)) },
      ],
    };
  });
  const objects = routers.map(({ name, addresses, asn }, at) => ({
    kind: 'BGPPeer',
    apiVersion,
    metadata: { name, uid: name },
    spec: {
      address: addresses[0],
      asn,
      localASN: 64_513,
      nodeSelector: { matchLabels: { rack: `rack-${Math.floor(at / 2) + 1}` } },
    },
  }));
  const { peers: configured } = stateOfObjects(objects);
  const registered = { mode: 'ip-pool' as const, nodes, pools, blocks, reports };
  const state = { ...emptyState, ...registered, peers: configured, history };
  const evidence = evidenceOf(state, { nowMs, isPodListApart: true, routers: tablesOf(routers) });
  return { evidence, routers };
}

function fill(
  state: ConsoleState,
  evidence: Evidence,
  routers: readonly RouterView[],
  nowMs: number,
): void {
  state.put('meta', '', {
    title: 'many',
    version: '',
    cluster: '',
    mode: 'ip-pool',
    commandFlags: '',
    tryIt: null,
    sources: [],
  });
  for (const one of evidence.pools) {
    const taken = evidence.blocks.filter((of) => of.pool === one.name).length;
    const row = poolRow({ kind: 'pool', pool: one } as Parameters<typeof poolRow>[0]);
    const cidrs = row.cidrs.map((of) => ({ ...of, assigned: taken, free: of.capacity - taken }));
    state.put('pool', one.name, { ...row, cidrs });
  }
  const reports = new Map(evidence.reports.map((one) => [one.name, one.status]));
  for (const one of evidence.blocks) {
    state.put('block', one.prefix.toString(), blockRow(one, 300));
  }
  for (const one of evidence.nodes) {
    const blocks = evidence.blocks.filter(({ nodeName }) => nodeName === one.name);
    const status = reports.get(one.name) as Parameters<typeof nodeRow>[0]['report'];
    const row = nodeRow({
      node: one,
      blocks,
      report: status,
      cilium: undefined,
      sinceMs: () => nowMs - 3_600_000,
    });
    state.put('node', one.name, { ...row, rack: one.labels.rack ?? '' });
  }
  for (const one of routers) state.put('router', one.name, one);
  for (const { cidr, entries } of evidence.history) {
    for (const { at, event, node: of } of entries) {
      const id = `history ${cidr} ${at} ${event}`;
      const text = `${cidr} ${event === 'Assigned' ? 'assigned to' : 'announced by'} ${of}`;
      const entry = { id, atMs: Date.parse(at), reason: event, node: of, cidr, text };
      state.put('entry', id, { ...entry, isWarning: false });
    }
  }
}
