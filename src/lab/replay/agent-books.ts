/** What agents themselves say that they use: blocks, and addresses with their owners. */
import { askAgent } from '../../agent/ask-agent.ts';
import type { AllocationJson } from '../../model/agent-api.ts';
import type { Lab } from '../lab.ts';

export interface AgentBook {
  readonly node: string;
  /** Those that new pods get addresses of. */
  readonly blocks: readonly string[];
  readonly addresses: readonly string[];
}

export class AgentBooks {
  readonly #lab: Lab;

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  /** Of every machine that is on. */
  async read(): Promise<AgentBook[]> {
    const running = this.#lab.topology.nodes.filter(({ name }) =>
      this.#lab.processes.isRunning(this.#lab.agentName(name)),
    );
    return Promise.all(
      running.map(async ({ name }) => {
        const [{ blocks }, { items }] = await Promise.all([
          this.#lab.agentStatus(name),
          askAgent(this.#lab.agentSocket(name), 'GET', '/v1/addresses') as Promise<{
            items: AllocationJson[];
          }>,
        ]);
        return {
          node: name,
          blocks: blocks.flatMap(({ cidr, draining }) => (draining ? [] : [cidr])),
          addresses: items.flatMap((one) => one.addresses.map(({ address }) => address)),
        };
      }),
    );
  }

  /** As pods would, without making any. */
  async takeAddresses(node: string, count: number): Promise<void> {
    for (let index = 1; index <= count; index++) {
      await askAgent(this.#lab.agentSocket(node), 'POST', '/v1/addresses', {
        owner: `${owner} ${index}`,
      });
    }
  }

  async giveAddressesBack(node: string): Promise<void> {
    const socket = this.#lab.agentSocket(node);
    const { items } = (await askAgent(socket, 'GET', '/v1/addresses')) as {
      items: AllocationJson[];
    };
    for (const { owner: whose, addresses } of items) {
      if (!whose.startsWith(owner)) continue;
      const path = `/v1/addresses/${addresses[0]!.address}?owner=${encodeURIComponent(whose)}`;
      await askAgent(socket, 'DELETE', path);
    }
  }
}

const owner = 'lab';

/** Addresses that more than one of them has given out. */
export function addressesInTwoPlaces(books: readonly AgentBook[]): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const { addresses } of books) {
    for (const address of new Set(addresses)) {
      if (seen.has(address)) twice.add(address);
      seen.add(address);
    }
  }
  return [...twice].sort();
}
