import { join } from 'node:path';
import type { AgentStatusJson } from '../../src/agent/agent-status.ts';
import { askAgent } from '../../src/agent/ask-agent.ts';
import type { AddressStatusJson, AllocationJson } from '../../src/model/agent-api.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';

export interface ClusterAgentOptions {
  node: string;
  /** Its state survives; the process is another one each time. */
  dir: string;
  kubeconfigPath: string;
  flags: string[];
  /** The network namespace to run in; absent: where the test runs. */
  inside?: string;
  /** Inside, as root without any capability. */
  isPowerless?: boolean;
}

/** `cadastre agent` of one node, against a real API server. */
export class ClusterAgent {
  readonly #options: ClusterAgentOptions;
  readonly socket: string;
  #part: PartProcess | undefined;

  constructor(options: ClusterAgentOptions) {
    this.#options = options;
    this.socket = join(options.dir, `${options.node}.sock`);
  }

  async start(): Promise<void> {
    const { node, dir, kubeconfigPath, flags, inside, isPowerless } = this.#options;
    const drop = isPowerless ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : [];
    const enter = inside === undefined ? [] : [`--net=${inside}`, ...drop, process.execPath];
    this.#part = startPart({
      name: `agent-${node}`,
      binary: inside === undefined ? process.execPath : 'nsenter',
      args: [
        ...enter,
        '--enable-source-maps',
        await cadastreProgram(),
        'agent',
        `--node-name=${node}`,
        `--kubeconfig=${kubeconfigPath}`,
        `--socket=${this.socket}`,
        `--state-dir=${join(dir, `${node}-state`)}`,
        '--listen=127.0.0.1:0',
        ...flags,
      ],
      logFile: join(dir, `agent-${node}.log`),
      dir,
    });
  }

  async status(): Promise<AddressStatusJson & { agent: AgentStatusJson }> {
    return (await askAgent(this.socket, 'GET', '/v1/status')) as never;
  }

  async allocate(owner: string): Promise<string> {
    const body = { owner, families: ['ipv4'] };
    const made = (await askAgent(this.socket, 'POST', '/v1/addresses', body)) as AllocationJson;
    return made.addresses[0]!.address;
  }

  async held(): Promise<string[]> {
    const { items } = (await askAgent(this.socket, 'GET', '/v1/addresses')) as {
      items: AllocationJson[];
    };
    return items.map(({ owner, addresses }) => `${owner} ${addresses[0]!.address}`).sort();
  }

  whenReason(reason: string, withinMs = 20_000): Promise<AgentStatusJson> {
    return eventually(
      async () => {
        const { agent } = await this.status();
        if (agent.reason === reason) return agent;
        throw new Error(`${this.#options.node}: ${agent.reason}, not ${reason}\n${this.tail()}`);
      },
      { withinMs },
    );
  }

  /** As a rolling update does: SIGTERM, and back. */
  async stop(): Promise<string> {
    await this.#part?.stop();
    return this.#part?.ended ?? '';
  }

  kill9(): Promise<void> {
    return this.#part?.kill9() ?? Promise.resolve();
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.#part!.pid, name);
  }

  get ended(): string | undefined {
    return this.#part?.ended;
  }

  tail(): string {
    return this.#part?.tail(15) ?? '';
  }
}
