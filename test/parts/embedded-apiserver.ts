/**
 * The embedded API server as a process of its own, with the same face as the
 * real one's starter: to be restarted and killed like it. It has one user.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { callApi } from './api-call.ts';
import type { ApiServer, ApiServerOptions } from './apiserver.ts';
import { freePort } from './free-port.ts';
import { type PartProcess, startPart, untilReady } from './part-process.ts';

export interface EmbeddedOptions extends ApiServerOptions {
  /** A log smaller than this is never compacted. */
  compactAboveBytes?: number;
}

export async function startEmbeddedApiServer(options: EmbeddedOptions = {}): Promise<ApiServer> {
  const dir = mkdtempSync(join(tmpdir(), 'cadastre-embedded-'));
  const program = join(dir, 'embedded.mjs');
  await build({
    entryPoints: [resolve('test/parts/embedded-program.ts')],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    // What is CommonJS inside asks for Node's own modules its own way.
    banner: {
      js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
    },
    logLevel: 'error',
  });
  const port = await freePort();
  const dataDir = join(dir, 'data');
  // Of the real one's flags those that a story is about.
  const flag = (name: string) =>
    (options.extraArgs ?? []).findLast((arg) => arg.startsWith(`--${name}=`))?.split('=')[1];
  const auditPath = flag('audit-log-path');
  const serviceNetworks = flag('service-cluster-ip-range')?.split(',');
  const settings = {
    dataDir,
    port,
    auditPath,
    serviceNetworks,
    waitsForDisk: options.fsync ?? false,
    compactAboveBytes: options.compactAboveBytes,
  };
  const url = `https://127.0.0.1:${port}`;
  let part: PartProcess | undefined;
  let reach = { url, ca: '', token: '' };

  const up = async () => {
    const started = startPart({
      name: 'embedded-apiserver',
      binary: process.execPath,
      args: ['--enable-source-maps', program, JSON.stringify(settings)],
      // What is no JavaScript is not in the bundle (the lock of a folder needs koffi).
      env: { NODE_PATH: resolve('node_modules') },
      logFile: join(dir, 'embedded.log'),
      dir,
    });
    part = started;
    await untilReady(started, async () => {
      reach = { url, ...readIdentity(dataDir) };
      return (await callApi(reach, 'GET', '/readyz')).status === 200;
    });
  };
  await up();
  const caFile = join(dir, 'ca.crt');
  writeFileSync(caFile, reach.ca);
  const none = { name: '', certFile: '', keyFile: '' };
  return {
    url,
    port,
    token: reach.token,
    ca: reach.ca,
    caFile,
    kubeconfigPath: join(dataDir, 'kubeconfig'),
    nobody: { name: 'nobody', token: '' },
    clientCertificate: none,
    serverCertificate: writeCertificate(dir, dataDir),
    metricsUrl: '',
    etcdUrl: '',
    dir,
    get pids() {
      return { etcd: 0, apiServer: part?.pid ?? 0 };
    },
    call: (method, path, body) => callApi(reach, method, path, body),
    async restart(whileDown) {
      await part?.stop();
      whileDown?.(dataDir);
      await up();
    },
    async kill9() {
      await part?.kill9();
    },
    async stop() {
      await part?.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function writeCertificate(dir: string, dataDir: string) {
  const { cert, key } = JSON.parse(readFileSync(join(dataDir, 'identity.json'), 'utf8'));
  const files = { certFile: join(dir, 'server.crt'), keyFile: join(dir, 'server.key') };
  writeFileSync(files.certFile, cert);
  writeFileSync(files.keyFile, key, { mode: 0o600 });
  return files;
}

function readIdentity(dataDir: string): { ca: string; token: string } {
  const { ca, token } = JSON.parse(readFileSync(join(dataDir, 'identity.json'), 'utf8'));
  return { ca, token };
}
