/** Each source that was asked, with its age, and what could not be read, with the reason. */
import { listNames } from '../base/count-text.ts';
import type { ReadCluster } from '../cluster/read-cluster.ts';
import { type CiliumSettings, ciliumConfigName } from '../model/cilium-config.ts';
import { type ClusterKind, ciliumBgpKinds, clusterKinds } from '../model/cluster-kinds.ts';
import type { ClusterState } from '../model/cluster-state.ts';
import { modeOfCilium } from '../model/modes.ts';
import type { Source } from '../plan/doctor/finding.ts';

export function objectSources(read: ReadCluster, state: ClusterState): Source[] {
  const kind = read.from === 'cluster' ? 'cluster' : 'objects';
  const source = (name: string, of: ClusterKind, count: number, whatNot: string): Source => {
    const why = read.unread.get(of);
    const isSeen = count > 0 && why === undefined;
    const noun = clusterKinds[of].resource.kind;
    return {
      name,
      kind: of === 'reports' ? 'report' : kind,
      state: isSeen ? 'seen' : 'unseen',
      ageSeconds: isSeen ? read.ageOf(of) : null,
      holds: isSeen ? `${count} ${noun}${count === 1 ? '' : 's'}` : 'nothing',
      ...(isSeen ? {} : { note: why ?? whatNot }),
    };
  };
  return [
    source('nodes', 'nodes', state.nodes.length, 'there is no Node: nobody owns anything'),
    source('ciliumnodes', 'ciliumNodes', state.ciliumNodes.length, 'no CiliumNode'),
    ciliumSource(read, state.cilium, kind),
    source(
      'register',
      'blocks',
      state.blocks.length,
      'no NodeBlock: Cadastre allocates nothing here',
    ),
    source(
      'agents',
      'reports',
      state.reports.length,
      'no NodeReport: blocks in use, kernel routes and BGP sessions were not compared',
    ),
    // Mostly of no interest; but who may not look must know that nobody did.
    ...(read.unread.has('pods') ? [source('pods', 'pods', 0, '')] : []),
    ...(state.cilium?.bgp === 'control-plane' ? bgpSource(read, state, kind) : []),
  ];
}

/** Cilium's BGP objects, where it obeys them: those that could not be read are named. */
function bgpSource(
  { unread }: ReadCluster,
  { unreadCiliumBgp = [] }: ClusterState,
  kind: Source['kind'],
): Source[] {
  if (unreadCiliumBgp.length === 0) return [];
  const notes = ciliumBgpKinds.flatMap((one) => unread.get(one) ?? []);
  const isPart = unreadCiliumBgp.length < ciliumBgpKinds.length;
  return [
    {
      name: 'cilium-bgp',
      kind,
      state: isPart ? 'partly' : 'unseen',
      ageSeconds: null,
      holds: isPart ? `without ${listNames(unreadCiliumBgp)}` : 'nothing',
      note: `${notes.join('; ')}; what Cilium announces is not known`,
    },
  ];
}

export const noRouter: Source = {
  name: 'routers',
  kind: 'rib',
  state: 'unseen',
  ageSeconds: null,
  holds: 'nothing',
  note: 'no router was shown (--rib NAME=FILE, --listen): what routers hold is not known',
};

function ciliumSource(
  { ageOf, unread }: ReadCluster,
  cilium: CiliumSettings | undefined,
  kind: Source['kind'],
): Source {
  const name = ciliumConfigName;
  if (cilium === undefined) {
    const note = unread.get('configMaps') ?? `no ConfigMap ${ciliumConfigName}`;
    return { name, kind, state: 'unseen', ageSeconds: null, holds: 'nothing', note };
  }
  const { ipam, clusterPool, version, bgp, problems } = cilium;
  const pools = [clusterPool.ipv4, clusterPool.ipv6]
    .filter(({ cidrs }) => cidrs.length > 0)
    .map(({ cidrs, maskSize }) => `${cidrs.join(' ')} in /${maskSize}`);
  const words = [
    `ipam ${ipam}`,
    ...(modeOfCilium(ipam)?.pools === 'flags' ? pools : []),
    version === undefined ? 'version not known' : `Cilium ${version.major}.${version.minor}`,
    announcing[bgp],
  ];
  return {
    name,
    kind,
    state: problems.length > 0 ? 'partly' : 'seen',
    ageSeconds: ageOf('configMaps'),
    holds: words.join(', '),
    ...(problems.length > 0 ? { note: problems.join('; ') } : {}),
  };
}

const announcing: Readonly<Record<CiliumSettings['bgp'], string>> = {
  off: 'announces no pods',
  metallb: 'announces pods by BGP',
  // Its BGP objects say what.
  'control-plane': 'BGP control plane',
};
