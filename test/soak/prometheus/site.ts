/**
 * A site to be scraped: the embedded API server behind a proxy that can stand still, the operator, agents
 * with kernels in memory and the console as processes, and two routers that speak BGP on loopback.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { callCni } from '../../../src/agent/ask-agent.ts';
import { Speaker } from '../../../src/bgp/speaker/speaker.ts';
import { crds } from '../../../src/model/crds.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { freePort } from '../../parts/free-port.ts';
import { type PartProcess, startPart } from '../../parts/part-process.ts';
import { TestApi } from '../../parts/test-api.ts';

const ours = '/apis/cadastre.dev/v1alpha1';
const nodeAsn = 64513;
const routerAsn = 64524;

/** A program of Cadastre, to be stopped and started again on the same port. */
export interface Program {
  readonly job: 'operator' | 'agent' | 'console';
  readonly node: string;
  readonly port: number;
  readonly args: string[];
  part?: PartProcess;
}

export class Router {
  readonly name: string;
  readonly address: string;
  port = 0;
  #speaker: Speaker | undefined;
  readonly #nodes: readonly string[];
  readonly #families: Array<'ipv4' | 'ipv6'>;

  constructor(
    name: string,
    address: string,
    nodes: readonly string[],
    families: Array<'ipv4' | 'ipv6'> = ['ipv4'],
  ) {
    this.name = name;
    this.address = address;
    this.#nodes = nodes;
    this.#families = families;
  }

  async start(): Promise<void> {
    if (this.#speaker !== undefined) return;
    const speaker = new Speaker({ listen: { address: this.address, port: this.port } });
    await speaker.listen();
    this.port = speaker.port ?? 0;
    speaker.setPeers(
      this.#nodes.map((node) => ({
        name: node,
        address: loopbackOf(node),
        asn: nodeAsn,
        localAsn: routerAsn,
        routerId: this.address,
        isPassive: true,
        families: this.#families,
        nextHop: { ipv4: '10.4.94.1', ipv6: 'fd04:94::1' },
      })),
    );
    speaker.set([]);
    this.#speaker = speaker;
  }

  /** What it advertises to every node. */
  announce(routes: Array<{ prefix: string; nextHop: string }>): void {
    this.#speaker?.set(routes);
  }

  /** `restart`: its connections are just gone, as with its power. */
  async stop(how: 'drain' | 'restart' = 'drain'): Promise<void> {
    await this.#speaker?.close(how);
    this.#speaker = undefined;
  }
}

const numberOf = (node: string) => Number(node.slice(1));
const loopbackOf = (node: string) => `127.77.0.${numberOf(node) + 1}`;

export class Site {
  readonly dir = mkdtempSync(join(tmpdir(), 'cadastre-scraped-'));
  readonly api: TestApi;
  readonly programs: Program[] = [];
  readonly routers: readonly Router[];
  witnessPort = 0;
  #files = 0;

  private constructor(api: TestApi) {
    this.api = api;
    this.routers = [
      new Router('tor1', '127.78.0.1', this.agents),
      new Router('tor2', '127.78.0.2', this.agents),
    ];
  }

  /** The nodes that have an agent. */
  readonly agents = ['n1', 'n2', 'n3', 'n9'];

  static async start(): Promise<Site> {
    const site = new Site(await TestApi.start(crds));
    for (const router of site.routers) await router.start();
    for (const router of site.routers) {
      for (const node of site.agents) site.addPeer(router, node);
    }
    return site;
  }

  addPeer(router: Router, node: string): void {
    this.api.put(`${ours}/bgppeers/${router.name}-${node}`, {
      spec: {
        address: router.address,
        port: router.port,
        asn: routerAsn,
        localASN: nodeAsn,
        localAddress: loopbackOf(node),
        connectRetrySeconds: 1,
        nodeSelector: { matchLabels: { 'kubernetes.io/hostname': node } },
      },
    });
  }

  removePeer(router: Router, node: string): void {
    this.api.delete(`${ours}/bgppeers/${router.name}-${node}`);
  }

