/** What the console sees, as the doctor's judgement takes it. Pure. */
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { CiliumSettings } from '../model/cilium-config.ts';
import { families } from '../net/family.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { Register } from '../plan/blocks/register.ts';
import type { Evidence, Mode, RouterTable } from '../plan/doctor/evidence.ts';
import type { DoctorFinding, Source } from '../plan/doctor/finding.ts';
import type { KeptReport } from './cluster-copies.ts';
import type { RouterView } from './router-view.ts';
import type { FindingRow } from './rows.ts';

export interface SeenByConsole {
  nowMs: number;
  mode: Mode | undefined;
  register: Register;
  reports: readonly KeptReport[];
  peers: readonly BgpPeer[] | undefined;
  cilium: CiliumSettings | undefined;
  routers: readonly RouterView[];
  sources: ReadonlyArray<{ name: string; detail: string; isSeen: boolean }>;
}

export function evidenceOf(seen: SeenByConsole): Evidence {
  const { register, routers } = seen;
  return {
    nowMs: seen.nowMs,
    mode: seen.mode,
    sources: [
      ...seen.sources.map(
        ({ name, detail, isSeen }): Source => ({
          name,
          kind: 'cluster',
          state: isSeen ? 'seen' : 'unseen',
          ageSeconds: isSeen ? 0 : null,
          holds: detail,
        }),
      ),
      ...routers.map(
        ({ name, isUp, held }): Source => ({
          name,
          kind: 'bgp',
          state: isUp ? 'seen' : 'unseen',
          ageSeconds: isUp ? 0 : null,
          holds: isUp ? `${held.length} routes` : 'down',
        }),
      ),
    ],
    nodes: [...register.nodes.values()],
    ciliumNodes: [...register.ciliumNodes.values()],
    pools: register.poolSet.pools,
    blocks: [...register.blocks.values()],
    reports: seen.reports,
    serviceNetworks: [],
    loadBalancerRanges: [],
    cilium: seen.cilium,
    peers: seen.peers,
    // A router that is down has said nothing, which is not the same as holding nothing.
    routers: routers.filter(({ isUp }) => isUp).map(tableOf),
  };
}

function tableOf({ name, address, held }: RouterView): RouterTable {
  return {
    router: name,
    families: new Set(families),
    addresses: [address],
    routes: held.flatMap(({ prefix, nextHop, from }) => {
      const parsed = parsePrefix(prefix);
      return parsed === undefined ? [] : [{ prefix: parsed, nextHop, isUsed: true, from }];
    }),
  };
}

export function findingRow(finding: DoctorFinding): FindingRow {
  const { reason, severity, node, prefix, owner, says, hurts, fix } = finding;
  return {
    id: [reason, prefix, node, owner].join(' '),
    reason,
    severity,
    node: node ?? '',
    prefix: prefix ?? '',
    owner: owner ?? '',
    says,
    hurtsNow: hurts.now,
    hurtsIf: hurts.if,
    fix,
  };
}
