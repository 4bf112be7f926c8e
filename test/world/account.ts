/** A service account of a manifest in deploy/, with its rights and nothing else. */
import { join } from 'node:path';
import {
  agentPolicyAnnotation,
  agentPolicyIdentity,
  agentPolicyName,
} from '../../src/model/agent-policy.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { writeKubeconfig } from '../parts/kubeconfig.ts';
import type { Cluster } from './cluster.ts';
import { paths } from './objects.ts';

const admission = '/apis/admissionregistration.k8s.io/v1';
export const policyPaths = {
  policy: `${admission}/validatingadmissionpolicies/${agentPolicyName}`,
  binding: `${admission}/validatingadmissionpolicybindings/${agentPolicyName}`,
};

/** Applies the manifest with kubectl; a kubeconfig for the account that it makes. */
export async function accountOf(
  cluster: Cluster,
  manifest: string,
  account: string,
): Promise<string> {
  await applyManifest(cluster, manifest);
  return kubeconfigOf(cluster, account, await tokenOf(cluster, account));
}

/** The same for the agent of one node, whose token names that Node. */
export async function agentAccount(cluster: Cluster, node: string): Promise<string> {
  await applyManifest(cluster, 'deploy/agent.yaml');
  const token = await tokenOf(cluster, 'cadastre-agent', node);
  return kubeconfigOf(cluster, `cadastre-agent-${node}`, token);
}

export async function applyManifest(cluster: Cluster, manifest: string): Promise<void> {
  const applied = await cluster.kubectl(['apply', '-f', manifest]);
  if (applied.exitCode !== 0) throw new Error(`${manifest}: ${applied.stderr}`);
}

/** The report of that node names the policy that is in force, as its agent's writes do. */
export async function namePolicy(cluster: Cluster, node: string): Promise<void> {
  const policy = await cluster.must<KubeObject>('GET', policyPaths.policy);
  const binding = await cluster.must<KubeObject>('GET', policyPaths.binding);
  const underPolicy = agentPolicyIdentity({ policy, binding });
  const annotations = { [agentPolicyAnnotation]: underPolicy };
  await cluster.must('PATCH', `${paths.reports}/${node}`, { metadata: { annotations } });
}

/** With `node` it is that of a Pod on that Node, as kubelet asks for it. */
export async function tokenOf(cluster: Cluster, account: string, node?: string): Promise<string> {
  const path = `/api/v1/namespaces/kube-system/serviceaccounts/${account}/token`;
  const boundObjectRef = node === undefined ? undefined : await podOn(cluster, account, node);
  const { status } = await cluster.must<{ status: { token: string } }>('POST', path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { boundObjectRef },
  });
  return status.token;
}

async function podOn(cluster: Cluster, serviceAccountName: string, nodeName: string) {
  const name = `${serviceAccountName}-${nodeName}`;
  const path = '/api/v1/namespaces/kube-system/pods';
  const containers = [{ name: 'agent', image: 'cadastre' }];
  const pod = await cluster.must<{ metadata: { uid: string } }>('POST', path, {
    metadata: { name },
    spec: { serviceAccountName, nodeName, containers },
  });
  return { apiVersion: 'v1', kind: 'Pod', name, uid: pod.metadata.uid };
}

function kubeconfigOf(cluster: Cluster, user: string, token: string): string {
  const kubeconfigPath = join(cluster.dir, `${user}-kubeconfig`);
  const users = { [user]: { token } };
  writeKubeconfig(kubeconfigPath, { server: cluster.api.url, caFile: cluster.api.caFile, users });
  return kubeconfigPath;
}
