import { type BgpPeer, isPeerOf } from '../../model/bgp-peer.ts';
import type { Labels } from '../../model/label-selector.ts';
import { type PeerSettings, peerSettings } from '../../model/peer-settings.ts';
import { parseAddress } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';

/** A router that one node has a session with, as its speaker takes it. */
export type NodePeer = PeerSettings & { name: string; routerId: string };

interface PeeringNode {
  readonly name: string;
  readonly labels: Labels;
  /** InternalIPs. */
  readonly addresses: readonly string[];
}

/**
 * By name, so that which of two peers with one address is refused does not
 * depend on who was seen first.
 */
export function nodePeers(peers: Iterable<BgpPeer>, node: PeeringNode): NodePeer[] {
  const chosen: NodePeer[] = [];
  for (const peer of peers) {
    if (!isPeerOf(peer, node.labels)) continue;
    const { nodeSelectors: _, ...settings } = peer;
    chosen.push({
      ...settings,
      routerId: settings.routerId ?? defaultRouterId(node),
      ...nodeNextHops(settings, node),
    });
  }
  return chosen.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/**
 * The session's own address is no next hop for the other family, nor is one of
 * 127.0.0.0/8 for any (RFC 4271 §6.3): with a router on the node itself, reached
 * over loopback. There it is the node's first address of the family, without
 * which such routes cannot be announced at all.
 */
function nodeNextHops(
  { address, families = peerSettings.families.default }: PeerSettings,
  { addresses }: PeeringNode,
): { nextHop?: Partial<Record<Family, string>> } {
  const router = parseAddress(address);
  const isLocal = router?.family === 'ipv4' && router.w0 >>> 24 === 127;
  const nextHop: Partial<Record<Family, string>> = {};
  for (const family of families) {
    if (family === router?.family && !isLocal) continue;
    const own = addresses.find((text) => parseAddress(text)?.family === family);
    if (own !== undefined) nextHop[family] = own;
  }
  return Object.keys(nextHop).length === 0 ? {} : { nextHop };
}

/**
 * The node's first IPv4 address. Where it has none, any number that is the
 * node's alone will do (RFC 6286 §2.1): one derived from its name stays the same
 * over a restart, which routers take as the sign that it is the same speaker.
 */
export function defaultRouterId({ name, addresses }: PeeringNode): string {
  for (const text of addresses) {
    if (parseAddress(text)?.family === 'ipv4') return text;
  }
  // FNV-1a.
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  }
  const octet = (shift: number) => (hash >>> shift) & 0xff;
  // Within 1 to 223, so that it looks like a unicast address and is never 0.0.0.0.
  return [(octet(24) % 223) + 1, octet(16), octet(8), octet(0)].join('.');
}
