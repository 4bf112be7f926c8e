/**
 * The API server of a lab. Each kind says what to start in the control namespace
 * and how to know that it serves; the rest of the lab sees a kubeconfig.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { startApiServer } from '../../apiserver/apiserver.ts';
import type { Log } from '../../base/log.ts';
import { whenAborted } from '../../kube/on-abort.ts';
import { apiServerAddress } from '../layout.ts';
import { partFolders } from '../part-folders.ts';

interface ApiServerProcess {
  readonly name: string;
  readonly command: readonly string[];
}

export interface ApiServerPlan {
  readonly kind: 'real' | 'embedded';
  /** Started in this order, all at once: each waits for what it needs. */
  readonly processes: readonly ApiServerProcess[];
  readonly kubeconfigPath: string;
  /** A file without which the kubeconfig cannot be used yet. */
  readonly waitFor: string | undefined;
}

const port = 6443;
const apiServerUrl = `https://${apiServerAddress}:${port}`;

/**
 * A folder with etcd and kube-apiserver: $KUBEBUILDER_ASSETS, the search path,
 * or what a checkout's `npm test` has built into the cache.
 */
export function findKubeParts(env: NodeJS.ProcessEnv): string | undefined {
  return partFolders(env, ['kube']).find(
    (dir) => existsSync(join(dir, 'etcd')) && existsSync(join(dir, 'kube-apiserver')),
  );
}

/** kube-apiserver on its etcd. It makes its own certificate, which is also what clients trust. */
export function planRealApiServer(assets: string, folder: string): ApiServerPlan {
  const file = (name: string) => join(folder, name);
  const token = randomBytes(16).toString('hex');
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const secret = { mode: 0o600 };
  writeFileSync(file('tokens.csv'), `${token},admin,admin,"system:masters"\n`, secret);
  writeFileSync(
    file('service-account.key'),
    key.export({ format: 'pem', type: 'sec1' }).toString(),
    secret,
  );
  const certificate = file('apiserver.crt');
  writeKubeconfig(file('kubeconfig'), token, certificate);
  const etcd = 'http://127.0.0.1:2379';
  return {
    kind: 'real',
    kubeconfigPath: file('kubeconfig'),
    waitFor: certificate,
    processes: [
      {
        name: 'etcd',
        command: [
          join(assets, 'etcd'),
          `--data-dir=${file('etcd')}`,
          `--listen-client-urls=${etcd}`,
          `--advertise-client-urls=${etcd}`,
          '--listen-peer-urls=http://127.0.0.1:2380',
          '--log-level=warn',
          // A lab does not survive a power cut anyway.
          '--unsafe-no-fsync',
        ],
      },
      {
        name: 'kube-apiserver',
        command: [
          join(assets, 'kube-apiserver'),
          `--bind-address=${apiServerAddress}`,
          `--advertise-address=${apiServerAddress}`,
          `--secure-port=${port}`,
          `--etcd-servers=${etcd}`,
          `--cert-dir=${folder}`,
          `--token-auth-file=${file('tokens.csv')}`,
          `--service-account-key-file=${file('service-account.key')}`,
          `--service-account-signing-key-file=${file('service-account.key')}`,
          '--service-account-issuer=https://kubernetes.default.svc',
          '--service-cluster-ip-range=10.96.0.0/16',
          '--authorization-mode=RBAC',
          // Nobody here runs the controller that makes service accounts.
          '--disable-admission-plugins=ServiceAccount',
          '--endpoint-reconciler-type=none',
          '--allow-privileged=true',
          '--profiling=false',
        ],
      },
    ],
  };
}

/** Our own, for machines without the real one. It writes its kubeconfig when it serves. */
export function planEmbeddedApiServer(cadastre: readonly string[], folder: string): ApiServerPlan {
  const kubeconfigPath = join(folder, 'kubeconfig');
  return {
    kind: 'embedded',
    kubeconfigPath,
    waitFor: kubeconfigPath,
    processes: [{ name: 'api-server', command: [...cadastre, 'lab', 'api-server', folder] }],
  };
}

/** The process behind it. */
export async function runEmbeddedApiServer(
  folder: string,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const server = await startApiServer({
    dataDir: folder,
    host: apiServerAddress,
    port,
    log,
    // A lab does not survive a power cut anyway.
    waitsForDisk: false,
  });
  await whenAborted(signal);
  await server.stop();
}

function writeKubeconfig(path: string, token: string, caFile: string): void {
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'lab',
    clusters: [{ name: 'lab', cluster: { server: apiServerUrl, 'certificate-authority': caFile } }],
    contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'admin' } }],
    users: [{ name: 'admin', user: { token } }],
  });
  writeFileSync(path, text, { mode: 0o600 });
}
