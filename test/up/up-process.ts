/** `cadastre up` as a person starts it: another process, a folder, a port. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { buildCli } from '../../scripts/build.mjs';
import { freePort } from '../parts/free-port.ts';
import { type PartProcess, startPart, untilReady } from '../parts/part-process.ts';

const root = join(import.meta.dirname, '..', '..');

export interface UpProcess {
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  readonly dataDir: string;
  readonly kubeconfigPath: string;
  /** What the last start printed, once it has: the console's address, and the token in it. */
  printed(): Promise<{ address: string; changeToken: string }>;
  readonly part: PartProcess;
  /** As of the last start, from the process's begin to /readyz. */
  readonly readyAfterMs: number;
  /** Ended at once, and started again on the same folder and port. */
  kill9AndStart(): Promise<void>;
  /** Gently, and started again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startUp(
  args: readonly string[] = [],
  env: (dir: string) => Record<string, string> = () => ({}),
): Promise<UpProcess> {
  await buildCli({ quiet: true });
  const dir = mkdtempSync(join(tmpdir(), 'cadastre-up-'));
  const port = await freePort();
  const dataDir = join(dir, 'data');
  const url = `http://127.0.0.1:${port}`;
  let part: PartProcess;
  let readyAfterMs = 0;
  let saidBefore = 0;
  const outFile = join(dir, 'out.log');
  const said = () => (existsSync(outFile) ? readFileSync(outFile, 'utf8') : '');
  const start = async () => {
    saidBefore = said().length;
    const beganMs = performance.now();
    part = startPart({
      name: 'cadastre up',
      binary: process.execPath,
      args: [
        join(root, 'dist/cadastre.mjs'),
        'up',
        '--data',
        dataDir,
        '--port',
        String(port),
        ...args,
      ],
      logFile: outFile,
      env: env(dir),
      dir,
    });
    await untilReady(part, async () => (await fetch(`${url}/readyz`)).ok, 90_000);
    readyAfterMs = performance.now() - beganMs;
  };
  await start();
  return {
    url,
    port,
    dir,
    dataDir,
    kubeconfigPath: join(dataDir, 'api/kubeconfig'),
    async printed() {
      for (;;) {
        const found = /^ {2}console +(\S+#token=(\S+))$/m.exec(said().slice(saidBefore));
        if (found !== null) return { address: String(found[1]), changeToken: String(found[2]) };
        if (part.ended !== undefined) throw new Error(`cadastre up ended: ${part.ended}`);
        await setTimeout(50);
      }
    },
    get part() {
      return part;
    },
    get readyAfterMs() {
      return readyAfterMs;
    },
    async kill9AndStart() {
      await part.kill9();
      await start();
    },
    async restart() {
      await part.stop();
      await start();
    },
    async stop() {
      await part.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
