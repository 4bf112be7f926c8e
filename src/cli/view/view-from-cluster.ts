import { CadastreError } from '../../base/errors.ts';
import { ApiError } from '../../kube/api-error.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/kubeconfig.ts';
import { apiVersion, type Resource } from '../../kube/resource.ts';
import type { KubeObject } from '../../model/object.ts';
import {
  blockHistories,
  ciliumNodes,
  ipPools,
  loadBalancerPools,
  nodeBlocks,
  nodeMigrations,
  nodeReports,
  nodes,
  serviceAddresses,
  serviceCidrs,
} from '../../model/resources.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import {
  addView,
  type ClusterView,
  emptyView,
  putObject,
  type ViewedKind,
} from './cluster-view.ts';
import type { ViewFlagValues } from './view-flags.ts';

/** In the order they are read: see below. */
const resources: readonly Resource[] = [
  ipPools,
  nodeBlocks,
  nodeReports,
  ciliumNodes,
  serviceCidrs,
  nodes,
];

/** What only few commands ask for. */
const extras = {
  history: blockHistories,
  migrations: nodeMigrations,
  servicePools: loadBalancerPools,
  serviceAddresses,
} as const;
export type Extra = keyof typeof extras;

/**
 * A view of a live cluster, by lists alone. A kind that the cluster does not
 * have is empty: a cluster that runs plain Cilium, or nothing yet, can be looked
 * at too. Nodes are read last, so that a block never seems to belong to a node
 * that is only a moment younger than our list.
 */
export async function viewFromCluster(
  flags: Pick<ViewFlagValues, 'kubeconfig' | 'context' | 'verbose'>,
  terminal: Terminal,
  more: readonly Extra[] = [],
): Promise<ClusterView> {
  const { kubeconfig, context } = flags;
  const access = await loadKubeConfig({
    kubeconfig,
    context,
    env: terminal.env,
    clock: terminal.clock,
  });
  const client = new KubeClient(access, { userAgent: `cadastre/${readVersion()}` });
  const words: string[] = [];
  try {
    const view = emptyView(access.origin);
    for (const resource of [...more.map((extra) => extras[extra]), ...resources]) {
      const count = await readKind(client, resource, view);
      words.push(`${count ?? 'no'} ${resource.plural}`);
      if (resource === ipPools && count === undefined) await refuseOtherVersion(client);
    }
    if (flags.verbose) terminal.say(`read ${access.origin}: ${words.join(', ')}`);
    return view;
  } finally {
    await client.close();
  }
}

/** Not there at all is one thing; there in a version that we cannot read must not look like it. */
async function refuseOtherVersion(client: KubeClient): Promise<void> {
  const { group, version: ours } = ipPools;
  let served: string[];
  try {
    const { versions } = (await client.rawGet(`/apis/${group}`)) as {
      versions?: { version: string }[];
    };
    served = (versions ?? []).map(({ version }) => version);
  } catch (error) {
    if (error instanceof ApiError && (error.isNotFound || error.isForbidden)) return;
    throw error;
  }
  if (served.length === 0 || served.includes(ours)) return;
  const message = `the cluster has ${group} in ${served.join(', ')}; this cadastre knows ${ours}`;
  throw new CadastreError('BAD_INPUT', message, {
    remedy: `Look at it with the cadastre of the cluster's own operator; this one is ${readVersion()}.`,
  });
}

/** Page by page, so that whole Nodes are never held all at once; undefined if there is no such kind. */
async function readKind(
  client: KubeClient,
  resource: Resource,
  view: ClusterView,
): Promise<number | undefined> {
  const { kind } = resource;
  const version = apiVersion(resource);
  let found = emptyView('');
  let count = 0;
  try {
    await client.listPages<KubeObject>(resource, {}, (items, { page }) => {
      if (page === 0) [found, count] = [emptyView(''), 0];
      count += items.length;
      for (const item of items) {
        putObject(found, kind as ViewedKind, { ...item, apiVersion: version, kind });
      }
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // As for the operator: who may not see them names them with --service-cidr.
    const isOptional = kind === 'ServiceCIDR' && error.isForbidden;
    if (error.isNotFound || isOptional) return undefined;
    throw error;
  }
  addView(view, found);
  return count;
}
