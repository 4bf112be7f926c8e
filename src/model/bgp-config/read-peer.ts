import { type BgpPeer, clusterPeerDefaults } from '../bgp-peer.ts';
import type { LabelSelector } from '../label-selector.ts';
import { readPeerSettings } from './read-peer-settings.ts';
import { readNodeSelector } from './read-selector.ts';
import type { YamlNode, YamlReader } from './yaml-reader.ts';

const noBfd = 'BFD is not supported; take the key out, the session lives on BGP hold time alone';

/** One entry of `peers`. It has no name; its address is what its users call it. */
export function readConfigMapPeer(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
): BgpPeer | undefined {
  const nodeSelectors: LabelSelector[] = [];
  let isMultihop: boolean | undefined;
  const settings = readPeerSettings(reader, node, path, 'configMap', {
    inherited: clusterPeerDefaults,
    more: {
      // Needs nothing from us: the kernel's own TTL of 64 reaches the peer.
      'ebgp-multihop': (value, key) => {
        isMultihop = reader.boolean(value, key);
      },
      'node-selectors': (value, key) => {
        reader.list(value, key, (item, itemPath) => {
          nodeSelectors.push(readNodeSelector(reader, item, itemPath));
        });
      },
      'bfd-profile': noBfd,
    },
  });
  if (settings === undefined) return undefined;
  if (isMultihop === true && settings.asn === settings.localAsn) {
    const sentence = 'ebgp-multihop makes no sense with a peer in our own AS';
    return reader.problem(node, `${path}.ebgp-multihop`, sentence);
  }
  return { ...settings, name: settings.address, nodeSelectors };
}
