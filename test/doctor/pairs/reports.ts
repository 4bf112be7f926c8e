/** Pairs of worlds: what agents report, and what pods use (judge-reports, judge-restored, judge-uses). */

import type { Reason } from '../../../src/model/reasons.ts';
import type { DoctorFinding, DoctorReason } from '../../../src/plan/doctor/finding.ts';
import { block, ciliumNode, report, reported } from '../worlds.ts';
import { ofCadastre, ofCilium, type Pair } from './pair.ts';

const podAt = (name: string, at: string, address: string) => ({
  name,
  uid: name,
  resourceVersion: '',
  namespace: 'default',
  node: at,
  addresses: [address],
});

const livesAt = (name: string, cidr: string, internal: string) => ({
  ...ciliumNode(name, cidr),
  internalIps: [internal],
});

/** What an agent reports is found; what another agent of the cluster says about no fault is not. */
const agentFound = (
  reason: DoctorReason,
  { severity = 'warning', now = [] as string[], cidr = '' } = {},
): Pair => {
  const [first, ...rest] = ofCadastre().reports;
  const withFinding = (word: string) => ({
    ...ofCadastre(),
    reports: [
      {
        ...first!,
        status: { ...first!.status, findings: [{ reason: word, cidr, detail: 'it said so' }] },
      },
      ...rest,
    ],
  });
  return {
    triggers: withFinding(reason),
    beside: withFinding('NotOnLink'),
    finding: {
      node: 'a',
      owner: 'a',
      prefix: cidr === '' ? null : cidr,
      severity: severity as DoctorFinding['severity'],
      says: { agent: 'it said so' },
      hurts: { now, if: [] },
    },
  };
};

const doubted = (reason: Reason) => ({
  ...block('10.1.9.0/24', 'gone', { phase: 'Cooling', restedSeconds: 300 }),
  releasable: {
    type: 'Releasable',
    status: 'False',
    reason,
    message: 'the report of gone says that it does not use the block, but …',
  } as const,
});

export const reportPairs = {
  RestoredFromBackup: {
    triggers: {
      ...ofCadastre(),
      reports: ofCadastre().reports.map((one) =>
        one.name === 'a' ? { ...one, uses: [{ cidr: '10.1.1.0/24', uid: 'of a lost one' }] } : one,
      ),
    },
    beside: {
      ...ofCadastre(),
      reports: ofCadastre().reports.map((one) =>
        one.name === 'a' ? { ...one, uses: [{ cidr: '10.1.0.0/24', uid: 'of a lost one' }] } : one,
      ),
    },
    finding: {
      node: 'a',
      owner: 'b',
      prefix: '10.1.1.0/24',
      severity: 'critical',
      hurts: { now: ['a', 'b'], if: [] },
    },
  },
  PodsOutsideBlocks: agentFound('PodsOutsideBlocks', { severity: 'critical', now: ['a'] }),
  NotThisMachine: agentFound('NotThisMachine', { severity: 'critical', now: ['a'] }),
  DuplicateAgent: agentFound('DuplicateAgent'),
  BlockMissing: agentFound('BlockMissing', { cidr: '10.1.1.0/24' }),
  AddressOwnersUnknown: agentFound('AddressOwnersUnknown'),
  PeerRefused: agentFound('PeerRefused'),
  RouteRefused: agentFound('RouteRefused', { cidr: '10.1.1.0/24' }),
  NoAddressOfFamily: agentFound('NoAddressOfFamily'),
  MasqueradeRefused: agentFound('MasqueradeRefused'),
  MalformedConfig: agentFound('MalformedConfig'),
  DuplicateAddress: {
    triggers: {
      ...ofCilium(),
      pods: [podAt('one', 'a', '10.1.0.5'), podAt('two', 'b', '10.1.0.5')],
    },
    beside: { ...ofCilium(), pods: [podAt('one', 'a', '10.1.0.5'), podAt('two', 'b', '10.1.1.5')] },
    finding: {
      prefix: '10.1.0.5/32',
      owner: 'a',
      node: 'b',
      severity: 'critical',
      says: { Pods: 'default/one on a, default/two on b' },
      hurts: { now: ['a', 'b'], if: [] },
    },
  },
  AgentOnOldBlock: {
    triggers: {
      ...ofCilium(),
      ciliumNodes: [livesAt('a', '10.1.0.0/24', '10.1.1.7'), ciliumNode('b', '10.1.1.0/24')],
    },
    beside: {
      ...ofCilium(),
      ciliumNodes: [livesAt('a', '10.1.0.0/24', '10.1.0.7'), ciliumNode('b', '10.1.1.0/24')],
    },
    finding: { prefix: '10.1.1.0/24', owner: 'b', node: 'a', severity: 'critical' },
  },
  LeakedAddress: {
    triggers: { ...ofCadastre(), reports: [report('a', { blocks: [reported('10.1.0.0/24', 3)] })] },
    beside: ofCadastre(),
    finding: { node: 'a', prefix: '10.1.0.0/24', says: { agent: '3 addresses', Pods: '1' } },
  },
  ReportNotAttributed: {
    triggers: {
      ...ofCadastre(),
      blocks: [...ofCadastre().blocks, doubted('ReportNotAttributed')],
    },
    // The report says nothing for a release: whoever may have written it.
    beside: { ...ofCadastre(), blocks: [...ofCadastre().blocks, doubted('AwaitingWitness')] },
    finding: {
      node: 'gone',
      prefix: '10.1.9.0/24',
      says: { missing: 'the report of gone says that it does not use the block, but …' },
      fix: 'kubectl apply -f deploy/agent.yaml, so that each agent is bound to its own node; or, if the machine of gone is off: cadastre blocks release 10.1.9.0/24 --machine-is-off "why"',
    },
  },
} satisfies Partial<Record<DoctorReason, Pair>>;
