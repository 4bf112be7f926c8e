import type { Family } from '../net/family.ts';
import type { KubeObject } from './object.ts';

/**
 * What a cluster's own Cilium is set to, as far as the truth of blocks and
 * routes depends on it: the ConfigMap `cilium-config`, and the version in the
 * image of the DaemonSet `cilium`.
 */
export interface CiliumSettings {
  /** `ipam`; Cilium's default is cluster-pool. */
  ipam: string;
  clusterPool: Readonly<Record<Family, { cidrs: readonly string[]; maskSize: number }>>;
  enabled: Readonly<Record<Family, boolean>>;
  /** `bgp-announce-pod-cidr` (MetalLB inside the agent) or `enable-bgp-control-plane` (GoBGP). */
  bgp: 'metallb' | 'control-plane' | 'off';
  version?: CiliumVersion | undefined;
  /** Settings that could not be understood, each as `key: what`. */
  problems: readonly string[];
}

export interface CiliumVersion {
  major: number;
  minor: number;
  /** Where it was read: an image, or a flag. */
  from: string;
}

export const ciliumConfigName = 'cilium-config';

const defaultMaskSize: Readonly<Record<Family, number>> = { ipv4: 24, ipv6: 112 };

export function readCiliumConfig(object: KubeObject): CiliumSettings {
  const data = (object.data ?? {}) as Record<string, unknown>;
  const problems: string[] = [];
  const text = (key: string) => {
    const value = data[key];
    if (value === undefined || value === null) return '';
    if (typeof value === 'string') return value.trim();
    problems.push(`${key}: ${JSON.stringify(value)} is not a string`);
    return '';
  };
  const isOn = (key: string, byDefault: boolean) => {
    const value = text(key);
    if (value === 'true' || value === 'false') return value === 'true';
    if (value !== '') problems.push(`${key}: "${value}" is neither true nor false`);
    return byDefault;
  };
  const pool = (family: Family) => {
    const size = text(`cluster-pool-${family}-mask-size`);
    const maskSize = /^\d{1,3}$/.test(size) ? Number(size) : defaultMaskSize[family];
    if (size !== '' && String(maskSize) !== size) {
      problems.push(`cluster-pool-${family}-mask-size: "${size}" is not a prefix length`);
    }
    // Separated by spaces by Cilium's chart, by commas by people.
    const cidrs = text(`cluster-pool-${family}-cidr`)
      .split(/[\s,]+/)
      .filter(Boolean);
    return { cidrs, maskSize };
  };
  const isControlPlane = isOn('enable-bgp-control-plane', false);
  const isMetalLb = isOn('bgp-announce-pod-cidr', false);
  return {
    ipam: text('ipam') || 'cluster-pool',
    clusterPool: { ipv4: pool('ipv4'), ipv6: pool('ipv6') },
    enabled: { ipv4: isOn('enable-ipv4', true), ipv6: isOn('enable-ipv6', false) },
    bgp: isMetalLb ? 'metallb' : isControlPlane ? 'control-plane' : 'off',
    problems,
  };
}

/** The version in the image of the container `cilium-agent`: `quay.io/cilium/cilium:v1.11.4@sha256:…`. */
export function readCiliumVersion(daemonSet: KubeObject): CiliumVersion | undefined {
  const spec = daemonSet.spec as
    | { template?: { spec?: { containers?: Array<{ name?: string; image?: unknown }> } } }
    | undefined;
  const containers = spec?.template?.spec?.containers ?? [];
  const agent = containers.find(({ name }) => name === 'cilium-agent') ?? containers[0];
  return typeof agent?.image === 'string' ? parseCiliumVersion(agent.image) : undefined;
}

/** From an image, a tag or a plain number; undefined for `latest` and other names of no version. */
export function parseCiliumVersion(text: string): CiliumVersion | undefined {
  const tag = text.replace(/@.*$/, '');
  const match = /(?:^|[:\-v])v?(\d{1,2})\.(\d{1,3})(?:\.\d+)?(?:[-+][\w.]+)?$/.exec(tag);
  if (match === null) return undefined;
  return { major: Number(match[1]), minor: Number(match[2]), from: text };
}
