import type { LabelSelector } from './label-selector.ts';
import { type Identity, identityOf, type KubeObject, textList } from './object.ts';

/** Communities and preferences that blocks are advertised with. */
export interface BgpAdvertisement extends Identity {
  nodeSelector: LabelSelector | undefined;
  /** Names; empty means all. */
  peers: readonly string[];
  pools: readonly string[];
  priority: number;
  communities: readonly string[];
  largeCommunities: readonly string[];
  localPref: number | undefined;
  med: number | undefined;
  prepend: number | undefined;
}

export function readBgpAdvertisement(object: KubeObject): BgpAdvertisement {
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const number = (key: string) =>
    typeof spec[key] === 'number' ? (spec[key] as number) : undefined;
  return {
    ...identityOf(object),
    nodeSelector: (spec.nodeSelector ?? undefined) as LabelSelector | undefined,
    peers: textList(spec.peers),
    pools: textList(spec.pools),
    priority: number('priority') ?? 0,
    communities: textList(spec.communities),
    largeCommunities: textList(spec.largeCommunities),
    localPref: number('localPref'),
    med: number('med'),
    prepend: number('prepend'),
  };
}
