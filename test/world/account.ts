/** A service account of a manifest in deploy/, with its rights and nothing else. */
import { join } from 'node:path';
import { writeKubeconfig } from '../parts/kubeconfig.ts';
import type { Cluster } from './cluster.ts';

/** Applies the manifest with kubectl; a kubeconfig for the account that it makes. */
export async function accountOf(
  cluster: Cluster,
  manifest: string,
  account: string,
): Promise<string> {
  const applied = await cluster.kubectl(['apply', '-f', manifest]);
  if (applied.exitCode !== 0) throw new Error(`${manifest}: ${applied.stderr}`);
  const path = `/api/v1/namespaces/kube-system/serviceaccounts/${account}/token`;
  const { status } = await cluster.must<{ status: { token: string } }>('POST', path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  });
  const kubeconfigPath = join(cluster.dir, `${account}-kubeconfig`);
  const users = { [account]: { token: status.token } };
  writeKubeconfig(kubeconfigPath, { server: cluster.api.url, caFile: cluster.api.caFile, users });
  return kubeconfigPath;
}
