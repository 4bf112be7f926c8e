/**
 * The ConfigMap cilium-config of the harness: native routing, no proxy, no Hubble, no health
 * checks, kube-proxy replacement off. What the scenarios are about stands in `Mode`.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { machineAddress } from './layout.ts';

export type Mode = 'cluster-pool' | 'kubernetes' | 'multi-pool' | 'delegated-plugin';

export const podNetwork = '10.50.0.0/16';
export const podNetwork6 = 'fd00:50::/104';

/** What a scenario wants of the cluster it is played on. */
export interface Site {
  readonly mode: Mode;
  /** IPv6 beside IPv4: nodes, pods, sessions. */
  readonly isDual?: boolean;
  /** What its cilium-config says beside, or instead. */
  readonly config?: Readonly<Record<string, string>>;
}

export function ciliumConfig({ mode, isDual, config }: Site): Record<string, string> {
  return {
    ipam: mode,
    'cluster-name': 'default',
    'cluster-id': '0',
    'identity-allocation-mode': 'crd',
    'enable-ipv4': 'true',
    'enable-ipv6': 'false',
    'routing-mode': 'native',
    'ipv4-native-routing-cidr': podNetwork,
    'auto-direct-node-routes': 'true',
    'enable-ipv4-masquerade': 'false',
    'enable-l7-proxy': 'false',
    'enable-hubble': 'false',
    'enable-health-checking': 'false',
    'enable-endpoint-health-checking': 'false',
    'enable-health-check-nodeport': 'false',
    'kube-proxy-replacement': 'false',
    'enable-bgp-control-plane': 'true',
    'enable-bgp-control-plane-status-report': 'true',
    'bgp-secrets-namespace': 'kube-system',
    'enable-k8s-networkpolicy': 'true',
    'enable-endpoint-lockdown-on-policy-overflow': 'false',
    'cgroup-root': '/var/run/cilium/cgroupv2',
    'bpf-root': '/sys/fs/bpf',
    // Small maps: many agents share one machine.
    'bpf-map-dynamic-size-ratio': '0.0025',
    'bpf-ct-global-tcp-max': '8192',
    'bpf-ct-global-any-max': '8192',
    'bpf-nat-global-max': '16384',
    'bpf-neigh-global-max': '16384',
    'enable-endpoint-routes':
      mode === 'multi-pool' || mode === 'delegated-plugin' ? 'true' : 'false',
    ...(mode === 'cluster-pool'
      ? { 'cluster-pool-ipv4-cidr': podNetwork, 'cluster-pool-ipv4-mask-size': '24' }
      : {}),
    ...(mode === 'kubernetes' ? { 'k8s-require-ipv4-pod-cidr': 'true' } : {}),
    ...(mode === 'multi-pool'
      ? {
          'auto-create-cilium-pod-ip-pools': `default=ipv4-cidrs:${podNetwork};ipv4-mask-size:27`,
          'ipam-multi-pool-pre-allocation': 'default=4',
        }
      : {}),
    ...(mode === 'delegated-plugin'
      ? { 'local-router-ipv4': '169.254.23.0', 'enable-endpoint-health-checking': 'false' }
      : {}),
    ...(isDual ? ipv6Of(mode) : {}),
    ...config,
  };
}

function ipv6Of(mode: Mode): Record<string, string> {
  return {
    'enable-ipv6': 'true',
    'ipv6-native-routing-cidr': podNetwork6,
    'enable-ipv6-masquerade': 'false',
    ...(mode === 'cluster-pool'
      ? { 'cluster-pool-ipv6-cidr': podNetwork6, 'cluster-pool-ipv6-mask-size': '120' }
      : {}),
    ...(mode === 'kubernetes' ? { 'k8s-require-ipv6-pod-cidr': 'true' } : {}),
  };
}

export const apiServerOf = (port: number): string => `https://${machineAddress}:${port}`;

/** The folder that a kubelet makes of the ConfigMap: a file for each key, and no other. */
export function writeConfigFiles(dir: string, config: Readonly<Record<string, string>>): void {
  for (const name of readdirSync(dir)) rmSync(join(dir, name));
  for (const [name, value] of Object.entries(config)) writeFileSync(join(dir, name), value);
}
