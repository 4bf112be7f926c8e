/**
 * How a pod gets its identity: the token of its service account, the
 * certificates by which it knows the API server and its namespace, in a volume
 * that its kubelet fills. What the admission plugin ServiceAccount does.
 */
import { randomSuffix } from '../names.ts';
import type { ApiObject, Fields } from '../object.ts';
import { ApiRefusal } from '../status.ts';
import type { Collection } from '../store/collection.ts';

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';

interface Context {
  readonly accounts: () => Collection;
  readonly random: () => number;
}

/** Changes a pod that is being created; refuses one whose account does not exist. */
export function mountServiceAccount(pod: ApiObject, { accounts, random }: Context): void {
  // The picture of a pod that its node runs from a file.
  if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return;
  const spec = pod.spec as Fields;
  const name = String(spec.serviceAccountName || spec.serviceAccount || 'default');
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
  const { namespace = '' } = pod.metadata;
  const account = accounts().get(`${namespace}/${name}`)?.object;
  if (account === undefined) throw noAccount(pod.metadata.name, namespace, name);
  const listOf = (owner: ApiObject | Fields, field: string) => (owner[field] ?? []) as Fields[];
  if (listOf(spec, 'imagePullSecrets').length === 0 && account.imagePullSecrets !== undefined) {
    spec.imagePullSecrets = account.imagePullSecrets;
  }
  if ((spec.automountServiceAccountToken ?? account.automountServiceAccountToken) === false) return;
  const without = [...listOf(spec, 'initContainers'), ...listOf(spec, 'containers')].filter(
    (container) => !listOf(container, 'volumeMounts').some((one) => one.mountPath === mountPath),
  );
  if (without.length === 0) return;
  const volume = `kube-api-access-${randomSuffix(random)}`;
  for (const container of without) {
    const mount = { name: volume, readOnly: true, mountPath };
    container.volumeMounts = [...listOf(container, 'volumeMounts'), mount];
  }
  spec.volumes = [...listOf(spec, 'volumes'), { name: volume, projected }];
}

const projected = {
  sources: [
    // An hour, and seven seconds by which the real one knows that it added this itself.
    { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: {
        items: [
          { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } },
        ],
      },
    },
  ],
  defaultMode: 0o644,
};

function noAccount(pod: string, namespace: string, name: string): ApiRefusal {
  const why = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`;
  const message = `pods "${pod}" is forbidden: ${why}`;
  return new ApiRefusal(403, 'Forbidden', message, { name: pod, kind: 'pods' });
}
