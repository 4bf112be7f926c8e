import { type Family, families } from '../net/family.ts';
import { type Prefix, parsePrefix } from '../net/prefix.ts';
import type { Labels } from './label-selector.ts';
import { type Identity, identityOf, type KubeObject, textList } from './object.ts';

/**
 * A CiliumPodIPPool: what cilium-operator cuts blocks from in mode multi-pool, and what
 * Cilium's BGP needs to announce them, whoever has cut them. It selects pools by the
 * labels, and lets out no block of another length than the pool's.
 */
export interface CiliumPodPool extends Identity {
  labels: Labels;
  cidrs: readonly Prefix[];
  maskSize: Partial<Record<Family, number>>;
}

export function readCiliumPodPool(object: KubeObject): CiliumPodPool {
  const spec = record(object.spec);
  const cidrs: Prefix[] = [];
  const maskSize: CiliumPodPool['maskSize'] = {};
  for (const family of families) {
    const part = record(spec[family]);
    cidrs.push(...textList(part.cidrs).flatMap((text) => parsePrefix(text) ?? []));
    if (typeof part.maskSize === 'number') maskSize[family] = part.maskSize;
  }
  return { ...identityOf(object), labels: object.metadata?.labels ?? {}, cidrs, maskSize };
}

/** Anything may stand where an object belongs. */
function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
