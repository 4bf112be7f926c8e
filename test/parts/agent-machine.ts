import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentSettings } from '../../src/agent/agent-settings.ts';
import { type AssembledAgent, assembleAgent } from '../../src/agent/assemble-agent.ts';
import { systemClock } from '../../src/base/clock.ts';
import { realFiles } from '../../src/base/journal/durable-files.ts';
import { silentLog } from '../../src/base/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { FakeNamespace } from '../../src/kernel/fake/fake-namespace.ts';
import { FakeKernel } from '../../src/kernel/fake-kernel.ts';
import type { KubeAccess } from '../../src/kube/access.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { parseAddress } from '../../src/net/address.ts';
import { eventually } from '../world/eventually.ts';

/** A real agent with a kernel in memory, and no router. */
export class AgentMachine {
  readonly name: string;
  readonly address: string;
  readonly agent: AssembledAgent;
  readonly #folder: string;
  readonly #client: KubeClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #pods = 0;

  private constructor(
    name: string,
    address: string,
    agent: AssembledAgent,
    folder: string,
    client: KubeClient,
  ) {
    this.name = name;
    this.address = address;
    this.agent = agent;
    this.#folder = folder;
    this.#client = client;
    this.#running = agent.run(this.#stop.signal);
  }

  static async start(
    access: KubeAccess,
    name: string,
    address: string,
    settings: Pick<AgentSettings, 'byDemand' | 'preAllocate'>,
  ): Promise<AgentMachine> {
    const namespace = new FakeNamespace();
    const eth0 = namespace.addLink({ name: 'eth0', kind: '', mac: '02:00:00:00:00:01', mtu: 1500 });
    eth0.addresses.push({ address: parseAddress(address)!, length: 24 });
    namespace.setUp(eth0, true);
    const folder = mkdtempSync(join(tmpdir(), 'cad-machine-'));
    const client = new KubeClient(access, {});
    const agent = await assembleAgent(
      {
        client,
        kernel: new FakeKernel(new Map(), namespace),
        openSpeaker: () => ({
          listen: async () => undefined,
          setPeers: () => [],
          set: () => [],
          peers: () => [],
          announcedTo: () => [],
          close: async () => undefined,
        }),
        hasRestarted: () => false,
        files: realFiles,
        clock: systemClock,
        random: () => 0.5,
        log: silentLog,
        metrics: new Metrics(),
      },
      {
        nodeName: name,
        version: 'test',
        rules: { source: 'register', families: 'auto' },
        ...settings,
        routing: 'native',
        directRoutes: true,
        reserved: [],
        configMap: undefined,
        filePeers: [],
        filePools: [],
        stateFolder: folder,
        socketPath: join(folder, 'agent.sock'),
        bgpListen: false,
        restMs: 0,
        apiGraceMs: 50,
        reportEveryMs: 50,
        drainGraceMs: 100,
      },
    );
    return new AgentMachine(name, address, agent, folder, client);
  }

  /** A pod comes; until the agent has an address for it. */
  async runPods(count: number): Promise<void> {
    for (let more = 0; more < count; more++) {
      this.#pods += 1;
      const owner = `default/${this.name}-${this.#pods}`;
      await eventually(
        async () => {
          const { book } = this.agent.addresses!;
          const answer = await book.allocate({ owner, families: ['ipv4'] });
          if (answer.kind === 'refused') throw new Error(`${owner}: ${answer.detail}`);
        },
        { withinMs: 120_000, everyMs: 50 },
      );
    }
  }

  addresses(): string[] {
    return [...this.agent.addresses!.book.remembered()].flatMap(({ addresses }) =>
      addresses.map(String),
    );
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.agent.close();
    await this.#client.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
