/**
 * The room's essay. `apiserver` is a small Kubernetes API server for laptops
 * and tests: the same requests, the same answers, the same refusals as the
 * real one for the kinds it serves, in one process, kept in a folder. It knows
 * Kubernetes and nothing of Cadastre. Production uses the cluster's own.
 *
 *   http/         paths, forms of answers, discovery, OpenAPI
 *   verbs/        what each request does, from body to stored object
 *   schema/       pruning, defaults, validation: one walk for built-in and custom kinds
 *   patch/        JSON, merge and strategic merge patches
 *   fields/       who owns which field: managedFields, server-side apply
 *   builtin/      the built-in kinds: a table, their schemas, their own rules
 *   custom/       CustomResourceDefinitions, and CEL
 *   controllers/  what must follow a create or a delete when no controller manager runs
 *   protobuf/     bodies in protobuf: a table of messages, one reader for all of them
 *   store/        objects in memory, every change on disk before anybody hears of it
 *
 * A write is judged and takes effect in one turn of the event loop: nothing is
 * awaited between reading an object and storing its successor. That is all the
 * locking there is, and all that is needed.
 *
 * Not to be "optimised" away: readers and watchers wait for the disk as well
 * as writers; an entry's text is made once and used for log, lists and watches.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { CadastreError } from '../base/errors.ts';
import type { FileLock } from '../base/file-lock.ts';
import { lockFolder } from '../base/folder-lock.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { Api } from './api.ts';
import { bootstrap, kubernetesAddress, publishAddress } from './bootstrap.ts';
import { builtinTypes } from './builtin/kinds.ts';
import { builtinRules } from './builtin/rules.ts';
import { mountServiceAccount } from './builtin/service-account-mount.ts';
import { builtinSubresources } from './builtin/subresources.ts';
import { Cleaner } from './controllers/cleaner.ts';
import { NamespaceContents } from './controllers/namespace-contents.ts';
import { crdRules } from './custom/definition.ts';
import { Registrar } from './custom/registrar.ts';
import { identityIn, writeKubeconfig } from './folder.ts';
import type { AnsweredRequest } from './http/handler.ts';
import { requestHandler } from './http/handler.ts';
import { Registry } from './registry.ts';
import { ObjectStore } from './store/store.ts';
import { Tokens } from './tokens.ts';

export interface ApiServerOptions {
  /** Made if it is not there. Holds everything: objects, token, certificates, kubeconfig. */
  dataDir: string;
  /** Loopback by default; whoever has the token may do everything. */
  host?: string | undefined;
  /** Any free one by default. */
  port?: number | undefined;
  /** Where Services get their addresses; the first one serves. */
  serviceNetworks?: string[] | undefined;
  log?: Log | undefined;
  /** False: answers do not wait for the disk. For tests that do not pull plugs. */
  waitsForDisk?: boolean | undefined;
  /** A log smaller than this is never compacted. */
  compactAboveBytes?: number | undefined;
  /** Changes of a resource that can still be watched from, at least. */
  historyLimit?: number | undefined;
  /** How long a list can be continued in pages of one moment. */
  continueSeconds?: number | undefined;
  /**
   * Kubelets run its pods: they get the token of their service account, and a
   * deleted one stays until its kubelet says that it has ended.
   */
  hasKubelets?: boolean | undefined;
  /** Called for every request once it is answered: for a log of who does what. */
  onAnswer?: ((answered: AnsweredRequest) => void) | undefined;
}

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  readonly token: string;
  /** The certificate authority, as PEM. */
  readonly ca: string;
  readonly kubeconfigPath: string;
  /** What it serves, for code of the same process: the verbs without HTTP. */
  readonly api: Api;
  /** Finishes what is under way and ends all watches. Twice is fine. */
  stop(): Promise<void>;
}

export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { dataDir, host = '127.0.0.1', log = silentLog } = options;
  const lock = await lockFolder(dataDir);
  try {
    return await startLocked({ ...options, host, log }, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function startLocked(
  options: ApiServerOptions & { host: string; log: Log },
  lock: FileLock,
): Promise<ApiServer> {
  const { dataDir, host, log } = options;
  const serviceNetworks = options.serviceNetworks ?? ['10.96.0.0/16'];
  const identity = identityIn(dataDir, host, kubernetesAddress(serviceNetworks));
  const store = await ObjectStore.open({
    dir: join(dataDir, 'objects'),
    waitsForDisk: options.waitsForDisk,
    compactAboveBytes: options.compactAboveBytes,
    historyLimit: options.historyLimit,
    onFailure: (error) => log.error({ error: String(error) }, 'could not write to disk'),
    onRepair: (message) => log.warn({ reason: 'StateDamaged' }, message),
  });
  const { hasKubelets = false } = options;
  const accounts = () => store.collection('serviceaccounts');
  const registry = new Registry(
    builtinTypes(
      builtinRules({
        services: () => store.collection('services'),
        serviceNetworks: () => serviceNetworks,
        crdRules,
        admitPod: (pod) => {
          if (hasKubelets) mountServiceAccount(pod, { accounts, random: Math.random });
        },
      }),
      builtinSubresources,
    ),
  );
  const api: Api = {
    store,
    registry,
    nowMs: () => Date.now(),
    random: Math.random,
    newUid: () => randomUUID(),
    tokens: new Tokens(identity.token, () => Date.now()),
    // As long as a real cluster keeps the past, which etcd compacts every five minutes.
    continueSeconds: options.continueSeconds ?? 300,
    hasKubelets,
  };
  const registrar = new Registrar(store, registry, api.nowMs);
  registrar.start();
  const cleaner = new Cleaner(api, registrar, log);
  cleaner.start();
  const contents = new NamespaceContents(api, identity.ca, log);
  contents.start();
  await bootstrap(api, serviceNetworks);

  const watches = new Set<() => void>();
  let isReady = true;
  const server: Server = createServer(
    {
      key: identity.key,
      cert: identity.cert,
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: 10_000,
      // Long selectors are long paths.
      maxHeaderSize: 64 * 1024,
    },
    requestHandler({
      api,
      log,
      address: () => `${host}:${(server.address() as AddressInfo).port}`,
      isReady: () => isReady && !store.hasFailed,
      watches,
      onAnswer: options.onAnswer,
    }),
  );
  // Clients keep connections for minutes; ours must outlive theirs.
  server.keepAliveTimeout = 300_000;
  // Whoever has begun to ask must come to an end; how long an answer takes (a watch) is not limited.
  server.headersTimeout = 20_000;
  server.requestTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      reject(
        new CadastreError('BAD_FLAG', `cannot listen on ${host}:${options.port ?? 0}`, { cause }),
      );
    });
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  await publishAddress(api, host, port);
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const kubeconfigPath = join(dataDir, 'kubeconfig');
  writeKubeconfig(kubeconfigPath, url, identity);
  log.info({ address: url, path: dataDir }, 'the embedded API server is ready');

  let stopping: Promise<void> | undefined;
  const stop = async () => {
    isReady = false;
    cleaner.stop();
    contents.stop();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const end of [...watches]) end();
    server.closeIdleConnections();
    // Whoever does not read its last answer is not waited for.
    const late = setTimeout(() => server.closeAllConnections(), 2_000);
    await closed;
    clearTimeout(late);
    try {
      await store.close();
    } finally {
      lock.release();
    }
  };
  return {
    url,
    port,
    token: identity.token,
    ca: identity.ca,
    kubeconfigPath,
    api,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}
