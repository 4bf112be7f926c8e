/**
 * A real kube-apiserver with its etcd, on loopback, in a folder of its own.
 * RBAC is on. Three people may knock:
 *
 * | who | how | what they may do |
 * |---|---|---|
 * | admin | token | all (system:masters) |
 * | certificate-admin | client certificate | all (system:masters) |
 * | nobody | token | nothing until a test binds a role |
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureKubeParts } from '../../scripts/parts.mjs';
import { type Answer, callApi } from './api-call.ts';
import { createAuthority, issueCertificate } from './certificate.ts';
import { type Etcd, startEtcd } from './etcd.ts';
import { freePort } from './free-port.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { PartFailed, type PartProcess, startPart, untilReady } from './part-process.ts';

export interface ApiServerOptions {
  /** etcd waits for the disk on each write, as in production. Default false. */
  fsync?: boolean;
  /** Pods need a service account, and get its token. Default false: nobody here runs the controller that makes them. */
  needsServiceAccounts?: boolean;
  /** More flags for kube-apiserver. */
  extraArgs?: string[];
}

export interface ApiServer {
  /** https://127.0.0.1:PORT; the same over restarts. */
  readonly url: string;
  readonly port: number;
  /** Bearer token of `admin`. */
  readonly token: string;
  /** A user with a token and no rights. */
  readonly nobody: { name: string; token: string };
  /** The authority that signed the server's certificate. */
  readonly caFile: string;
  readonly ca: string;
  readonly clientCertificate: { name: string; certFile: string; keyFile: string };
  /** The server's own pair, for parts that want to serve with the same authority. */
  readonly serverCertificate: { certFile: string; keyFile: string };
  /** Contexts `admin` (current), `certificate` and `nobody`. */
  readonly kubeconfigPath: string;
  readonly metricsUrl: string;
  readonly etcdUrl: string;
  readonly dir: string;
  readonly pids: { etcd: number; apiServer: number };
  /** JSON in, JSON out, as admin; a status of 400 or more is an answer, not an error. */
  call<T = unknown>(method: string, path: string, body?: unknown): Promise<Answer<T>>;
  /**
   * Both down gently (unless they are down already) and up again, with the same data and
   * port. `whileDown` may look after the data, as whoever restores a backup does.
   */
  restart(whileDown?: (dataDir: string) => void): Promise<void>;
  /** Only kube-apiserver, at once; etcd stays. Bring it back with restart(). */
  kill9(): Promise<void>;
  /** Both down, folder removed. Twice is fine. */
  stop(): Promise<void>;
}

/** Each a part of start-up that other tests do not depend on. */
const quickArgs = [
  '--authorization-mode=RBAC',
  '--service-cluster-ip-range=10.96.0.0/16',
  '--service-account-issuer=https://kubernetes.default.svc',
  '--allow-privileged=true',
  // Nobody balances over us; the default reconciler needs ten seconds to say goodbye.
  '--endpoint-reconciler-type=none',
  '--shutdown-delay-duration=0s',
  '--profiling=false',
];

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(options);
    } catch (error) {
      if (!(error instanceof PartFailed && error.isPortTaken) || attempt === 3) throw error;
    }
  }
}

async function start(options: ApiServerOptions): Promise<ApiServer> {
  const binary = join(await ensureKubeParts(), 'kube-apiserver');
  const dir = mkdtempSync(join(tmpdir(), 'cadastre-apiserver-'));
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const files = writeSecrets(dir);
  const kubeconfigPath = join(dir, 'kubeconfig');
  writeKubeconfig(kubeconfigPath, {
    server: url,
    caFile: files.caFile,
    users: {
      admin: { token: files.token },
      certificate: { certFile: files.client.certFile, keyFile: files.client.keyFile },
      nobody: { token: files.nobodyToken },
    },
  });

  let etcd: Etcd | undefined;
  let server: PartProcess | undefined;
  let stopped = false;

  const up = async () => {
    if (etcd === undefined || etcd.process.ended !== undefined) {
      etcd = await startEtcd({ dir, fsync: options.fsync ?? false });
    }
    server = startPart({
      name: 'kube-apiserver',
      binary,
      args: [
        '--bind-address=127.0.0.1',
        '--advertise-address=127.0.0.1',
        `--secure-port=${port}`,
        `--etcd-servers=${etcd.url}`,
        `--tls-cert-file=${files.server.certFile}`,
        `--tls-private-key-file=${files.server.keyFile}`,
        `--client-ca-file=${files.caFile}`,
        `--token-auth-file=${files.tokensFile}`,
        `--service-account-key-file=${files.accountKeyFile}`,
        `--service-account-signing-key-file=${files.accountKeyFile}`,
        ...quickArgs,
        ...(options.needsServiceAccounts ? [] : ['--disable-admission-plugins=ServiceAccount']),
        ...(options.extraArgs ?? []),
      ],
      logFile: join(dir, 'kube-apiserver.log'),
      dir,
    });
    await untilReady(server, async () => (await call('GET', '/readyz')).status === 200);
  };

  const down = async () => {
    await server?.stop();
    await etcd?.process.stop();
  };

  const call = <T>(method: string, path: string, body?: unknown) =>
    callApi<T>({ url, token: files.token, ca: files.ca }, method, path, body);

  try {
    await up();
  } catch (error) {
    await down();
    // The tail of the log is in the message; the folder is only kept out of the way.
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }

  return {
    url,
    port,
    token: files.token,
    nobody: { name: 'nobody', token: files.nobodyToken },
    caFile: files.caFile,
    ca: files.ca,
    clientCertificate: files.client,
    serverCertificate: files.server,
    kubeconfigPath,
    metricsUrl: `${url}/metrics`,
    get etcdUrl() {
      return etcd?.url ?? '';
    },
    dir,
    get pids() {
      return { etcd: etcd?.process.pid ?? 0, apiServer: server?.pid ?? 0 };
    },
    call,
    async restart(whileDown) {
      await down();
      whileDown?.(join(dir, 'etcd'));
      await up();
    },
    async kill9() {
      await server?.kill9();
    },
    async stop() {
      if (stopped) return;
      stopped = true;
      await down();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function writeSecrets(dir: string) {
  const write = (name: string, text: string) => {
    const path = join(dir, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const pair = (name: string, certificate: { certPem: string; keyPem: string }) => ({
    certFile: write(`${name}.crt`, certificate.certPem),
    keyFile: write(`${name}.key`, certificate.keyPem),
  });
  const authority = createAuthority('cadastre-test-ca');
  const token = randomBytes(16).toString('hex');
  const nobodyToken = randomBytes(16).toString('hex');
  const accountKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  return {
    ca: authority.certPem,
    caFile: write('ca.crt', authority.certPem),
    server: pair(
      'server',
      issueCertificate(authority, {
        commonName: 'kube-apiserver',
        use: 'server',
        hosts: ['127.0.0.1', 'localhost', 'kubernetes', 'kubernetes.default.svc'],
      }),
    ),
    client: {
      name: 'certificate-admin',
      ...pair(
        'client',
        issueCertificate(authority, {
          commonName: 'certificate-admin',
          organizations: ['system:masters'],
          use: 'client',
        }),
      ),
    },
    token,
    nobodyToken,
    tokensFile: write(
      'tokens.csv',
      `${token},admin,admin,"system:masters"\n${nobodyToken},nobody,nobody,\n`,
    ),
    accountKeyFile: write(
      'service-account.key',
      accountKey.export({ format: 'pem', type: 'sec1' }).toString(),
    ),
  };
}
