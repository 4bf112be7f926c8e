/** What a cluster has before anybody comes: its namespaces, its Service network, its own Service. */
import { parsePrefix } from '../net/prefix.ts';
import { type Api, collectionOf, keyIn, type ResourceScope } from './api.ts';
import { timestamp } from './object.ts';
import { create } from './verbs/create.ts';
import type { WriteQuery } from './verbs/decode.ts';

const namespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

export async function bootstrap(api: Api, serviceNetworks: string[]): Promise<void> {
  const options = (): WriteQuery => ({
    dryRun: false,
    fieldManager: 'apiserver',
    fieldValidation: 'Ignore',
    force: false,
    warnings: [],
  });
  const ensure = (
    group: string,
    plural: string,
    namespace: string | undefined,
    body: { metadata: { name: string; labels?: object }; [field: string]: unknown },
  ) => {
    const type = api.registry.find(group, 'v1', plural);
    if (type === undefined) throw new Error(`no ${plural}`);
    const scope: ResourceScope = { type, namespace };
    const isThere = collectionOf(api, type).get(keyIn(scope, body.metadata.name)) !== undefined;
    if (!isThere) create(api, scope, body, options());
  };
  for (const name of namespaces) {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    ensure('', 'namespaces', undefined, body);
  }
  ensure('networking.k8s.io', 'servicecidrs', undefined, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: serviceNetworks },
    status: {
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: '',
          message: 'Kubernetes Service CIDR is ready',
          lastTransitionTime: timestamp(api.nowMs()),
        },
      ],
    },
  });
  const network = parsePrefix(serviceNetworks[0] as string);
  if (network !== undefined) {
    ensure('', 'services', 'default', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'kubernetes',
        labels: { component: 'apiserver', provider: 'kubernetes' },
      },
      spec: {
        clusterIP: network.first().plus(1).toString(),
        ports: [{ name: 'https', port: 443, targetPort: 6443 }],
      },
    });
  }
  await api.store.settled();
}
