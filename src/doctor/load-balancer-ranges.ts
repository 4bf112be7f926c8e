import { loadConfigMapObject } from '../model/bgp-config-map.ts';
import { readLoadBalancerPool } from '../model/load-balancer-pool.ts';
import type { KubeObject } from '../model/object.ts';
import { textList } from '../model/object.ts';
import { Address, parseAddress } from '../net/address.ts';
import { familyBits } from '../net/family.ts';
import { Prefix, parsePrefix } from '../net/prefix.ts';

/**
 * Where a cluster's load-balancer addresses lie: nodes announce those by right.
 * From the Services themselves, Cilium's pools, MetalLB's, and the ConfigMap.
 */
export function loadBalancerRanges(objects: readonly KubeObject[]): Prefix[] {
  return objects.flatMap((object) => rangesOf(object).flatMap(asPrefixes));
}

function rangesOf(object: KubeObject): string[] {
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  switch (object.kind) {
    case 'Service': {
      const status = object.status as
        | { loadBalancer?: { ingress?: Array<{ ip?: unknown }> | null } | null }
        | undefined;
      const ingress = status?.loadBalancer?.ingress ?? [];
      return [...textList(ingress.map(({ ip }) => ip ?? '')), ...textList(spec.externalIPs)];
    }
    case 'CiliumLoadBalancerIPPool': {
      const blocks = [spec.blocks, spec.cidrs].flatMap((list) => (Array.isArray(list) ? list : []));
      return blocks.flatMap((block) => textList((block as { cidr?: unknown } | null)?.cidr));
    }
    case 'IPAddressPool':
      return textList(spec.addresses);
    case 'LoadBalancerPool': {
      const read = readLoadBalancerPool(object);
      if (read.kind !== 'pool') return [];
      return read.pool.ranges.map(({ first, last }) => `${first}-${last}`);
    }
    case 'ConfigMap': {
      if (object.metadata?.name !== 'bgp-config') return [];
      const read = loadConfigMapObject(object as { data?: Record<string, string> });
      if (read.kind !== 'config') return [];
      return read.config.pools.flatMap(({ addresses }) =>
        addresses.map(({ first, last }) => `${first}-${last}`),
      );
    }
    default:
      return [];
  }
}

/** A CIDR, a lone address, or `first-last`, which takes several blocks. */
function asPrefixes(text: string): Prefix[] {
  const [first = '', last] = text.split('-').map((part) => part.trim());
  const whole = first.includes('/') ? parsePrefix(first) : undefined;
  if (whole !== undefined) return [whole];
  const start = parseAddress(first);
  const end = last === undefined ? start : parseAddress(last);
  if (start === undefined || end?.family !== start.family) return [];
  const bits = familyBits(start.family);
  const found: Prefix[] = [];
  let at = start.toBigInt();
  const stop = end.toBigInt();
  while (at <= stop) {
    let length = bits;
    while (length > 0) {
      const size = 1n << BigInt(bits - length + 1);
      if (at % size !== 0n || at + size - 1n > stop) break;
      length--;
    }
    found.push(Prefix.of(Address.fromBigInt(start.family, at), length));
    at += 1n << BigInt(bits - length);
  }
  return found;
}
