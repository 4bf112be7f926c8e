import { join } from 'node:path';
import { ensureKubeParts } from '../../scripts/parts.mjs';
import { freePort } from './free-port.ts';
import { type PartProcess, startPart, untilReady } from './part-process.ts';

export interface Etcd {
  url: string;
  process: PartProcess;
}

export interface EtcdOptions {
  /** Data and log live here; the same folder again is a restart with the same data. */
  dir: string;
  /** With it each write waits for the disk, as in production; without, tests are quick. */
  fsync?: boolean;
}

export async function startEtcd(options: EtcdOptions): Promise<Etcd> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const part = startPart({
    name: 'etcd',
    binary: join(await ensureKubeParts(), 'etcd'),
    args: [
      `--data-dir=${join(options.dir, 'etcd')}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      '--log-level=warn',
      ...(options.fsync ? [] : ['--unsafe-no-fsync']),
    ],
    logFile: join(options.dir, 'etcd.log'),
    dir: options.dir,
  });
  await untilReady(part, async () => (await fetch(`${url}/health`)).ok);
  return { url, process: part };
}
