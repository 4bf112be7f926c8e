/** A node for tests: a namespace, an agent process in it, and the plugins beside it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { checkoutDir } from '../../scripts/checkout.mjs';
import { ensureShim } from '../../scripts/shim.mjs';
import { addNamespace, deleteNamespace, ip, type Namespace } from '../kernel/namespaces.ts';

export interface PluginOutcome {
  exit: number | null;
  // biome-ignore lint/suspicious/noExplicitAny: results are compared, not used
  answer: any;
  stderr: string;
}

export class TestNode {
  readonly namespace: Namespace;
  readonly folder: string;
  readonly #blocks: string;
  readonly #bundle: string;
  #agent: ChildProcess | undefined;

  private constructor(namespace: Namespace, blocks: string[], bundle: string) {
    this.namespace = namespace;
    this.folder = mkdtempSync(join(tmpdir(), 'test-node-'));
    this.#blocks = blocks.join(',');
    this.#bundle = bundle;
  }

  static async create(blocks: string[]): Promise<TestNode> {
    // In the checkout, where the optional native package is found.
    const bundle = join(checkoutDir, `node_modules/.cache/test-node-${process.pid}.mjs`);
    mkdirSync(dirname(bundle), { recursive: true });
    await build({
      entryPoints: [join(checkoutDir, 'test/node/agent-process.ts')],
      outfile: bundle,
      bundle: true,
      platform: 'node',
      format: 'esm',
      // All but what is native: one file starts in a third of the time, and it is started often.
      external: ['koffi'],
      minify: true,
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
      logLevel: 'error',
    });
    const namespace = await addNamespace();
    // A node has addresses of its own, to speak to its pods from.
    for (const own of ['192.0.2.1/32', '2001:db8::1/128']) {
      await ip(`-n ${namespace.name} addr add ${own} dev lo`);
    }
    return new TestNode(namespace, blocks, bundle);
  }

  get socketPath(): string {
    return join(this.folder, 'agent.sock');
  }

  async startAgent(): Promise<void> {
    const child = spawn(process.execPath, [this.#bundle], {
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: join(this.folder, 'compiled'),
        NODE_NETNS: this.namespace.path,
        NODE_STATE: join(this.folder, 'state'),
        NODE_SOCKET: this.socketPath,
        NODE_BLOCKS: this.#blocks,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#agent = child;
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve());
      child.once('exit', (code) => reject(new Error(`the agent ended with ${code}`)));
    });
  }

  /** SIGSTOP and SIGCONT: the process is there, its socket too, and it does nothing. */
  signalAgent(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#agent?.kill(signal);
  }

  async killAgent(): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    if (agent === undefined || agent.exitCode !== null) return;
    const gone = new Promise((resolve) => agent.once('exit', resolve));
    agent.kill('SIGKILL');
    await gone;
  }

  /** One call of a plugin, inside the node; our own is named `cadastre`. */
  plugin(
    name: string,
    command: string,
    pod: { containerId: string; netns: string; ifname?: string },
    config: object,
    more: Record<string, string> = {},
  ): Promise<PluginOutcome> {
    const shim = ensureShim();
    if (shim === undefined) throw new Error('there is no C compiler');
    const path = name === 'cadastre' ? shim : `/usr/lib/cni/${name}`;
    return new Promise((resolve) => {
      const child = spawn('nsenter', [`--net=${this.namespace.path}`, path], {
        env: {
          PATH: process.env.PATH,
          CADASTRE_SOCKET: this.socketPath,
          CADASTRE_CNI_SPOOL: join(this.folder, 'state/cni-spool'),
          CNI_COMMAND: command,
          CNI_CONTAINERID: pod.containerId,
          CNI_NETNS: pod.netns,
          CNI_IFNAME: pod.ifname ?? 'eth0',
          CNI_PATH: `${dirname(shim)}:/usr/lib/cni`,
          ...more,
        },
      });
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (piece) => {
        stdout += piece;
      });
      child.stderr.on('data', (piece) => {
        stderr += piece;
      });
      child.stdin.on('error', () => undefined);
      child.stdin.end(JSON.stringify(config));
      child.on('close', (exit) => {
        resolve({ exit, answer: stdout === '' ? undefined : JSON.parse(stdout), stderr });
      });
    });
  }

  /** Who holds what, by the agent's own socket. */
  allocations(): Promise<Array<{ owner: string; addresses: Array<{ address: string }> }>> {
    return new Promise((resolve, reject) => {
      request({ socketPath: this.socketPath, path: '/v1/addresses' }, (incoming) => {
        let text = '';
        incoming.on('data', (piece) => {
          text += piece;
        });
        incoming.on('end', () => resolve(JSON.parse(text).items));
      })
        .on('error', reject)
        .end();
    });
  }

  async remove(): Promise<void> {
    await this.killAgent();
    await deleteNamespace(this.namespace);
    rmSync(this.folder, { recursive: true, force: true });
    rmSync(this.#bundle, { force: true });
  }
}
