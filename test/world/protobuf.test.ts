/**
 * Nodes read from protobuf, on a real API server: what is kept of them is what
 * JSON would have given, in lists, watches, reads and the answers to writes.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiError } from '../../src/kube/api-error.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kubeconfig.ts';
import { type DecodedNode, decodeNode } from '../../src/kube/protobuf/node.ts';
import type { StoredObject } from '../../src/kube/resource.ts';
import type { WatchEvent } from '../../src/kube/watch-lines.ts';
import { readNode } from '../../src/model/node.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { nodes } from '../../src/model/resources.ts';
import { type ApiServer, startApiServer } from '../parts/apiserver.ts';
import { eventually } from './eventually.ts';

let api: ApiServer;
let client: KubeClient;

beforeAll(async () => {
  api = await startApiServer();
  client = new KubeClient(await loadKubeConfig({ kubeconfig: api.kubeconfigPath, env: {} }));
});
afterAll(async () => {
  await client?.close();
  await api?.stop();
});

/** A Node that uses everything that is read, and much that is not. */
function fullNode(name: string, index: number): object {
  const second = new Date(1_760_000_000_000 + index * 1000).toISOString().replace('.000', '');
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { rack: `r${index % 3}`, 'kubernetes.io/hostname': name, leer: '' },
      ...(index % 2 === 0
        ? {
            annotations: {
              'network.cilium.io/ipv4-pod-cidr': `10.9.${index}.0/24`,
              words: 'ß, 地籍',
            },
          }
        : {}),
      finalizers: index % 5 === 0 ? ['example.com/keep'] : [],
    },
    spec: {
      providerID: 'metal://1',
      ...(index % 3 === 0
        ? { podCIDR: `10.9.${index}.0/24`, podCIDRs: [`10.9.${index}.0/24`, `fd00:${index}::/64`] }
        : {}),
      ...(index % 4 === 0 ? { unschedulable: true } : {}),
      taints: [
        { key: 'a', value: 'b', effect: 'NoSchedule' },
        ...(index % 4 === 1
          ? [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }]
          : []),
      ],
    },
    status: {
      addresses: [
        { type: 'InternalIP', address: `192.0.2.${index}` },
        { type: 'InternalIP', address: `2001:db8::${index}` },
        { type: 'Hostname', address: name },
      ],
      conditions: [
        { type: 'Ready', status: 'True', lastHeartbeatTime: second, reason: 'KubeletReady' },
        {
          type: 'CadastreBlocks',
          status: 'False',
          reason: 'PoolExhausted',
          message: 'full',
          lastTransitionTime: second,
        },
      ],
      capacity: { cpu: '8', memory: '32Gi' },
      images: Array.from({ length: 20 }, (_, n) => ({
        names: [`registry.example/image-${n}@sha256:${'0'.repeat(64)}`],
        sizeBytes: 123_456_789_012 + n,
      })),
      nodeInfo: { kernelVersion: '6.1', osImage: 'Debian', machineID: 'x' },
    },
  };
}

/** Of an object as JSON gives it, the part that the decoder keeps. */
function kept(object: KubeObject): object {
  const { metadata, spec, status } = object as {
    metadata: StoredObject['metadata'];
    spec: DecodedNode['spec'];
    status: { addresses?: object[]; conditions?: Array<Record<string, unknown>> };
  };
  const { name, uid, resourceVersion, creationTimestamp, labels, annotations, finalizers } =
    metadata;
  const { podCIDR, podCIDRs, unschedulable } = spec;
  const taints = spec.taints?.map(({ key, value, effect }) => ({ key, value, effect }));
  const conditions = status.conditions?.map((condition) =>
    Object.fromEntries(Object.entries(condition).filter(([, value]) => value !== null)),
  );
  return withoutUndefined({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid, resourceVersion, creationTimestamp, labels, annotations, finalizers },
    spec: { podCIDR, podCIDRs, unschedulable, taints },
    status: { addresses: status.addresses, conditions },
  });
}

