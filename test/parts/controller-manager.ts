/**
 * kube-controller-manager with the node IPAM controller alone: the peer that
 * fills in Node.spec.podCIDRs in a cluster without Cadastre.
 */
import { join } from 'node:path';
import { ensureKubeParts } from '../../scripts/parts.mjs';
import { callApi } from './api-call.ts';
import type { ApiServer } from './apiserver.ts';
import { freePort } from './free-port.ts';
import { startPart, untilReady } from './part-process.ts';

export interface ControllerManagerOptions {
  /** One CIDR, or one per family. */
  clusterCidrs: string[];
  maskIpv4?: number;
  maskIpv6?: number;
  /** Default 20, as shipped. */
  kubeApiQps?: number;
  /** Default 30, as shipped. */
  kubeApiBurst?: number;
  /** Default node-ipam-controller. */
  controllers?: string[];
  extraArgs?: string[];
}

export interface ControllerManager {
  readonly pid: number;
  readonly url: string;
  readonly metricsUrl: string;
  readonly logFile: string;
  kill9(): Promise<void>;
  stop(): Promise<void>;
}

export async function startControllerManager(
  api: ApiServer,
  options: ControllerManagerOptions,
): Promise<ControllerManager> {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const mask = (family: 'ipv4' | 'ipv6', size: number | undefined) =>
    size === undefined ? [] : [`--node-cidr-mask-size-${family}=${size}`];
  const part = startPart({
    name: 'kube-controller-manager',
    binary: join(await ensureKubeParts(), 'kube-controller-manager'),
    args: [
      `--kubeconfig=${api.kubeconfigPath}`,
      `--controllers=${(options.controllers ?? ['node-ipam-controller']).join(',')}`,
      '--allocate-node-cidrs=true',
      `--cluster-cidr=${options.clusterCidrs.join(',')}`,
      ...mask('ipv4', options.maskIpv4),
      ...mask('ipv6', options.maskIpv6),
      `--kube-api-qps=${options.kubeApiQps ?? 20}`,
      `--kube-api-burst=${options.kubeApiBurst ?? 30}`,
      // Alone: an election would only delay the start by up to 15 s.
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--tls-cert-file=${api.serverCertificate.certFile}`,
      `--tls-private-key-file=${api.serverCertificate.keyFile}`,
      '--authorization-always-allow-paths=/healthz,/metrics',
      ...(options.extraArgs ?? []),
    ],
    logFile: join(api.dir, `kube-controller-manager-${port}.log`),
    dir: api.dir,
  });
  const isReady = async () =>
    (await callApi({ url, ca: api.ca }, 'GET', '/healthz')).status === 200;
  try {
    await untilReady(part, isReady);
  } catch (error) {
    await part.stop();
    throw error;
  }
  return {
    pid: part.pid,
    url,
    metricsUrl: `${url}/metrics`,
    logFile: part.logFile,
    kill9: () => part.kill9(),
    stop: () => part.stop(),
  };
}
