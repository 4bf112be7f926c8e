/** The fault of Cilium 1.11, for the story of what happened after: a switch of the lab alone. */
import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { KubeClient } from '../../kube/client.ts';
import { ifFound, ifNew } from '../../kube/get-if-there.ts';
import { selects } from '../../model/label-selector.ts';
import { bgpPeers, nodes } from '../../model/resources.ts';
import { peerObjects } from '../cluster/objects.ts';
import type { Lab } from '../lab.ts';

export class NodeSpecSpeaker {
  readonly #lab: Lab;
  readonly #client: KubeClient;

  constructor(lab: Lab, client: KubeClient) {
    this.#lab = lab;
    this.#client = client;
  }

  async removePeers(): Promise<void> {
    for (const { router } of this.#lab.topology.peers) {
      await ifFound(this.#client.delete(bgpPeers, router));
    }
  }

  async createPeers(): Promise<void> {
    for (const peer of peerObjects(this.#lab.topology)) {
      await ifNew(this.#client.create(bgpPeers, peer));
    }
  }

  #processName(node: string): string {
    return `speaker-${node}`;
  }

  /** Announces Node.spec.podCIDRs, whatever the node's pods really use. */
  async start(node: string): Promise<void> {
    const { addresses, labels } = this.#lab.node(node);
    const object = await this.#client.get<{
      metadata: { name: string };
      spec?: { podCIDRs?: string[] };
    }>(nodes, node);
    const peers = this.#lab.topology.peers.filter(({ nodeSelector }) =>
      selects(nodeSelector, labels),
    );
    const config = {
      asn: peers[0]?.asn ?? 0,
      'router-id': addresses.ipv4,
      listen: false,
      peers: peers.map(({ router }) => ({
        name: router,
        address: this.#lab.router(router).address,
        asn: this.#lab.router(router).asn,
        'connect-retry': '1s',
      })),
      announcements: (object.spec?.podCIDRs ?? []).map((prefix) => ({ prefix })),
    };
    const file = this.#lab.folder.file('nodes', node, 'speaker.yaml');
    writeFileSync(file, stringify(config));
    this.#lab.processes.start(this.#processName(node), this.#lab.namespace(node), [
      ...this.#lab.world.cadastre,
      ...['bgp', 'speak', '--config', file],
    ]);
  }

  async stop(node: string): Promise<void> {
    await this.#lab.processes.end(this.#processName(node), 'SIGTERM');
  }
}
