/** What a cluster has before anybody comes: its namespaces, its Service network, its own Service. */
import { isIP } from 'node:net';
import { parsePrefix } from '../net/prefix.ts';
import { type Api, collectionOf, keyIn, type ResourceScope } from './api.ts';
import { type Fields, isEqual, timestamp } from './object.ts';
import { create } from './verbs/create.ts';
import type { WriteQuery } from './verbs/decode.ts';

const namespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

interface Body extends Fields {
  metadata: { name: string; labels?: object };
}

export async function bootstrap(api: Api, serviceNetworks: string[]): Promise<void> {
  const ensure = (group: string, plural: string, namespace: string | undefined, body: Body) => {
    const scope = scopeOf(api, group, plural, namespace);
    if (entryOf(api, scope, body) === undefined) create(api, scope, body, options());
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
  const clusterIP = kubernetesAddress(serviceNetworks);
  if (clusterIP !== undefined) {
    ensure('', 'services', 'default', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'kubernetes',
        labels: { component: 'apiserver', provider: 'kubernetes' },
      },
      spec: {
        clusterIP,
        ports: [{ name: 'https', port: 443, targetPort: 6443 }],
      },
    });
  }
  await api.store.settled();
}

/** Of the Service `kubernetes`: the first of the first network. */
export function kubernetesAddress([first = '']: readonly string[]): string | undefined {
  return parsePrefix(first)?.first().plus(1).toString();
}

/** Where the Service `kubernetes` leads, if it is an address that others can reach. */
export async function publishAddress(api: Api, host: string, port: number): Promise<void> {
  const family = isIP(host);
  if (family === 0 || /^(127\.|0\.0\.0\.0$|::1?$)/.test(host)) return;
  const replace = (group: string, plural: string, body: Body) => {
    const scope = scopeOf(api, group, plural, 'default');
    const old = entryOf(api, scope, body);
    const fields = ['subsets', 'endpoints', 'ports'];
    if (fields.every((field) => isEqual(old?.object[field], body[field]))) return;
    if (old !== undefined) api.store.remove(collectionOf(api, scope.type), old.key);
    create(api, scope, body, options());
  };
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  replace('', 'endpoints', {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'kubernetes', labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: host }], ports }],
  });
  replace('discovery.k8s.io', 'endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'kubernetes', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: family === 4 ? 'IPv4' : 'IPv6',
    endpoints: [{ addresses: [host], conditions: { ready: true } }],
    ports,
  });
  await api.store.settled();
}

function scopeOf(
  { registry }: Api,
  group: string,
  plural: string,
  namespace: string | undefined,
): ResourceScope {
  const type = registry.find(group, 'v1', plural);
  if (type === undefined) throw new Error(`no ${plural}`);
  return { type, namespace };
}

function entryOf(api: Api, scope: ResourceScope, { metadata }: Body) {
  return collectionOf(api, scope.type).get(keyIn(scope, metadata.name));
}

const options = (): WriteQuery => ({
  dryRun: false,
  fieldManager: 'apiserver',
  fieldValidation: 'Ignore',
  force: false,
  warnings: [],
});