  /** `joinedDaysAgo`: the API server's clock stands so far back while it takes the Node. */
  addNode(name: string, pool: string, joinedDaysAgo = 0): void {
    const now = Date.now;
    if (joinedDaysAgo > 0) Date.now = () => now() - joinedDaysAgo * 86_400_000;
    try {
      this.api.put(`/api/v1/nodes/${name}`, {
        metadata: { labels: { 'kubernetes.io/hostname': name, pool } },
        status: {
          addresses: [{ type: 'InternalIP', address: `10.4.94.${numberOf(name) + 10}` }],
          conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }],
        },
      } as KubeObject);
    } finally {
      Date.now = now;
    }
  }

  removeNode(name: string): void {
    this.api.delete(`/api/v1/nodes/${name}`);
  }

  putPool(name: string, cidrs: string[], size = 28): void {
    const spec = {
      cidrs,
      blockSize: { ipv4: size },
      cooldownSeconds: 1,
      nodeSelector: { matchLabels: { pool: name } },
    };
    const known = this.api.object(`${ours}/ippools/${name}`);
    this.api.put(`${ours}/ippools/${name}`, { ...known, spec } as KubeObject);
  }

  blockOf(node: string): string | undefined {
    const found = this.api
      .objects(`${ours}/nodeblocks`)
      .map(({ spec }) => spec as { cidr: string; phase: string; node?: { name: string } })
      .find((spec) => spec.node?.name === node && spec.phase === 'Active');
    return found?.cidr;
  }

  async addOperator(): Promise<Program> {
    this.witnessPort = await freePort();
    return this.#add('operator', '', (port) => [
      ...['operator', '--kubeconfig', this.api.kubeconfig, '--listen', `127.0.0.1:${port}`],
      ...['--drift-every', '1', '--witness', `bmp=127.0.0.1:${this.witnessPort}`],
    ]);
  }

  addConsole(): Promise<Program> {
    return this.#add('console', '', (port) => [
      ...['console', '--kubeconfig', this.api.kubeconfig, '--listen', '127.0.0.1:0'],
      ...['--metrics-listen', `127.0.0.1:${port}`],
    ]);
  }

  addAgent(node: string): Promise<Program> {
    mkdirSync(this.stateOf(node), { recursive: true });
    return this.#add('agent', node, (port) => [
      ...['agent', '--kubeconfig', this.api.kubeconfig, '--node-name', node],
      ...['--kernel', 'fake', '--fake-uplink', `eth0=10.4.94.${numberOf(node) + 10}/24`],
      ...['--state-dir', this.stateOf(node), '--socket', this.socketOf(node)],
      ...['--listen', `127.0.0.1:${port}`, '--api-grace', '1'],
    ]);
  }

  stateOf = (node: string) => join(this.dir, `state-${node}`);
  socketOf = (node: string) => join(this.dir, `${node}.sock`);

  program(job: Program['job'], node = ''): Program {
    return this.programs.find((one) => one.job === job && one.node === node)!;
  }

  async #add(job: Program['job'], node: string, args: (port: number) => string[]) {
    const port = await freePort();
    const program: Program = { job, node, port, args: args(port) };
    this.programs.push(program);
    this.run(program);
    return program;
  }

  /** `root`: the folder of another version of the program. */
  run(program: Program, root = resolve('.')): void {
    const { job, node, args } = program;
    this.#files += 1;
    program.part = startPart({
      name: `${job} ${node}`,
      binary: process.execPath,
      args: [join(root, 'dist/cadastre.mjs'), ...args],
      logFile: join(this.dir, `${job}-${node}.log`),
      dir: this.dir,
    });
  }

  async again(program: Program, root?: string): Promise<void> {
    await program.part?.stop();
    this.run(program, root);
  }

  async metrics({ port }: Program): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    return answer.text();
  }

  /** A pod of an IPAM plugin: addresses alone, so that no namespace is needed. */
  async cni(node: string, command: 'ADD' | 'DEL', container: string): Promise<number> {
    const config = { cniVersion: '1.0.0', name: 'pods', type: 'ptp', ipam: { type: 'cadastre' } };
    const { exitCode } = await callCni(this.socketOf(node), {
      command,
      containerId: container,
      netns: `/run/netns/${container}`,
      ifname: 'eth0',
      args: '',
      plugin: 'cadastre',
      stdin: JSON.stringify(config),
    });
    return exitCode;
  }

  log(program: Program): string {
    return readFileSync(join(this.dir, `${program.job}-${program.node}.log`), 'utf8');
  }

  write(name: string, text: string): string {
    const path = join(this.dir, name);
    writeFileSync(path, text);
    return path;
  }

  async stop(): Promise<void> {
    this.api.proxy.thaw();
    await Promise.all(this.programs.map(({ part }) => part?.kill9()));
    await Promise.all(this.routers.map((router) => router.stop()));
    await this.api.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
