import type { KubeObject } from './object.ts';

/**
 * The Helm values of Cilium as the cilium-config that its chart makes of them, so that both are
 * read by one reader. Only what allocation and announcements depend on; the chart's own defaults
 * count where a value is not given, but for the CIDRs: a range of addresses is never guessed.
 */
export function configOfValues(values: Readonly<Record<string, unknown>>): KubeObject {
  const at = (path: string) => path.split('.').reduce(step, values as unknown);
  const operator = (name: string) => at(`ipam.operator.${name}`);
  const data: Record<string, unknown> = {};
  const put = (key: string, value: unknown) => {
    if (isGiven(value)) data[key] = plain(value);
  };
  put('ipam', at('ipam.mode'));
  put('enable-ipv4', at('ipv4.enabled'));
  put('enable-ipv6', at('ipv6.enabled'));
  for (const [family, name] of [
    ['ipv4', 'IPv4'],
    ['ipv6', 'IPv6'],
  ] as const) {
    // The list counts before the single CIDR of older charts.
    const list = operator(`clusterPool${name}PodCIDRList`);
    put(
      `cluster-pool-${family}-cidr`,
      isGiven(list) ? list : operator(`clusterPool${name}PodCIDR`),
    );
    put(`cluster-pool-${family}-mask-size`, operator(`clusterPool${name}MaskSize`));
  }
  // The chart's default, where the agent's own would be 112.
  data['cluster-pool-ipv6-mask-size'] ??= '120';
  put('enable-bgp-control-plane', at('bgpControlPlane.enabled'));
  // The older BGP has a switch for itself, and one for what it announces.
  if (at('bgp.enabled') === true) put('bgp-announce-pod-cidr', at('bgp.announce.podCIDR'));
  return { metadata: { name: 'cilium-config', namespace: 'kube-system' }, data } as KubeObject;
}

/** By the keys that we read: a file with none of them is something else. */
export function isCiliumValues(value: unknown): value is Record<string, unknown> {
  return isMapping(value) && value.kind === undefined && isMapping(value.ipam);
}

function step(value: unknown, key: string): unknown {
  return isMapping(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && !isEmptyList(value);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** As text, which a ConfigMap has alone; a mapping stays one, and the reader says so. */
function plain(value: unknown): unknown {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(' ');
  return typeof value === 'number' || typeof value === 'boolean' ? `${value}` : value;
}
