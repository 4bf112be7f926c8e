/** A containerd of the test's own; `ctr` speaks to it. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { eventually } from '../world/eventually.ts';

const run = promisify(execFile);

export class Containerd {
  readonly socket: string;
  readonly #part: PartProcess;

  private constructor(socket: string, part: PartProcess) {
    this.socket = socket;
    this.#part = part;
  }

  static async start(dir: string): Promise<Containerd> {
    mkdirSync(dir, { recursive: true });
    const at = (path: string) => join(dir, path);
    const lines = [
      'version = 2',
      `root = "${at('root')}"`,
      `state = "${at('state')}"`,
      'disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]',
      '[grpc]',
      `address = "${at('sock')}"`,
    ];
    writeFileSync(at('config.toml'), lines.join('\n'));
    const part = startPart({
      name: 'containerd',
      binary: 'containerd',
      args: ['-c', at('config.toml')],
      logFile: at('containerd.log'),
      dir,
    });
    const containerd = new Containerd(at('sock'), part);
    await eventually(() => containerd.ctr('version'), { withinMs: 30_000 });
    return containerd;
  }

  async ctr(...words: string[]): Promise<string> {
    return (await run('ctr', ['-a', this.socket, ...words], { maxBuffer: 1 << 24 })).stdout;
  }

  stop(): Promise<void> {
    return this.#part.stop();
  }
}
