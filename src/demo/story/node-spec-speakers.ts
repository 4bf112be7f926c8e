/**
 * The fault of Cilium 1.11, for the site as it was: a speaker beside each agent that
 * announces Node.spec.podCIDRs, whatever the node's pods use. Where that field is empty
 * it falls back to the annotation, as Cilium does in its mode `kubernetes`. The product
 * cannot do that; the lab has the same switch (src/lab/replay/node-spec-speaker.ts).
 */
import type { Log } from '../../base/log.ts';
import { Speaker } from '../../bgp/speaker/speaker.ts';
import { podCidrAnnotations } from '../../model/keys.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Cabling } from '../cabling.ts';
import type { SitedRouter } from '../site-plan.ts';

interface NodeSpecSpeakersOptions {
  routers: readonly SitedRouter[];
  cabling: Cabling;
  log: Log;
}

export class NodeSpecSpeakers {
  readonly #o: NodeSpecSpeakersOptions;
  readonly #speakers = new Map<string, Speaker>();

  constructor(options: NodeSpecSpeakersOptions) {
    this.#o = options;
  }

  /** Declares all nodes: each that is not leaving has a speaker, with what its Node says. */
  async set(nodes: readonly ClusterNode[]): Promise<void> {
    const serving = nodes.filter(({ isLeaving }) => isLeaving !== true);
    for (const [name, speaker] of this.#speakers) {
      if (serving.some((node) => node.name === name)) continue;
      this.#speakers.delete(name);
      await speaker.close('drain');
    }
    for (const node of serving) {
      const speaker = this.#speakers.get(node.name) ?? this.#open(node);
      speaker.set(announcedBlocks(node).map((prefix) => ({ prefix })));
    }
  }

  async close(): Promise<void> {
    const all = [...this.#speakers.values()];
    this.#speakers.clear();
    await Promise.all(all.map((speaker) => speaker.close('restart')));
  }

  #open(node: ClusterNode): Speaker {
    const { routers, cabling, log } = this.#o;
    const speaker = new Speaker({ listen: false, world: { log } });
    const peers = routers.map(({ name, address, asn, nodeAsn }) => ({
      name,
      address,
      asn,
      localAsn: nodeAsn,
      connectRetrySeconds: 1,
      ...(node.addresses[0] === undefined ? {} : { routerId: node.addresses[0] }),
    }));
    speaker.setPeers(peers.map((peer) => cabling.dialled(peer, node)));
    this.#speakers.set(node.name, speaker);
    return speaker;
  }
}

function announcedBlocks({ podCidrs, annotations }: ClusterNode): string[] {
  if (podCidrs.length > 0) return [...podCidrs];
  const [fallback] = podCidrAnnotations.ipv4.flatMap((key) => annotations[key] ?? []);
  return fallback === undefined ? [] : [fallback];
}
