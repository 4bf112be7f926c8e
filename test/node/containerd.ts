/** A containerd of the test's own; `ctr` speaks to it. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { eventually } from '../world/eventually.ts';

const run = promisify(execFile);

interface ContainerdOptions {
  /** The folder of `containerd` and `ctr`; absent: Debian's. */
  programs?: string | undefined;
  /** Serves a kubelet too, with networks and plugins of these folders. */
  cri?: { confDir: string; binDir: string; env: Record<string, string> };
}

export class Containerd {
  readonly socket: string;
  readonly #part: PartProcess;
  readonly #programs: string | undefined;

  private constructor(socket: string, part: PartProcess, programs: string | undefined) {
    this.socket = socket;
    this.#part = part;
    this.#programs = programs;
  }

  static async start(dir: string, { programs, cri }: ContainerdOptions = {}): Promise<Containerd> {
    mkdirSync(dir, { recursive: true });
    const at = (path: string) => join(dir, path);
    const without = [
      'io.containerd.internal.v1.opt',
      ...(cri ? [] : ['io.containerd.grpc.v1.cri']),
    ];
    const lines = [
      'version = 2',
      `root = "${at('root')}"`,
      `state = "${at('state')}"`,
      `disabled_plugins = ${JSON.stringify(without)}`,
      '[grpc]',
      `address = "${at('sock')}"`,
      ...(cri === undefined
        ? []
        : [
            '[plugins."io.containerd.grpc.v1.cri".cni]',
            `conf_dir = "${cri.confDir}"`,
            `bin_dir = "${cri.binDir}"`,
          ]),
    ];
    writeFileSync(at('config.toml'), lines.join('\n'));
    const part = startPart({
      name: 'containerd',
      binary: programs === undefined ? 'containerd' : join(programs, 'containerd'),
      args: ['-c', at('config.toml')],
      logFile: at('containerd.log'),
      dir,
      env: { ...cri?.env, ...(programs && { PATH: `${programs}:${process.env.PATH}` }) },
    });
    const containerd = new Containerd(at('sock'), part, programs);
    await eventually(() => containerd.ctr('version'), { withinMs: 30_000 });
    return containerd;
  }

  get ctrProgram(): string {
    return this.#programs === undefined ? 'ctr' : join(this.#programs, 'ctr');
  }

  async ctr(...words: string[]): Promise<string> {
    const program = this.ctrProgram;
    return (await run(program, ['-a', this.socket, ...words], { maxBuffer: 1 << 24 })).stdout;
  }

  tail(): string {
    return this.#part.tail(40);
  }

  stop(): Promise<void> {
    return this.#part.stop();
  }
}
