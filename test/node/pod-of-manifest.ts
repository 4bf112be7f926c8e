/** The pods of the manifests in deploy/, as far as a kubelet tells a runtime about them. */
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

export interface SecurityContext {
  privileged?: boolean;
  allowPrivilegeEscalation?: boolean;
  readOnlyRootFilesystem?: boolean;
  runAsNonRoot?: boolean;
  runAsUser?: number;
  runAsGroup?: number;
  capabilities?: { add?: string[]; drop?: string[] };
  seccompProfile?: { type: string };
  seLinuxOptions?: { type?: string; level?: string };
}

export interface Container {
  name: string;
  command?: string[];
  args?: string[];
  env?: Array<{ name: string; value?: string; valueFrom?: { fieldRef: { fieldPath: string } } }>;
  securityContext?: SecurityContext;
  volumeMounts?: Array<{
    name: string;
    mountPath: string;
    readOnly?: boolean;
    mountPropagation?: string;
  }>;
}

export interface PodSpec {
  serviceAccountName: string;
  hostNetwork?: boolean;
  hostPID?: boolean;
  automountServiceAccountToken?: boolean;
  securityContext?: Pick<
    SecurityContext,
    'runAsNonRoot' | 'runAsUser' | 'runAsGroup' | 'seccompProfile'
  >;
  initContainers?: Container[];
  containers: Container[];
  volumes?: Array<{ name: string; hostPath: { path: string; type: string } }>;
}

/** The pod of the one Deployment or DaemonSet; `edit` changes the manifest's text first, as a reader of its comments would. */
export function podOf(manifest: string, edit = (text: string) => text): PodSpec {
  const text = edit(readFileSync(manifest, 'utf8'));
  const objects = parseAllDocuments(text).map((document) => document.toJS());
  const workload = objects.find(({ kind }) => kind === 'DaemonSet' || kind === 'Deployment');
  return workload.spec.template.spec;
}

/** The lines that begin with `# WORD` as if they were none: what a comment offers, switched on. */
export function uncomment(...words: string[]): (text: string) => string {
  return (text) =>
    words.reduce((before, word) => {
      const after = before.replace(`# ${word}`, word);
      if (after === before) throw new Error(`the manifest offers no "${word}" in a comment`);
      return after;
    }, text);
}

const knownFields = new Set([
  ...['privileged', 'allowPrivilegeEscalation', 'readOnlyRootFilesystem', 'runAsNonRoot'],
  ...['runAsUser', 'runAsGroup', 'capabilities', 'seccompProfile', 'seLinuxOptions'],
]);

/** Of the pod and of the container together, as Kubernetes reads them: the container's counts. */
export function securityOf(pod: PodSpec, container: Container): SecurityContext {
  const both = { ...pod.securityContext, ...container.securityContext };
  const unknown = Object.keys(both).filter((field) => !knownFields.has(field));
  // What these tests do not pass on to the runtime they would not test.
  if (unknown.length > 0) throw new Error(`securityContext: ${unknown} is not known here`);
  return both;
}
