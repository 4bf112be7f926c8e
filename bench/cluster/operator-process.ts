import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort } from '../../test/parts/free-port.ts';

/** An operator as it is shipped: one file, one process, watched from outside. */
export interface OperatorProcess {
  readonly pid: number;
  readonly startedMs: number;
  /** The value of one of its metrics, summed over the labels that match. */
  metric(name: string, labels?: Record<string, string>): Promise<number>;
  isReady(): Promise<boolean>;
  rssMegabytes(): number;
  peakRssMegabytes(): number;
  kill(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

export async function startOperator(
  kubeconfig: string,
  dir: string,
  args: string[] = [],
): Promise<OperatorProcess> {
  const port = await freePort();
  const env = { ...process.env };
  // It costs a process start tens of milliseconds and has nothing to do with us.
  delete env.NODE_EXTRA_CA_CERTS;
  const startedMs = performance.now();
  const child: ChildProcess = spawn(
    process.execPath,
    [
      resolve('dist/cadastre.mjs'),
      'operator',
      `--kubeconfig=${kubeconfig}`,
      `--listen=127.0.0.1:${port}`,
      ...args,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env },
  );
  child.stderr!.pipe(createWriteStream(join(dir, `operator-${port}.log`)));
  const pid = child.pid!;
  const exited = new Promise<void>((done) => child.on('exit', () => done()));
  const get = async (path: string) => {
    try {
      return await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    } catch {
      return '';
    }
  };
  const fromProc = (field: string) => {
    const line = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(
      readFileSync(`/proc/${pid}/status`, 'utf8'),
    );
    return Number(line?.[1] ?? 0) / 1024;
  };
  return {
    pid,
    startedMs,
    async metric(name, labels = {}) {
      let sum = 0;
      for (const line of (await get('/metrics')).split('\n')) {
        if (!line.startsWith(`${name}{`) && !line.startsWith(`${name} `)) continue;
        const matches = Object.entries(labels).every(([k, v]) => line.includes(`${k}="${v}"`));
        if (matches) sum += Number(line.slice(line.lastIndexOf(' ') + 1));
      }
      return sum;
    },
    isReady: () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    rssMegabytes: () => fromProc('VmRSS'),
    peakRssMegabytes: () => fromProc('VmHWM'),
    kill: (signal) => void child.kill(signal),
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
