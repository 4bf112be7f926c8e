/**
 * What people are paged for on one node, read when somebody scrapes: nothing is counted twice,
 * and what is gone (a peer, a pool) leaves no series behind. The node itself is no label: whoever
 * scrapes knows whom (docs/metrics.md).
 */
import type { Metrics } from '../base/metrics.ts';
import { sessionStates } from '../bgp/session/session-events.ts';
import type { AddressService } from './address-service.ts';
import type { AgentStatus } from './agent-status.ts';
import type { Announcer } from './announcer.ts';
import type { PodBlocks } from './pod-blocks.ts';

interface AgentMetricsOptions {
  metrics: Metrics;
  status: Pick<AgentStatus, 'state' | 'poolOf' | 'json'>;
  announcer: Pick<Announcer, 'sessions'>;
  podBlocks: Pick<PodBlocks, 'use' | 'unknownOwners' | 'journal'>;
  /** Undefined if it only announces. */
  cni: Pick<AddressService['cni'], 'repairedPods'> | undefined;
}

/** A peer whose settings cannot work has no session at all. */
const states = [...sessionStates, 'Refused'] as const;

export function registerAgentMetrics(options: AgentMetricsOptions): void {
  registerState(options);
  registerSessions(options);
  if (options.podBlocks.journal === undefined) return;
  registerAddresses(options);
  registerJournal(options);
}

function registerState({ metrics, status, podBlocks, cni }: AgentMetricsOptions): void {
  const unknown = metrics.gauge(
    'cadastre_agent_address_owners_unknown',
    'Whether blocks give no address since the journal of addresses was damaged.',
  );
  const ready = metrics.gauge('cadastre_agent_ready', 'Whether the agent serves pods.');
  const findings = metrics.gauge(
    'cadastre_agent_findings',
    'What the agent found wrong with its node, by reason.',
  );
  const routes = metrics.gauge(
    'cadastre_agent_routes',
    'Routes of ours in the kernel: wanted, held, or refused by it.',
  );
  metrics.onCollect(() => {
    const { kernel, findings: found } = status.json();
    ready.set(status.state.isReady ? 1 : 0);
    unknown.set(podBlocks.unknownOwners === undefined ? 0 : 1);
    findings.clear();
    const counts = countBy(found, ({ reason }) => reason);
    for (const [reason, count] of counts) findings.set(count, { reason });
    routes.set(kernel.wanted, { state: 'wanted' });
    routes.set(kernel.held, { state: 'held' });
    routes.set(kernel.refused.length, { state: 'refused' });
  });
  metrics.readCounter(
    'cadastre_agent_pods_repaired_total',
    'Pods whose interface or route another program changed on the node, and that were repaired.',
    () => cni?.repairedPods ?? 0,
  );
}

function registerSessions({ metrics, status, announcer }: AgentMetricsOptions): void {
  const state = metrics.gauge(
    'cadastre_bgp_session_state',
    'BGP sessions by peer: 1 for the state that the session is in, 0 for the others.',
  );
  const received = metrics.gauge(
    'cadastre_bgp_prefixes_received',
    'Prefixes that a peer advertises to this node, by peer and family.',
  );
  const advertised = metrics.gauge(
    'cadastre_bgp_prefixes_advertised',
    'Prefixes that this node advertises to a peer, by peer and family.',
  );
  const unannounced = metrics.gauge(
    'cadastre_bgp_blocks_unannounced',
    'Blocks of this node that a router does not get, by reason.',
  );
  metrics.onCollect(() => {
    for (const gauge of [state, received, advertised, unannounced]) gauge.clear();
    for (const session of announcer.sessions()) {
      const { peer } = session;
      for (const one of states) state.set(session.state === one ? 1 : 0, { peer, state: one });
      for (const { family, ...counts } of session.families ?? []) {
        received.set(counts.received, { peer, family });
        advertised.set(counts.advertised, { peer, family });
      }
    }
    const blocks = new Map(
      status.json().unannounced.map(({ reason, cidr }) => [`${reason} ${cidr}`, reason]),
    );
    for (const [reason, count] of countBy(blocks.values(), (one) => one)) {
      unannounced.set(count, { reason });
    }
  });
}

function registerAddresses({ metrics, status, podBlocks }: AgentMetricsOptions): void {
  const addresses = metrics.gauge(
    'cadastre_node_addresses',
    "Pod addresses of this node's blocks by pool, family and state: used, cooling, reserved, free.",
  );
  metrics.onCollect(() => {
    addresses.clear();
    const sums = new Map<string, { pool: string; family: string; counts: AddressCounts }>();
    for (const { prefix, pods, resting, reserved, free } of podBlocks.use) {
      const [pool, family] = [status.poolOf(prefix), prefix.family];
      const sum = sums.get(`${pool} ${family}`) ?? { pool, family, counts: { ...noAddresses } };
      sum.counts.used += pods;
      sum.counts.cooling += resting;
      sum.counts.reserved += Number(reserved);
      sum.counts.free += Number(free);
      sums.set(`${pool} ${family}`, sum);
    }
    for (const { pool, family, counts } of sums.values()) {
      for (const [state, count] of Object.entries(counts)) {
        addresses.set(count, { pool, family, state });
      }
    }
  });
}

type AddressCounts = typeof noAddresses;
const noAddresses = { used: 0, cooling: 0, reserved: 0, free: 0 };

function registerJournal({ metrics, podBlocks }: AgentMetricsOptions): void {
  const read = (what: 'records' | 'compactions' | 'failures') => () =>
    podBlocks.journal?.[what] ?? 0;
  const bytes = metrics.gauge(
    'cadastre_journal_size_bytes',
    'Size of the records in the journal of addresses.',
  );
  metrics.onCollect(() => bytes.set(podBlocks.journal?.bytes ?? 0));
  metrics.readCounter(
    'cadastre_journal_records_total',
    'Records written to the journal of addresses.',
    read('records'),
  );
  metrics.readCounter(
    'cadastre_journal_compactions_total',
    'How often the journal of addresses was replaced by a snapshot.',
    read('compactions'),
  );
  metrics.readCounter(
    'cadastre_journal_write_failures_total',
    'Writes to the journal of addresses that failed; what they were for was refused.',
    read('failures'),
  );
}

function countBy<T>(all: Iterable<T>, keyOf: (one: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return counts;
}
