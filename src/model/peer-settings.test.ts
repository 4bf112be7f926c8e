import { expect, test } from 'vitest';
import { bgpPeerCrd } from './bgp-crds.ts';
import { bgpPeerProperties, bgpPeerRules } from './bgp-peer-schema.ts';
import { peerProblems } from './peer-limits.ts';
import { type PeerSettings, peerSettingRows, withPeerDefaults } from './peer-settings.ts';

const least: PeerSettings = { address: '10.0.0.1', asn: 64524, localAsn: 64513 };
const sentences = (more: object) =>
  peerProblems({ ...least, ...more } as PeerSettings).map(({ sentence }) => sentence);

test('every default is within its own limits', () => {
  expect(peerProblems(withPeerDefaults(least))).toEqual([]);
  for (const [name, { clusterDefault }] of peerSettingRows) {
    if (clusterDefault !== undefined) expect(sentences({ [name]: clusterDefault })).toEqual([]);
  }
});

test.each<[object, string]>([
  [{ address: 'router' }, 'address is "router", not an IP address'],
  [{ address: undefined }, 'address is missing'],
  [{ asn: 0 }, 'asn is 0, not a whole number from 1 to 4294967295'],
  [{ localAsn: 2 ** 32 }, 'localAsn is 4294967296, not a whole number from 1 to 4294967295'],
  [{ port: 0.5 }, 'port is 0.5, not a whole number from 1 to 65535'],
  [{ routerId: '0.0.0.0' }, 'routerId is "0.0.0.0", not an identifier such as 192.0.2.1'],
  [{ localAddress: '2001:db8::1' }, 'localAddress and address are of different families'],
  [{ holdSeconds: 2 }, 'holdSeconds is 2, not 0 or a whole number from 3 to 65535'],
  [{ keepaliveSeconds: 0 }, 'keepaliveSeconds is 0, not a whole number from 1 to 21845'],
  [{ keepaliveSeconds: 90 }, 'keepaliveSeconds must be shorter than holdSeconds'],
  [{ password: 'x'.repeat(81) }, 'password has more than 80 octets'],
  [{ multihopTtl: 5, ttlSecurityHops: 1 }, 'multihopTtl and ttlSecurityHops exclude each other'],
  [{ families: [] }, 'families is [], not a list of families'],
  [{ nextHop: { ipv4: 'x' } }, 'nextHop is {"ipv4":"x"}, not an IP address for each family'],
  [{ isPassive: 'yes' }, 'isPassive is "yes", not true or false'],
])('%j is refused', (change, sentence) => {
  expect(sentences(change)).toEqual([sentence]);
});

test.each<object>([
  { holdSeconds: 0 },
  { holdSeconds: 3 },
  { holdSeconds: 0, keepaliveSeconds: 30 },
  { address: 'fe80::1%eth0', localAddress: 'fe80::2%eth0' },
  { gracefulRestartSeconds: 0 },
])('%j is fine', (change) => {
  expect(sentences(change)).toEqual([]);
});

test('the CRD of BGPPeer says what the table says', () => {
  const { spec } = bgpPeerCrd.spec.versions[0]!.schema.openAPIV3Schema.properties as unknown as {
    spec: {
      required: string[];
      properties: Record<string, { default?: unknown }>;
      'x-kubernetes-validations': object[];
    };
  };
  const { nodeSelector: _, ...properties } = spec.properties;
  // The one default that the definition does not have yet.
  properties.connectRetrySeconds = { ...properties.connectRetrySeconds, default: 10 };
  expect(Object.fromEntries(bgpPeerProperties.map(({ key, schema }) => [key, schema]))).toEqual(
    properties,
  );
  expect(bgpPeerProperties.flatMap(({ key, isRequired }) => (isRequired ? [key] : []))).toEqual(
    spec.required,
  );
  expect(bgpPeerRules).toEqual(spec['x-kubernetes-validations']);
});
