/** Starts `speaker-child.ts`, bundled once, inside our namespace, and talks to it. */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { PeerView } from '../../src/bgp/speaker/speaker-peer.ts';
import { type Link, spawnIn } from './link.ts';
import type { Calls } from './speaker-child.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
let bundle: Promise<string> | undefined;

/** Node 20 reads no TypeScript. The bundle lies in the checkout so that koffi is found. */
async function bundled(): Promise<string> {
  bundle ??= (async () => {
    const folder = join(here, '../../artefacts/interop');
    mkdirSync(folder, { recursive: true });
    const fresh = join(folder, `speaker-child-${process.pid}.mjs`);
    await build({
      entryPoints: [join(here, 'speaker-child.ts')],
      outfile: fresh,
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['koffi'],
      logLevel: 'error',
    });
    // Renamed into place: a parallel run may be starting the same file.
    const place = join(folder, 'speaker-child.mjs');
    renameSync(fresh, place);
    return place;
  })();
  return bundle;
}

type Reply = { id: number; result?: unknown; error?: string };

export class SpeakerProcess {
  readonly child: ChildProcess;
  readonly #logFile: string;
  readonly #waiting = new Map<number, { resolve(v: unknown): void; reject(e: Error): void }>();
  #nextId = 1;
  #lastWords: string | undefined;

  private constructor(child: ChildProcess, logFile: string) {
    this.child = child;
    this.#logFile = logFile;
    child.on('message', (reply: Reply) => {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if (reply.error === undefined) waiting?.resolve(reply.result);
      else waiting?.reject(new Error(reply.error));
    });
    child.once('exit', (code, signal) => {
      this.#lastWords = this.log();
      rmSync(dirname(logFile), { recursive: true, force: true });
      for (const { reject } of this.#waiting.values()) {
        reject(new Error(`the speaker ended (${code ?? signal})\n${this.log()}`));
      }
    });
  }

  static async start(
    link: Link,
    options: Parameters<Calls['start']>[0] = {},
  ): Promise<SpeakerProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'cad-ours-'));
    const logFile = join(folder, 'log');
    const child = spawnIn(link.ours, process.execPath, [await bundled()], {
      logFd: openSync(logFile, 'a'),
      ipc: true,
    });
    const started = new SpeakerProcess(child, logFile);
    await started.call('start', options);
    return started;
  }

  call<Name extends keyof Calls>(
    call: Name,
    argument?: Parameters<Calls[Name]>[0],
  ): Promise<Awaited<ReturnType<Calls[Name]>>> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (v: unknown) => void, reject });
      this.child.send({ id, call, argument });
    });
  }

  /** The only peer. */
  async peer(): Promise<PeerView> {
    const [peer] = await this.call('peers');
    if (peer === undefined) throw new Error('there is no peer');
    return peer;
  }

  log(): string {
    return this.#lastWords ?? readFileSync(this.#logFile, 'utf8');
  }

  /** Takes one of the two exits and waits for the process to end. */
  async leave(how: 'restart' | 'drain'): Promise<void> {
    await this.call('close', how);
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.disconnect();
    await gone;
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGKILL');
    await gone;
  }
}
