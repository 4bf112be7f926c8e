import { type Cure, cure } from '../../model/cures.ts';
import {
  type DoctorFinding,
  type DoctorReason,
  finding,
  hurtsNow,
  type Severity,
} from './finding.ts';
import type { Survey } from './survey.ts';

/**
 * What agents find out by themselves (NodeReport.status.findings): the comparison
 * sees records and routes, an agent sees its pods, its kernel and its peers. What
 * is no fault, such as a node on another link, is left to the report.
 */
export const agentFindings = {
  PodsOutsideBlocks: {
    severity: 'critical',
    fix: (node) =>
      cure(
        'DeletePods',
        `delete those pods, so that they come back with addresses of the blocks of ${node}; or give ${node} that block back`,
      ),
  },
  NotThisMachine: {
    severity: 'critical',
    fix: (node) =>
      cure(
        'NameMachine',
        `see which machine is ${node} (kubectl get node ${node} -o wide), and on the other one set --node-name, or stop its agent`,
      ),
  },
  DuplicateAgent: {
    severity: 'warning',
    fix: (node) =>
      cure(
        'NameMachine',
        `give the other machine a name of its own (--hostname-override of its kubelet, --node-name of its agent), or turn it off; until then only the first one serves ${node}`,
      ),
  },
  RestoredFromBackup: {
    severity: 'critical',
    fix: (node) =>
      cure(
        'RunOperator',
        `the operator takes back what ${node} reports that it uses: see that one runs, and the Events of ${node}`,
      ),
  },
  BlockMissing: {
    severity: 'warning',
    fix: (node) =>
      cure(
        'RunOperator',
        `see that the operator runs: it takes back into the register what ${node} claims (kubectl get nodereport ${node} -o yaml)`,
      ),
  },
  AddressOwnersUnknown: {
    severity: 'warning',
    fix: (node) =>
      cure(
        'RebootNode',
        `drain ${node} (kubectl drain) and reboot it, or give it another block; the damaged file, which the detail names, shows what was lost`,
      ),
  },
  RouteRefused: {
    severity: 'warning',
    fix: (node) =>
      cure(
        'SeeKernel',
        `on ${node}: see the kernel's answer above, and what else writes routes there`,
      ),
  },
  PeerRefused: {
    severity: 'warning',
    fix: () =>
      cure(
        'CorrectPeer',
        'correct the BGPPeer (or its entry in the ConfigMap): kubectl get bgppeers -o yaml',
      ),
  },
  MalformedConfig: {
    severity: 'warning',
    fix: () =>
      cure(
        'CorrectPeer',
        'correct the ConfigMap of the BGP peers; until then the last good one stays in use',
      ),
  },
  MasqueradeRefused: {
    severity: 'warning',
    fix: (node) =>
      cure(
        'SeeNftables',
        `on ${node}: see that nftables is there, and what else changes its rules`,
      ),
  },
  NoAddressOfFamily: {
    severity: 'warning',
    fix: (node) =>
      cure(
        'GiveNodeAddress',
        `give the nodes addresses of that family (--node-ip of kubelet): kubectl get node ${node} -o yaml`,
      ),
  },
} as const satisfies Partial<Record<DoctorReason, { severity: Severity; fix(node: string): Cure }>>;

type AgentReason = keyof typeof agentFindings;

export function judgeReports(survey: Survey): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  for (const [name, { report }] of survey.nodes) {
    const stated = report?.status?.findings;
    // An agent of another version, or a file, may hold anything there.
    if (!Array.isArray(stated)) continue;
    for (const { reason, cidr, detail } of stated) {
      if (!Object.hasOwn(agentFindings, reason)) continue;
      // Compared with the register, and so reported already.
      if (reason === 'RestoredFromBackup' && report?.uses?.some((use) => use.cidr === cidr))
        continue;
      const { severity, fix } = agentFindings[reason as AgentReason];
      found.push(
        finding(reason as AgentReason, severity, {
          node: name,
          prefix: cidr === '' ? null : cidr,
          owner: name,
          says: { agent: detail },
          hurts: severity === 'critical' ? hurtsNow(name) : hurtsNow(),
          fix: fix(name),
        }),
      );
    }
  }
  return found;
}
