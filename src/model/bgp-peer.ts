import { type LabelSelector, type Labels, selects } from './label-selector.ts';
import { type Identity, identityOf, type KubeObject } from './object.ts';
import { peerProblems } from './peer-limits.ts';
import { type PeerSetting, type PeerSettings, peerSettingRows } from './peer-settings.ts';

/** A router that some nodes have sessions with, be it a BGPPeer object or an entry of the ConfigMap. */
export type BgpPeer = PeerSettings & {
  name: string;
  /** For nodes that match any of them; none means every node. */
  nodeSelectors: readonly LabelSelector[];
};

export type ReadBgpPeer = Identity &
  ({ kind: 'peer'; peer: BgpPeer } | { kind: 'malformed'; problem: string });

/** What a peer of the cluster has where it says nothing: the API server fills in the same. */
export const clusterPeerDefaults: Partial<PeerSettings> = Object.fromEntries(
  peerSettingRows.flatMap(([name, row]: readonly [string, PeerSetting]) => {
    const byDefault = row.clusterDefault ?? row.default;
    const isFilledIn = row.object !== undefined && typeof byDefault === 'number';
    return isFilledIn ? [[name, byDefault]] : [];
  }),
);

export function readBgpPeer(object: KubeObject): ReadBgpPeer {
  const identity = identityOf(object);
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const settings: Partial<PeerSettings> = Object.fromEntries(
    peerSettingRows.flatMap(([name, { object: key = '' }]) => {
      const value = spec[key] ?? undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const [problem] = peerProblems(settings, 'object');
  if (problem !== undefined) {
    return { ...identity, kind: 'malformed', problem: `spec.${problem.sentence}` };
  }
  const selector = spec.nodeSelector as LabelSelector | undefined;
  const peer: BgpPeer = {
    ...clusterPeerDefaults,
    ...(settings as PeerSettings),
    name: identity.name,
    nodeSelectors: selector === undefined || selector === null ? [] : [selector],
  };
  return { ...identity, kind: 'peer', peer };
}

/** Whether nodes with these labels are to have a session with the router. */
export function isPeerOf({ nodeSelectors }: BgpPeer, labels: Labels): boolean {
  return nodeSelectors.length === 0 || nodeSelectors.some((one) => selects(one, labels));
}
