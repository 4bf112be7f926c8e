import { describe, expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { clusterKinds, keepItem } from '../model/cluster-kinds.ts';
import { BgpConfigHandler } from './bgp-config-handler.ts';

const configMap = (text: string) =>
  keepItem(clusterKinds.configMaps, {
    metadata: { name: 'bgp-config', namespace: 'kube-system', uid: 'u', resourceVersion: '1' },
    data: { config: text },
  });
const good = configMap(`
peers: [{ peer-address: 10.0.0.1, peer-asn: 64524, my-asn: 64513 }]
address-pools:
- { name: public, protocol: bgp, addresses: [192.0.2.0/24] }
- { name: near, protocol: layer2, addresses: [198.51.100.0/24] }
`);
const malformed = configMap('peers: [{ peer-adress: 10.0.0.2 }]');

describe('the BGP ConfigMap', () => {
  const said: unknown[] = [];
  const say = (fields: object, words: string) => said.push({ ...fields, words });
  let changes = 0;
  const handler = new BgpConfigHandler({ ...silentLog, warn: say, error: say }, () => changes++);
  const held = () => ({
    peers: handler.peers.map(({ address }) => address),
    pools: handler.pools.map(({ name }) => name),
  });

  test('gives its peers and its pools for BGP, and names those for layer 2', () => {
    expect(held()).toEqual({ peers: [], pools: [] });
    handler.onPut(good);
    expect(held()).toEqual({ peers: ['10.0.0.1'], pools: ['public'] });
    expect(said.splice(0)).toMatchObject([{ pool: 'near', object: 'kube-system/bgp-config' }]);
    expect(changes).toBe(1);
  });

  test('stays in use when a malformed one replaces it, and says what is wrong', () => {
    handler.onPut(malformed);
    expect(held()).toEqual({ peers: ['10.0.0.1'], pools: ['public'] });
    expect(said.splice(0)).toMatchObject([
      {
        reason: 'MalformedConfig',
        detail: expect.arrayContaining([expect.stringMatching(/^1: peers\[0\]/)]),
      },
    ]);
    expect(changes).toBe(1);
  });

  test('is of no use any more once it is deleted, even if a malformed one follows', () => {
    handler.onDelete();
    handler.onPut(malformed);
    expect(held()).toEqual({ peers: [], pools: [] });
    expect(changes).toBe(2);
  });
});
