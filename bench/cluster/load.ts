import { Pool } from 'undici';
import type { ApiServer } from '../../test/parts/apiserver.ts';

/**
 * The barest client there is: a pool of TLS connections and nothing else. It
 * fills clusters for the benchmarks, and it is the physical limit they measure
 * against.
 */
export interface Call {
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  contentType?: string;
  body: string;
}

export interface Target {
  url: string;
  token: string;
  ca: string;
}

export type Send = <T>(call: Call) => Promise<T>;

/** Does `count` pieces of work with so many in flight; each may make calls one after another. */
export async function blast(
  target: Target,
  count: number,
  work: (send: Send, index: number) => Promise<unknown>,
  inFlight = 64,
): Promise<void> {
  const pool = new Pool(target.url, { connections: inFlight, connect: { ca: target.ca } });
  const send: Send = async (call) => {
    const answer = await pool.request({
      method: call.method,
      path: call.path,
      body: call.body,
      headers: {
        authorization: `Bearer ${target.token}`,
        'content-type': call.contentType ?? 'application/json',
      },
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${call.path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text);
  };
  let at = 0;
  const worker = async () => {
    while (at < count) await work(send, at++);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  await pool.close();
}

export const nodeName = (index: number) => `node-${String(index).padStart(5, '0')}`;

/** A Node as heavy as a real one: a kubelet reports images, conditions, capacity. */
export function fullNode(
  index: number,
  more: { annotations?: Record<string, string>; podCIDRs?: string[] } = {},
) {
  const name = nodeName(index);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'topology.kubernetes.io/zone': `zone-${index % 3}`,
        rack: `rack-${index % 40}`,
      },
      annotations: {
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
        ...more.annotations,
      },
    },
    spec: more.podCIDRs ? { podCIDR: more.podCIDRs[0], podCIDRs: more.podCIDRs } : {},
    status: {
      capacity: { cpu: '64', memory: '263850380Ki', pods: '110' },
      addresses: [
        { type: 'InternalIP', address: internalIp(index) },
        { type: 'Hostname', address: name },
      ],
      images: Array.from({ length: 30 }, (_, image) => ({
        names: [
          `registry.example/team-${image}/service-${image}@sha256:${'0123456789abcdef'.repeat(4)}`,
          `registry.example/team-${image}/service-${image}:v1.${image}.0`,
        ],
        sizeBytes: 100_000_000 + image,
      })),
      nodeInfo: {
        machineID: 'a'.repeat(32),
        systemUUID: 'b'.repeat(36),
        bootID: 'c'.repeat(36),
        kernelVersion: '6.1.0-25-amd64',
        osImage: 'Debian GNU/Linux 12 (bookworm)',
        containerRuntimeVersion: 'containerd://1.7.20',
        kubeletVersion: 'v1.36.3',
        kubeProxyVersion: 'v1.36.3',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
    },
  };
}

export async function createNodes(api: ApiServer, count: number): Promise<void> {
  await blast(api, count, (send, index) =>
    send({ method: 'POST', path: '/api/v1/nodes', body: JSON.stringify(fullNode(index)) }),
  );
}

export const internalIp = (index: number): string => `172.16.${index >> 8}.${index & 255}`;
