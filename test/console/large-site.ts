/** A console over 65,536 blocks, without a cluster: only the state and the page are under test. */
import { HttpServer } from '../../src/base/http-server.ts';
import type { Assets } from '../../src/console/assets.ts';
import { addConsoleRoutes, pageHeaders } from '../../src/console/console-routes.ts';
import { EventStream } from '../../src/console/event-stream.ts';
import { Finder } from '../../src/console/finder.ts';
import type { NodeRow } from '../../src/console/rows.ts';
import { ConsoleState } from '../../src/console/state.ts';
import { emptyState } from '../../src/model/cluster-state.ts';
import { evidenceOf } from '../../src/plan/doctor/evidence.ts';

export const blockCount = 65_536;

export interface LargeSite {
  url: string;
  state: ConsoleState;
  stop(): Promise<void>;
}

export async function startLargeSite(assets: Assets): Promise<LargeSite> {
  const state = new ConsoleState({ epoch: 'large' });
  fill(state);
  const stream = new EventStream(state);
  const server = new HttpServer({ headers: pageHeaders });
  addConsoleRoutes(server, {
    assets,
    state,
    stream,
    finder: new Finder(() => evidenceOf(emptyState, { nowMs: 1 })),
    past: () => [],
    detail: () => undefined,
    whatIf: () => ({ kind: 'unknown', why: 'there is no cluster behind this' }),
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

function fill(state: ConsoleState): void {
  state.put('meta', '', {
    title: 'large',
    version: '',
    cluster: '',
    mode: '',
    commandFlags: '',
    tryIt: null,
    sources: [],
  });
  const capacity = blockCount;
  state.put('pool', 'large', {
    name: 'large',
    cidrs: [
      {
        cidr: '10.0.0.0/8',
        blockLength: 24,
        capacity,
        assigned: 60_000,
        awaitingRelease: 0,
        cooling: 500,
        free: 1_440,
      },
    ],
    reserved: ['10.255.0.0/16', '10.240.0.0/13'],
    selector: '',
    priority: 0,
    cooldownSeconds: 300,
    disabled: false,
    state: 'Ready',
    message: '',
    createdMs: 1,
  });
  for (let rack = 0; rack < 64; rack++) state.put('node', `node${rack}`, nodeOf(rack));
  for (let index = 0; index < blockCount; index++) {
    const second = index >> 8;
    if (second >= 240) continue;
    const cidr = `10.${second}.${index & 255}.0/24`;
    state.put('block', cidr, {
      cidr,
      pool: 'large',
      node: `node${(index >> 6) % 64}`,
      phase: index % 131 === 0 ? 'Cooling' : 'Active',
      sinceMs: 1,
    });
  }
}

function nodeOf(rack: number): NodeRow {
  return {
    name: `node${rack}`,
    rack: `rack-${rack % 12}`,
    addresses: [`10.4.1.${rack}`],
    labels: {},
    createdMs: 1,
    isLeaving: false,
    blocksState: null,
    agent: null,
    register: [],
    // Some say that they have what is another's: outlined on the map.
    spec: rack % 8 === 0 ? [`10.${rack}.7.0/24`] : [],
    annotation: [],
    cilium: null,
    used: null,
    kernel: null,
    sessions: [],
    unannounced: [],
  };
}
