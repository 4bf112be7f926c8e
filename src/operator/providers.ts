import { CadastreError } from '../base/errors.ts';

/**
 * The registry of allocation modes. A mode that other people write (a cloud's)
 * is one more entry here; nothing else asks for a mode by name.
 */
export interface Provider {
  name: string;
  description: string;
  /** Whether this mode cuts blocks, or leaves that to somebody else. */
  allocates: boolean;
  /** Where the pools come from. */
  pools: 'objects' | 'flags' | 'none';
  /** Whether a node gets as many blocks as it asks for, not exactly one. */
  byDemand: boolean;
  /** What is written where Cilium reads it, unless the user says otherwise. */
  projections: readonly ProjectionName[];
}

export const projectionNames = ['annotations', 'node-spec', 'ciliumnode'] as const;
export type ProjectionName = (typeof projectionNames)[number];

export const providers: Readonly<Record<string, Provider>> = Object.fromEntries(
  [
    {
      name: 'ip-pool',
      description: 'blocks from IPPool objects, chosen by nodeSelector',
      allocates: true,
      pools: 'objects',
      byDemand: false,
      projections: ['annotations'],
    } as const,
    {
      name: 'cluster-pool',
      description: 'one block a node out of --cluster-pool-ipv4-cidr and -ipv6-cidr',
      allocates: true,
      pools: 'flags',
      byDemand: false,
      projections: ['ciliumnode'],
    } as const,
    {
      name: 'cluster-pool-v2',
      description: 'the same, with more blocks as a node fills those it has',
      allocates: true,
      pools: 'flags',
      byDemand: true,
      projections: ['ciliumnode'],
    } as const,
    {
      name: 'kubernetes',
      description: 'kube-controller-manager sets Node.spec.podCIDRs; nothing is allocated here',
      allocates: false,
      pools: 'none',
      byDemand: false,
      projections: [],
    } as const,
  ].map((provider): [string, Provider] => [provider.name, provider]),
);

export function providerOf(mode: string): Provider {
  const provider = Object.hasOwn(providers, mode) ? providers[mode] : undefined;
  if (provider !== undefined) return provider;
  throw new CadastreError('BAD_FLAG', `--ipam=${mode} is not a mode Cadastre knows`, {
    remedy: `Use one of: ${Object.keys(providers).join(', ')}.`,
  });
}
