/** Pods of a lab: a namespace each, wired by the node's agent, as the CNI plugin asks it to. */
import { callCni } from '../agent/ask-agent.ts';
import { CadastreError } from '../base/errors.ts';
import { ifFound } from '../kube/get-if-there.ts';
import { pods as podResource } from '../model/resources.ts';
import { podObject } from './cluster/objects.ts';
import type { LabPod } from './folder.ts';
import type { Lab } from './lab.ts';
import { namespaceOf, podMachine } from './layout.ts';
import { deleteNamespaces, hasNamespace, ipBatch, namespacePath } from './namespaces.ts';

interface CniAnswer {
  readonly ips?: ReadonlyArray<{ readonly address: string }>;
  readonly msg?: string;
  readonly details?: string;
}

export async function addPod(lab: Lab, node: string, name: string): Promise<LabPod> {
  lab.node(node);
  if (!/^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$/.test(name)) {
    throw new CadastreError(
      'BAD_USAGE',
      `the name "${name}" must be up to 30 small letters, digits and dashes`,
    );
  }
  const namespace = namespaceOf(lab.name, podMachine(name));
  if (lab.pods.some((pod) => pod.name === name) || hasNamespace(namespace)) {
    throw new CadastreError('BAD_USAGE', `there is a pod ${name} already`, {
      remedy: `Choose another name, or remove it: cadastre lab pod ${node} ${name} --delete`,
    });
  }
  lab.folder.change((manifest) => ({
    ...manifest,
    namespaces: [...manifest.namespaces, namespace],
  }));
  await ipBatch(undefined, [`netns add ${namespace}`]);
  try {
    await ipBatch(namespace, ['link set lo up']);
    const { ips = [] } = await callAgent(lab, node, name, 'ADD');
    const addresses = ips.map(({ address }) => address.split('/')[0]!);
    const pod: LabPod = { name, node, namespace, addresses };
    lab.folder.change((manifest) => ({
      ...manifest,
      pods: [...manifest.pods, pod].sort((a, b) => (a.name < b.name ? -1 : 1)),
    }));
    await register(lab, pod);
    return pod;
  } catch (error) {
    await deleteNamespaces([namespace]);
    forget(lab, name);
    throw error;
  }
}

/** As a runtime does it: CNI DEL first, then the namespace. Twice is fine. */
export async function deletePod(lab: Lab, name: string): Promise<void> {
  const pod = lab.pods.find((one) => one.name === name);
  if (pod === undefined) {
    throw new CadastreError('BAD_USAGE', `the lab ${lab.name} has no pod "${name}"`, {
      remedy: 'cadastre lab status lists them.',
    });
  }
  await callAgent(lab, pod.node, name, 'DEL');
  await deleteNamespaces([pod.namespace]);
  forget(lab, name);
  const client = await lab.client();
  await ifFound(client.delete(podResource, name, { namespace: 'default' }));
}

/** Its machine is off: the pod is gone with it, and the Pod is deleted by force. Nobody asks the agent. */
export async function losePod(lab: Lab, name: string): Promise<void> {
  const pod = lab.pods.find((one) => one.name === name);
  if (pod === undefined) return;
  await deleteNamespaces([pod.namespace]);
  forget(lab, name);
  const client = await lab.client();
  await ifFound(client.delete(podResource, name, { namespace: 'default' }));
}

function forget(lab: Lab, name: string): void {
  const namespace = namespaceOf(lab.name, podMachine(name));
  lab.folder.change((manifest) => ({
    ...manifest,
    namespaces: manifest.namespaces.filter((one) => one !== namespace),
    pods: manifest.pods.filter((pod) => pod.name !== name),
  }));
}

async function callAgent(
  lab: Lab,
  node: string,
  name: string,
  command: 'ADD' | 'DEL',
): Promise<CniAnswer> {
  const namespace = namespaceOf(lab.name, podMachine(name));
  const { stdout, exitCode } = await callCni(lab.agentSocket(node), {
    command,
    containerId: namespace,
    netns: namespacePath(namespace),
    ifname: 'eth0',
    args: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name}`,
    plugin: 'cadastre',
    stdin: JSON.stringify({ cniVersion: '1.1.0', name: 'pods', type: 'cadastre' }),
  });
  const answer = (stdout.trim() === '' ? {} : JSON.parse(stdout)) as CniAnswer;
  if (exitCode === 0) return answer;
  const why = [answer.msg, answer.details].filter(Boolean).join(': ');
  throw new CadastreError('LAB_FAILED', `${command} of pod ${name} on ${node}: ${why}`);
}

/** So that the cluster has the Pod too: findings name the pods they hurt. */
async function register(lab: Lab, { name, node, addresses }: LabPod): Promise<void> {
  const client = await lab.client();
  const at = { namespace: 'default' };
  await client.create(podResource, podObject(name, node), at);
  await client.patch(podResource, name, {
    ...at,
    subresource: 'status',
    type: 'merge',
    body: {
      status: {
        phase: 'Running',
        podIP: addresses[0],
        podIPs: addresses.map((ip) => ({ ip })),
      },
    },
  });
}
