import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { PodBlockUse } from '../plan/pod-address/pod-address.ts';
import { registerAgentMetrics } from './agent-metrics.ts';
import type { AgentStatusJson } from './agent-status.ts';

function useOf(text: string, counts: Partial<PodBlockUse>): PodBlockUse {
  return {
    prefix: parsePrefix(text)!,
    isDraining: false,
    total: 254n,
    allocated: 0n,
    forPods: 253n,
    reserved: 0n,
    pods: 0,
    resting: 0,
    free: 0n,
    ...counts,
  };
}

function scraper() {
  const metrics = new Metrics();
  const world = {
    sessions: [] as AgentStatusJson['sessions'],
    unannounced: [] as AgentStatusJson['unannounced'],
    use: [] as PodBlockUse[],
    journal: { records: 0, compactions: 0, failures: 0, bytes: 0 },
  };
  registerAgentMetrics({
    metrics,
    status: {
      state: { isReady: true, reason: 'AgentReady', detail: '' },
      poolOf: () => 'rack83',
      json: () =>
        ({
          kernel: { wanted: 3, held: 2, repaired: 0, ownRoutes: [], refused: [], routes: [] },
          unannounced: world.unannounced,
          findings: [{ reason: 'NotOwner', nodes: ['n1'], cidr: '10.5.113.0/24', detail: 'x' }],
        }) as unknown as AgentStatusJson,
    },
    announcer: { sessions: () => [...world.sessions] },
    podBlocks: {
      get use() {
        return world.use;
      },
      unknownOwners: undefined,
      get journal() {
        return world.journal;
      },
    },
    cni: { repairedPods: 0 },
  });
  const lines = (name: string) =>
    metrics
      .text()
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return { world, lines };
}

const session = (peer: string, state: string): AgentStatusJson['sessions'][number] => ({
  peer,
  address: '10.4.36.239',
  asn: 64524,
  localAsn: 64513,
  state,
  families: state === 'Established' ? [{ family: 'ipv4', received: 7, advertised: 2 }] : [],
  announced: [],
});

test('a session is 1 in the state that it is in; a peer that is gone leaves nothing', () => {
  const { world, lines } = scraper();
  world.sessions = [session('tor1', 'Established'), session('tor2', 'Active')];
  const up = lines('cadastre_bgp_session_state').filter((line) => line.endsWith(' 1'));
  expect(up).toEqual([
    'cadastre_bgp_session_state{peer="tor1",state="Established"} 1',
    'cadastre_bgp_session_state{peer="tor2",state="Active"} 1',
  ]);
  expect(lines('cadastre_bgp_session_state')).toHaveLength(14);
  expect(lines('cadastre_bgp_prefixes_received')).toEqual([
    'cadastre_bgp_prefixes_received{family="ipv4",peer="tor1"} 7',
  ]);
  expect(lines('cadastre_bgp_prefixes_advertised')).toEqual([
    'cadastre_bgp_prefixes_advertised{family="ipv4",peer="tor1"} 2',
  ]);
  world.sessions = [];
  expect(lines('cadastre_bgp_session_state')).toEqual([]);
});

test('a block that two routers lack for one reason counts once', () => {
  const { world, lines } = scraper();
  const of = (cidr: string, peer: string, reason: 'AnnouncementRefused' | 'NoNextHop') => ({
    cidr,
    peer,
    reason,
    detail: '',
  });
  world.unannounced = [
    of('10.5.113.0/24', 'tor1', 'AnnouncementRefused'),
    of('10.5.113.0/24', 'tor2', 'AnnouncementRefused'),
    of('fd00::/64', 'tor2', 'NoNextHop'),
  ];
  expect(lines('cadastre_bgp_blocks_unannounced')).toEqual([
    'cadastre_bgp_blocks_unannounced{reason="AnnouncementRefused"} 1',
    'cadastre_bgp_blocks_unannounced{reason="NoNextHop"} 1',
  ]);
});

test('addresses of all blocks of a pool and family are added up', () => {
  const { world, lines } = scraper();
  world.use = [
    useOf('10.5.113.0/24', { pods: 16, resting: 2, free: 235n }),
    useOf('10.5.114.0/24', { pods: 1, reserved: 8n, free: 244n }),
  ];
  expect(lines('cadastre_node_addresses')).toEqual([
    'cadastre_node_addresses{family="ipv4",pool="rack83",state="used"} 17',
    'cadastre_node_addresses{family="ipv4",pool="rack83",state="cooling"} 2',
    'cadastre_node_addresses{family="ipv4",pool="rack83",state="reserved"} 8',
    'cadastre_node_addresses{family="ipv4",pool="rack83",state="free"} 479',
  ]);
});

test('the journal is counted from 0 on, so that its first failure is an increase', () => {
  const { world, lines } = scraper();
  expect(lines('cadastre_journal_write_failures_total')).toEqual([
    'cadastre_journal_write_failures_total 0',
  ]);
  world.journal = { records: 5, compactions: 1, failures: 2, bytes: 4096 };
  expect(lines('cadastre_journal_write_failures_total')).toEqual([
    'cadastre_journal_write_failures_total 2',
  ]);
  expect(lines('cadastre_journal_records_total')).toEqual(['cadastre_journal_records_total 5']);
  expect(lines('cadastre_journal_compactions_total')).toEqual([
    'cadastre_journal_compactions_total 1',
  ]);
  expect(lines('cadastre_journal_size_bytes')).toEqual(['cadastre_journal_size_bytes 4096']);
});

test('routes and findings are counted by state and reason', () => {
  const { lines } = scraper();
  expect(lines('cadastre_agent_routes')).toEqual([
    'cadastre_agent_routes{state="wanted"} 3',
    'cadastre_agent_routes{state="held"} 2',
    'cadastre_agent_routes{state="refused"} 0',
  ]);
  expect(lines('cadastre_agent_findings')).toEqual([
    'cadastre_agent_findings{reason="NotOwner"} 1',
  ]);
});
