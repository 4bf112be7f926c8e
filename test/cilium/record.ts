/**
 * The objects of a running cluster as one List, in the form that `cadastre --from` reads:
 * what fixtures of the other tests are made of. Names of the run's own making (uids, times,
 * versions) are made equal from run to run; addresses are what they were.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CiliumCluster } from './cluster.ts';
import { bgpPaths, ciliumPaths } from './objects.ts';

const recorded = 'test/cilium/recorded';

interface Item {
  metadata: Record<string, unknown> & { name: string; namespace?: string };
  [field: string]: unknown;
}

const lists: ReadonlyArray<{ apiVersion: string; kind: string; path: string }> = [
  { apiVersion: 'v1', kind: 'Node', path: '/api/v1/nodes' },
  { apiVersion: 'v1', kind: 'Pod', path: '/api/v1/namespaces/default/pods' },
  { apiVersion: 'v1', kind: 'ConfigMap', path: '/api/v1/namespaces/kube-system/configmaps' },
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    path: '/apis/apps/v1/namespaces/kube-system/daemonsets',
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    path: '/apis/apps/v1/namespaces/kube-system/deployments',
  },
  { apiVersion: 'cilium.io/v2', kind: 'CiliumNode', path: ciliumPaths.nodes },
  { apiVersion: 'cilium.io/v2', kind: 'CiliumEndpoint', path: ciliumPaths.endpoints },
  { apiVersion: 'cilium.io/v2alpha1', kind: 'CiliumPodIPPool', path: ciliumPaths.podIpPools },
  ...Object.entries(bgpPaths).map(([kind, path]) => ({
    apiVersion: 'cilium.io/v2alpha1',
    kind,
    path,
  })),
];

/** Writes recorded/NAME.json, and the router's table beside it as recorded/NAME.frr.json. */
export async function record(cluster: CiliumCluster, name: string): Promise<void> {
  const items: Item[] = [];
  for (const { apiVersion, kind, path } of lists) {
    const found = await cluster.world.list<Item>(path);
    const ours = found.filter(
      ({ metadata }) => kind !== 'ConfigMap' || metadata.name === 'cilium-config',
    );
    ours.sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
    items.push(...ours.map((item) => ({ apiVersion, kind, ...item })));
  }
  mkdirSync(recorded, { recursive: true });
  write(`${name}.json`, steady({ apiVersion: 'v1', kind: 'List', items }));
  write(`${name}.frr.json`, JSON.parse(await cluster.fabric.dump()));
}

function write(file: string, value: unknown): void {
  writeFileSync(join(recorded, file), `${JSON.stringify(value, null, 2)}\n`);
}

/** The same in every run: what counts and clocks gave out. */
function steady(list: { items: Item[] } & Record<string, unknown>): unknown {
  const uids = new Map<string, string>();
  for (const { metadata } of list.items) {
    const uid = String(metadata.uid);
    if (!uids.has(uid)) {
      uids.set(uid, `00000000-0000-4000-8000-${String(uids.size + 1).padStart(12, '0')}`);
    }
    delete metadata.resourceVersion;
    delete metadata.managedFields;
  }
  const text = JSON.stringify(list)
    .replace(
      /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      (uid) => uids.get(uid) ?? '00000000-0000-4000-8000-000000000000',
    )
    .replace(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"/g, '"2026-01-01T00:00:00Z"');
  return JSON.parse(text);
}
