import { delimiter, join } from 'node:path';
import type { KubeObject } from '../../model/object.ts';
import { bgpPeers, ipPools, nodeBlocks, nodes } from '../../model/resources.ts';
import type { Terminal } from '../terminal.ts';
import { type ClusterFlags, withClient } from '../view/view-flags.ts';
import type { NameKind } from './what-follows.ts';

/** Whoever pressed Tab waits for this long at most. */
const timeoutMs = 2000;

const resources = { nodes, pools: ipPools, blocks: nodeBlocks, peers: bgpPeers };

/** The names of a kind. Whatever goes wrong is thrown: the caller decides to be silent. */
export async function namesOf(
  kind: NameKind,
  flags: ClusterFlags,
  terminal: Terminal,
): Promise<string[]> {
  if (kind === 'topologies') return (await import('../../lab/topologies.ts')).shippedTopologies();
  if (kind === 'contexts') {
    const { readKubeConfigs } = await import('../../kube/kubeconfig-file.ts');
    const { KUBECONFIG, HOME = '' } = terminal.env;
    const paths = (flags.kubeconfig ?? KUBECONFIG ?? join(HOME, '.kube/config')).split(delimiter);
    return [...readKubeConfigs(paths, { skipMissing: true }).contexts.keys()];
  }
  return withClient(flags, terminal, async (client) => {
    const list = await client.list<KubeObject>(resources[kind], { timeoutMs, retries: 0 });
    return list.items.flatMap(({ metadata }) => metadata?.name ?? []);
  });
}
