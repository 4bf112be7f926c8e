/**
 * Ways in which a machine of a lab is lost, and found again: cut off from the API server, from the
 * routers or from both, switched off without a word, an API server that is down.
 *
 * A cut is silent. Frames are dropped on the node's own interfaces (nftables, netdev), both
 * ways; no link goes down and no connection is reset, so that the other side finds out by itself.
 */
import { CadastreError } from '../../base/errors.ts';
import { timerMs } from '../../base/timer-ms.ts';
import { eventually } from '../eventually.ts';
import type { Lab } from '../lab.ts';
import { endProcesses, ipJson, runInside } from '../namespaces.ts';

export interface Cut {
  readonly fromApiServer: boolean;
  /** And from everything behind them; nodes in the same subnet are still there. */
  readonly fromRouters: boolean;
}

const table = 'netdev cadastre_lab_cut';
/** Neighbours are found by these (ARP, and neighbour discovery by multicast). */
const toEverybody = ['ff:ff:ff:ff:ff:ff', '33:33:00:00:00:00-33:33:ff:ff:ff:ff'];

/** The input of `nft -f -`. It replaces an earlier cut; one of nothing heals. */
export function cutRules(
  { fromApiServer, fromRouters }: Cut,
  neighbours: readonly string[],
): string {
  const lines = [`add table ${table}`, `delete table ${table}`];
  const chain = (name: string, hook: string, link: string, rule: string) =>
    `  chain ${name} { type filter hook ${hook} device "${link}" priority 0; ${rule}; }`;
  const unless = (field: string, allowed: readonly string[]) =>
    allowed.length === 0 ? 'drop' : `${field} != { ${allowed.join(', ')} } drop`;
  const chains = [
    ...(fromApiServer
      ? [chain('api_in', 'ingress', 'mgmt0', 'drop'), chain('api_out', 'egress', 'mgmt0', 'drop')]
      : []),
    ...(fromRouters
      ? [
          chain('routers_in', 'ingress', 'eth0', unless('ether saddr', neighbours)),
          chain(
            'routers_out',
            'egress',
            'eth0',
            unless('ether daddr', [...neighbours, ...toEverybody]),
          ),
        ]
      : []),
  ];
  if (chains.length > 0) lines.push(`table ${table} {`, ...chains, '}');
  return `${lines.join('\n')}\n`;
}

export class Cuts {
  readonly #lab: Lab;
  #stoppedMs: number | undefined;

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  async cut(node: string, cut: Cut): Promise<void> {
    const neighbours = cut.fromRouters ? await this.#neighbours(node) : [];
    await this.#apply(node, cutRules(cut, neighbours));
  }

  async heal(node: string): Promise<void> {
    await this.#apply(node, cutRules({ fromApiServer: false, fromRouters: false }, []));
  }

  /** As if somebody pulled the plug: the links first, so that no socket says goodbye. */
  async powerOffSilently(node: string): Promise<void> {
    await this.#lab.unplug(node);
    await endProcesses([this.#lab.namespace(node)]);
  }

  /** What clients of it see is a port that nobody listens on. The store stays as it is. */
  async stopApiServer(): Promise<void> {
    await this.#lab.processes.end(this.#apiServer, 'SIGKILL');
    this.#stoppedMs = performance.now();
  }

  get isApiServerStopped(): boolean {
    return this.#stoppedMs !== undefined;
  }

  async whenApiServerDownFor(seconds: number): Promise<void> {
    const leftMs = () => (this.#stoppedMs ?? 0) + seconds * 1000 - performance.now();
    while (leftMs() > 0) await new Promise((resolve) => setTimeout(resolve, timerMs(leftMs())));
  }

  async startApiServer(): Promise<void> {
    this.#lab.processes.startAgain(this.#apiServer);
    const client = await this.#lab.client();
    await eventually('the API server serves again', async () =>
      (await client.rawGet('/readyz', { retries: 0 })) === 'ok' ? true : undefined,
    );
    this.#stoppedMs = undefined;
  }

  get #apiServer(): string {
    return this.#lab.manifest.apiServer === 'real' ? 'kube-apiserver' : 'api-server';
  }

  /** The hardware addresses of the other nodes in its subnet. */
  async #neighbours(node: string): Promise<string[]> {
    const { subnet } = this.#lab.node(node);
    const others = this.#lab.topology.nodes.filter(
      (one) => one.name !== node && one.subnet === subnet,
    );
    const links = await Promise.all(
      others.map(({ name }) =>
        ipJson<Array<{ address: string }>>(this.#lab.namespace(name), 'link show eth0'),
      ),
    );
    return links.flatMap(([link]) => (link === undefined ? [] : [link.address]));
  }

  async #apply(node: string, rules: string): Promise<void> {
    const command = ['nft', '-f', '-'];
    const { code, stderr } = await runInside(this.#lab.namespace(node), command, { stdin: rules });
    if (code === 0) return;
    throw new CadastreError('LAB_FAILED', `${node}: nft: ${stderr.trim().split('\n')[0]}`, {
      remedy:
        'Cutting a node off needs the program nft (package nftables) and Linux 5.16 or newer.',
    });
  }
}