const withoutUndefined = (value: object): object => JSON.parse(JSON.stringify(value));

/** What the decoder gives, without a generation of 0, which JSON leaves out. */
function decoded(object: StoredObject): object {
  const { generation: _, ...metadata } = object.metadata;
  return withoutUndefined({ ...object, metadata });
}

test('lists, watches, reads and answers say what JSON says', async () => {
  const wire: Array<{ object: StoredObject; type: string }> = [];
  const text: WatchEvent[] = [];
  const stop = new AbortController();
  const { resourceVersion } = await client.list(nodes);
  const watch = { resourceVersion, signal: stop.signal };
  const watching = Promise.allSettled([
    client.watch(nodes, { ...watch, decode: decodeNode }, (event) => wire.push(event)),
    client.watch(nodes, watch, (event) => text.push(event)),
  ]);
  for (let index = 1; index <= 30; index += 1) {
    const body = fullNode(`node-${index}`, index);
    const answer = await client.create(nodes, body, { decode: decodeNode });
    const inJson = await client.get<KubeObject>(nodes, `node-${index}`);
    expect(decoded(answer)).toEqual(kept(inJson));
    expect(decoded(await client.get(nodes, `node-${index}`, { decode: decodeNode }))).toEqual(
      kept(inJson),
    );
  }
  for (const limit of [7, 500]) {
    const fromWire = await client.list(nodes, { limit, decode: decodeNode });
    const fromText = await client.list<KubeObject>(nodes, { limit });
    expect(fromWire.items).toHaveLength(30);
    expect(fromWire.items.map(decoded)).toEqual(fromText.items.map(kept));
    expect(fromWire.items.map((item) => readNode(item as KubeObject))).toEqual(
      fromText.items.map(readNode),
    );
    expect(fromWire.resourceVersion).toBe(fromText.resourceVersion);
  }
  const patch = { type: 'json', body: [{ op: 'add', path: '/metadata/labels/x', value: 'y' }] };
  const patched = await client.patch(nodes, 'node-1', {
    ...patch,
    type: 'json',
    decode: decodeNode,
  });
  expect(patched.metadata.labels).toMatchObject({ x: 'y' });
  await client.delete(nodes, 'node-1');
  await eventually(() => {
    expect(wire.map(({ type }) => type)).toHaveLength(32);
    expect(text).toHaveLength(32);
  });
  stop.abort();
  await watching;
  expect(wire.map(({ type, object }) => [type, decoded(object)])).toEqual(
    text.map(({ type, object }) => [type, kept(object as KubeObject)]),
  );
});

test('an empty list is a list', async () => {
  const selection = { labelSelector: 'nobody=has', decode: decodeNode };
  const { items, resourceVersion } = await client.list(nodes, selection);
  expect(items).toEqual([]);
  expect(Number(resourceVersion)).toBeGreaterThan(0);
});

test('refusals say what they say in JSON', async () => {
  const refusal = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ApiError);
    const { status, reason, detail, outcome } = error as ApiError;
    return { status, reason, detail, outcome };
  };
  await client.create(nodes, { metadata: { name: 'twice' } });
  const body = [{ op: 'test', path: '/metadata/uid', value: 'other' }];
  const seen: number[] = [];
  for (const call of [
    (decode?: typeof decodeNode) => client.get(nodes, 'nobody', { decode }),
    (decode?: typeof decodeNode) =>
      client.create(nodes, { metadata: { name: 'twice' } }, { decode }),
    (decode?: typeof decodeNode) => client.patch(nodes, 'twice', { type: 'json', body, decode }),
    (decode?: typeof decodeNode) => client.list(nodes, { labelSelector: '!!', decode }),
    (decode?: typeof decodeNode) =>
      client.watch(nodes, { resourceVersion: 'nonsense', decode }, () => {}),
  ]) {
    const inJson = await refusal(call());
    expect(await refusal(call(decodeNode))).toEqual(inJson);
    seen.push(inJson.status);
  }
  expect(seen.slice(0, 4)).toEqual([404, 409, 422, 400]);
});
