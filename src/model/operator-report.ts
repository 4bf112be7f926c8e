import { type Family, families } from '../net/family.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { ResourceDefinition } from './crd.ts';
import { apiVersion } from './keys.ts';
import { findMode, type ModeName, modeNames } from './modes.ts';
import type { NamedNetwork } from './network.ts';
import { type Identity, identityOf, type KubeObject, textList } from './object.ts';
import { operatorReports } from './resources.ts';
import * as field from './schema/field.ts';
import { ruled } from './schema/schema.ts';

/**
 * OperatorReport: how the operator that leads was started. There is one in a cluster, of a
 * fixed name, so that whoever looks finds it without knowing the operator's namespace. The
 * commands read the mode and the pool of the cluster-pool modes from it; nothing is decided
 * by it where an operator runs.
 */
export const operatorReportName = 'cadastre';

const poolOfFamily = field.object('', ['cidrs', 'maskSize'], {
  cidrs: field.list('CIDRs that blocks are cut from.', 256, field.cidrText),
  maskSize: field.integer('Size of a block, as a prefix length.', { minimum: 1, maximum: 128 }),
});

const spec = field.object(
  'How the operator that leads was started. Written by the operator; the commands read mode and pools here, so that its flags need not be repeated.',
  ['mode'],
  {
    mode: field.text('How blocks are allocated (--ipam).', { enum: modeNames }),
    version: field.text('The version of the operator.', { maxLength: 64 }),
    identity: field.name('Which replica wrote this: its name in the Lease.'),
    families: field.list(
      'Address families that are served; absent: those of the pools.',
      2,
      field.text('', { enum: families }),
    ),
    clusterPool: field.object('The pool of the cluster-pool modes.', [], {
      ipv4: poolOfFamily,
      ipv6: poolOfFamily,
      cooldownSeconds: field.count(),
      releaseByTimeSeconds: field.count(),
      maxBlocksPerNode: field.count(),
    }),
    serviceCIDRs: field.list('Service networks of --service-cidr.', 64, field.cidrText),
    adoptFrom: field.list(
      'Records that held blocks are adopted from, best first.',
      16,
      field.text('', { maxLength: 32 }),
    ),
    project: field.list('Where blocks are copied to.', 16, field.text('', { maxLength: 32 })),
    bgpConfigMap: field.object(
      'The ConfigMap of BGP peers and address-pools.',
      ['namespace', 'name'],
      {
        namespace: field.name(),
        name: field.name(),
      },
    ),
  },
);

export interface OperatorReportSpec {
  mode: ModeName;
  version?: string;
  identity?: string;
  families?: readonly Family[];
  clusterPool?: ReportedPool;
  serviceCIDRs?: readonly string[];
  adoptFrom?: readonly string[];
  project?: readonly string[];
  bgpConfigMap?: { namespace: string; name: string };
}

export const operatorReportDefinition: ResourceDefinition = {
  resource: operatorReports,
  shortName: 'opr',
  revision: 1,
  digest: 'f5e37ed2e321bf0a',
  spec,
  status: { type: 'object' },
  rules: ruled<KubeObject>(
    [
      {
        rule: `self.metadata.name == '${operatorReportName}'`,
        message: `a cluster has one, called ${operatorReportName}`,
      },
    ],
    ({ metadata }) =>
      metadata?.name === operatorReportName
        ? []
        : [
            `metadata.name is "${metadata?.name}", but a cluster has one, called ${operatorReportName}`,
          ],
  ),
  columns: [
    { name: 'Mode', type: 'string', jsonPath: '.spec.mode' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version' },
    { name: 'Identity', type: 'string', jsonPath: '.spec.identity' },
  ],
};

export interface ReportedPool {
  ipv4?: { cidrs: readonly string[]; maskSize: number };
  ipv6?: { cidrs: readonly string[]; maskSize: number };
  cooldownSeconds?: number;
  releaseByTimeSeconds?: number;
  maxBlocksPerNode?: number;
}

export interface OperatorReport extends Identity {
  mode: ModeName;
  version: string;
  identity: string;
  families?: readonly Family[];
  clusterPool?: ReportedPool;
  serviceNetworks: readonly NamedNetwork[];
  adoptFrom: readonly string[];
  project: readonly string[];
  bgpConfigMap?: { namespace: string; name: string };
}

/** Undefined: a mode that this version does not know, which must not look like none. */
export function readOperatorReport(object: KubeObject): OperatorReport | undefined {
  const given = (object.spec ?? {}) as Partial<OperatorReportSpec>;
  const mode = findMode(given.mode)?.name;
  if (mode === undefined) return undefined;
  const { clusterPool, bgpConfigMap } = given;
  const served = families.filter((family) => given.families?.includes(family));
  return {
    ...identityOf(object),
    mode,
    version: given.version ?? '',
    identity: given.identity ?? '',
    ...(served.length === 0 ? {} : { families: served }),
    ...(clusterPool == null ? {} : { clusterPool }),
    serviceNetworks: textList(given.serviceCIDRs).flatMap((text) => {
      const prefix = parsePrefix(text);
      return prefix === undefined
        ? []
        : [{ name: "the Service network (the operator's --service-cidr)", prefix }];
    }),
    adoptFrom: textList(given.adoptFrom),
    project: textList(given.project),
    ...(bgpConfigMap == null ? {} : { bgpConfigMap }),
  };
}

export function writeOperatorReport(written: OperatorReportSpec): KubeObject {
  return {
    apiVersion,
    kind: 'OperatorReport',
    metadata: { name: operatorReportName },
    spec: written,
  };
}
