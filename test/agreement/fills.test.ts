/**
 * Three ways to fill one noun: the objects of each world as files, by one list and
 * by a watch are the same cluster. On the embedded API server, in this process.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { cachedItems, clusterCache } from '../../src/cluster/cluster-caches.ts';
import { ClusterList } from '../../src/cluster/list-cluster.ts';
import { readFiles } from '../../src/cluster/read-files.ts';
import { Surroundings, surroundingKinds } from '../../src/cluster/surroundings.ts';
import { UsedAddresses } from '../../src/cluster/used-addresses.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { resourcePath } from '../../src/kube/resource.ts';
import {
  type ClusterKind,
  ciliumBgpKinds,
  clusterKindNames,
  clusterKindOf,
  clusterKinds,
  foreignServicePoolKinds,
} from '../../src/model/cluster-kinds.ts';
import { type ClusterState, clusterState } from '../../src/model/cluster-state.ts';
import { crds } from '../../src/model/crds.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { TestApi } from '../parts/test-api.ts';
import { worlds } from './worlds.ts';

/** As by Cilium 1.17, where a kind has an older version: a list finds that one too. */
const anyCrd = (kind: ClusterKind): KubeObject => {
  const { group, plural, kind: name, namespaced } = clusterKinds[kind].resource;
  const version = servedVersion(kind);
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { plural, singular: name.toLowerCase(), kind: name, listKind: `${name}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  };
};

function servedVersion(kind: ClusterKind): string {
  const { version, olderVersions = [] } = clusterKinds[kind].resource;
  return olderVersions[0] ?? version;
}

let api: TestApi;
let client: KubeClient;
const dir = mkdtempSync(join(tmpdir(), 'cadastre-fills-'));

beforeAll(async () => {
  const kinds = [
    'ciliumNodes',
    'ciliumEndpoints',
    'ciliumPodPools',
    ...foreignServicePoolKinds,
    ...ciliumBgpKinds,
  ] as const;
  const others = kinds.map((kind) => anyCrd(kind));
  api = await TestApi.start([...(crds as unknown as KubeObject[]), ...others]);
  client = new KubeClient(api.access());
  api.put('/api/v1/namespaces/metallb-system');
  // What the server itself begins with is in no world.
  for (const { metadata } of api.objects('/apis/networking.k8s.io/v1/servicecidrs')) {
    api.delete(`/apis/networking.k8s.io/v1/servicecidrs/${metadata.name}`);
  }
}, 60_000);

afterAll(async () => {
  rmSync(dir, { recursive: true, force: true });
  await client?.close();
  await api?.stop();
});

function pathOf({ metadata, ...object }: KubeObject): string {
  const kind = clusterKindOf(object)!;
  const resource = { ...clusterKinds[kind].resource, version: servedVersion(kind) };
  return resourcePath(resource, { name: metadata?.name, namespace: metadata?.namespace });
}

/** Without what an API server adds: identities, versions, times, and its own Service. */
function essence(state: ClusterState): unknown {
  const left = new Set(['uid', 'nodeUid', 'resourceVersion', 'generation', 'createdMs']);
  const text = JSON.stringify(state, (key, value) => (left.has(key) ? undefined : value));
  const sorted = JSON.parse(text) as Record<string, Array<{ name?: string }>>;
  for (const list of Object.values(sorted)) {
    if (Array.isArray(list)) list.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  return sorted;
}

async function watched(): Promise<ClusterState> {
  const base = { client, clock: systemClock, log: silentLog };
  const stop = new AbortController();
  const isListed = (kind: ClusterKind) => surroundingKinds.some((one) => one === kind);
  const caches = Object.fromEntries(
    clusterKindNames
      .filter((kind) => !isListed(kind))
      .map((kind) => [kind, clusterCache(kind, base)] as const),
  );
  const surroundings = new Surroundings(base);
  const used = new UsedAddresses(base);
  try {
    for (const cache of Object.values(caches)) cache.start(stop.signal);
    await Promise.all([
      surroundings.look(),
      used.look(),
      ...Object.values(caches).map(({ synced }) => synced),
    ]);
    const pods = [...(surroundings.items.pods ?? []), ...(used.items.pods ?? [])];
    return clusterState({ ...surroundings.items, ...cachedItems(caches), pods });
  } finally {
    stop.abort();
  }
}

test.each(Object.entries(worlds))(
  '%s',
  async (_, { objects }) => {
    const file = join(dir, 'world.json');
    writeFileSync(file, JSON.stringify({ kind: 'List', apiVersion: 'v1', items: objects }));
    const read = await readFiles([file], { readStdin: async () => Buffer.of(), nowMs: 0 });
    const fromFiles = clusterState(read.items);
    for (const object of objects) api.put(pathOf(object), object);
    try {
      const list = new ClusterList(client, { origin: '', isLenient: false });
      const { items, malformed } = (await list.readAll(clusterKindNames)).result();
      expect(essence(clusterState(items, {}, malformed))).toEqual(essence(fromFiles));
      expect(essence(await watched())).toEqual(essence(fromFiles));
    } finally {
      for (const object of objects) api.delete(pathOf(object));
    }
  },
  60_000,
);
