import { type ExecFileException, execFile } from 'node:child_process';
import type { Clock } from '../base/clock.ts';
import { CadastreError } from '../base/errors.ts';
import type { Credential, CredentialSource } from './access.ts';

export interface ExecPlugin {
  command: string;
  args: string[];
  /** The whole environment of the plugin, the kubeconfig's additions included. */
  env: Record<string, string | undefined>;
  apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
  /** Handed over when the kubeconfig says provideClusterInfo. */
  cluster?: object | undefined;
  /** `user "eks" of /root/.kube/config (line 17)`, for messages. */
  owner: string;
}

/** Ask for the next one this long before the current one ends. */
const earlyMs = 10_000;
const pluginTimeoutMs = 60_000;

/**
 * Credentials from a program (ExecCredential v1 and v1beta1), as cloud
 * providers ship them. One run serves everybody who waits; the result is kept
 * until its expirationTimestamp, or until the server answers 401 to it.
 */
export class ExecCredentials implements CredentialSource {
  readonly #plugin: ExecPlugin;
  readonly #clock: Clock;
  #current: { credential: Credential; expiresMs: number } | undefined;
  #running: Promise<Credential> | undefined;

  constructor(plugin: ExecPlugin, clock: Clock) {
    this.#plugin = plugin;
    this.#clock = clock;
  }

  current(): Credential | Promise<Credential> {
    const { expiresMs, credential } = this.#current ?? {};
    if (credential !== undefined && this.#clock.wallMs() < (expiresMs ?? 0) - earlyMs) {
      return credential;
    }
    return this.#run();
  }

  async renew(rejected: Credential): Promise<boolean> {
    if (this.#current?.credential === rejected) this.#current = undefined;
    const next = await this.current();
    return (
      next.authorization !== rejected.authorization ||
      next.cert !== rejected.cert ||
      next.key !== rejected.key
    );
  }

  #run(): Promise<Credential> {
    this.#running ??= runPlugin(this.#plugin)
      .then((fresh) => {
        this.#current = fresh;
        return fresh.credential;
      })
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }
}

async function runPlugin(
  plugin: ExecPlugin,
): Promise<{ credential: Credential; expiresMs: number }> {
  const info = {
    apiVersion: plugin.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, cluster: plugin.cluster },
  };
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(
      plugin.command,
      plugin.args,
      {
        env: { ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
        timeout: pluginTimeoutMs,
        maxBuffer: 4 << 20,
      },
      (error, stdout) => {
        if (error === null) return resolve(stdout);
        reject(refuse(plugin, howItFailed(error)));
      },
    );
    child.stdin?.end();
  });
  return parseCredential(plugin, output);
}

function parseCredential(
  plugin: ExecPlugin,
  output: string,
): { credential: Credential; expiresMs: number } {
  let answer: { apiVersion?: unknown; kind?: unknown; status?: Record<string, unknown> } | null;
  try {
    answer = JSON.parse(output);
  } catch {
    throw refuse(plugin, `printed ${output.length} characters that are not JSON`);
  }
  if (answer?.kind !== 'ExecCredential' || answer.apiVersion !== plugin.apiVersion) {
    throw refuse(plugin, `printed no ExecCredential of ${plugin.apiVersion}`);
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = answer.status ?? {};
  const hasToken = typeof token === 'string' && token !== '';
  const hasPair = typeof clientCertificateData === 'string' && typeof clientKeyData === 'string';
  if (!hasToken && !hasPair) throw refuse(plugin, 'printed neither a token nor a certificate pair');
  const expiresMs =
    typeof expirationTimestamp === 'string'
      ? Date.parse(expirationTimestamp)
      : Number.POSITIVE_INFINITY;
  if (Number.isNaN(expiresMs)) {
    throw refuse(plugin, 'printed an expirationTimestamp that is no time');
  }
  return {
    expiresMs,
    credential: {
      authorization: hasToken ? `Bearer ${token}` : undefined,
      cert: hasPair ? clientCertificateData : undefined,
      key: hasPair ? clientKeyData : undefined,
    },
  };
}

/** Without what it printed, on either stream, and without its arguments: all of it may be secret. */
function howItFailed(error: ExecFileException): string {
  if (error.code === 'ENOENT') return 'could not be started: there is no such program';
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'printed too much';
  if (error.killed) return `did not end within ${pluginTimeoutMs / 1000} s`;
  if (typeof error.code === 'string') return `could not be started: ${error.code}`;
  return error.signal ? `was ended by ${error.signal}` : `failed with exit code ${error.code}`;
}

function refuse(plugin: ExecPlugin, what: string): CadastreError {
  return new CadastreError('BAD_KUBECONFIG', `The exec plugin of ${plugin.owner} ${what}.`, {
    remedy:
      'Run the command that stands there by hand and see what it says; what it prints is not shown here, because it may be a secret.',
  });
}
