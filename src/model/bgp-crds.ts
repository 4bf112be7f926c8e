import { conditions, crd, integer, nodeSelector, type Schema, string } from './crd.ts';

/**
 * BGPPeer: a router and the nodes that speak with it. BGPAdvertisement: what the
 * routers are told *about* blocks. Neither says which prefix is announced: that
 * follows from the register alone, so no object can announce somebody else's.
 */
const maxAsn = 0xffffffff;

const address = (description: string): Schema =>
  string(description, {
    maxLength: 45,
    'x-kubernetes-validations': [
      { rule: 'isIP(self)', messageExpression: "'\"' + self + '\" is not an IP address'" },
    ],
  });

const asn = (description: string): Schema => integer(description, { minimum: 1, maximum: maxAsn });

const bgpPeerSpec: Schema = {
  type: 'object',
  required: ['address', 'asn', 'localASN'],
  properties: {
    address: address('The router.'),
    port: integer('Its port.', { minimum: 1, maximum: 65535, default: 179 }),
    asn: asn("The router's AS."),
    localASN: asn("The nodes' AS; the same as asn for iBGP."),
    localAddress: address("The node's end of the session. Absent: as the kernel chooses."),
    routerID: string("The BGP identifier. Absent: the node's first IPv4 InternalIP.", {
      maxLength: 15,
      'x-kubernetes-validations': [
        {
          rule: "isIP(self) && ip(self).family() == 4 && self != '0.0.0.0'",
          message: 'routerID must look like 192.0.2.1',
        },
      ],
    }),
    families: {
      type: 'array',
      description: 'What is announced. Absent: both.',
      minItems: 1,
      maxItems: 2,
      'x-kubernetes-list-type': 'set',
      items: { type: 'string', enum: ['ipv4', 'ipv6'] },
    },
    holdSeconds: integer('0 switches the hold timer off.', {
      minimum: 0,
      maximum: 65535,
      default: 90,
      'x-kubernetes-validations': [
        { rule: 'self == 0 || self >= 3', message: 'holdSeconds must be 0, or from 3 to 65535' },
      ],
    }),
    keepaliveSeconds: integer('Absent: a third of holdSeconds.', { minimum: 1, maximum: 21845 }),
    connectRetrySeconds: integer('Between two attempts to connect.', {
      minimum: 1,
      maximum: 65535,
    }),
    multihopTTL: integer('For a router some hops away.', { minimum: 1, maximum: 255 }),
    ttlSecurityHops: integer('GTSM (RFC 5082): the router is at most so many hops away.', {
      minimum: 1,
      maximum: 254,
    }),
    gracefulRestartSeconds: integer(
      'How long the router may keep the routes while the agent restarts. 0 switches it off.',
      { minimum: 0, maximum: 4095, default: 120 },
    ),
    nodeSelector: nodeSelector('Which nodes speak with it. Absent or empty: every node.'),
  },
  'x-kubernetes-validations': [
    {
      rule: '!has(self.localAddress) || !isIP(self.localAddress) || !isIP(self.address) || ip(self.localAddress).family() == ip(self.address).family()',
      message: 'localAddress and address are of different families',
    },
    {
      rule: '!has(self.multihopTTL) || !has(self.ttlSecurityHops)',
      message: 'multihopTTL and ttlSecurityHops exclude each other',
    },
    {
      rule: '!has(self.keepaliveSeconds) || !has(self.holdSeconds) || self.holdSeconds == 0 || self.keepaliveSeconds < self.holdSeconds',
      message: 'keepaliveSeconds must be shorter than holdSeconds',
    },
  ],
};

const names = (description: string): Schema => ({
  type: 'array',
  description,
  maxItems: 256,
  'x-kubernetes-list-type': 'set',
  items: { type: 'string', minLength: 1, maxLength: 253 },
});

const bgpAdvertisementSpec: Schema = {
  type: 'object',
  properties: {
    nodeSelector: nodeSelector('On which nodes it holds. Absent or empty: every node.'),
    peers: names('Names of the peers it is for. Absent or empty: all.'),
    pools: names('Pools whose blocks it is about. Absent or empty: all.'),
    priority: integer('Where several fit a block and a peer, the highest counts, then the name.', {
      default: 0,
      minimum: -1000000000,
      maximum: 1000000000,
    }),
    communities: {
      type: 'array',
      maxItems: 64,
      'x-kubernetes-list-type': 'set',
      items: string('64513:100, or a well-known name such as no-export.', {
        maxLength: 32,
        pattern: '^([0-9]{1,5}:[0-9]{1,5}|[a-zA-Z][a-zA-Z0-9_-]*)$',
      }),
    },
    largeCommunities: {
      type: 'array',
      maxItems: 64,
      'x-kubernetes-list-type': 'set',
      items: string('64513:1:2.', {
        maxLength: 32,
        pattern: '^[0-9]{1,10}:[0-9]{1,10}:[0-9]{1,10}$',
      }),
    },
    localPref: integer('For routers in our own AS.', { minimum: 0, maximum: maxAsn }),
    med: integer('Among several ways into our AS the lowest is preferred.', {
      minimum: 0,
      maximum: maxAsn,
    }),
    prepend: integer('How often our AS is repeated beyond the one time.', {
      minimum: 0,
      maximum: 100,
    }),
  },
};

export const bgpPeerCrd = crd(
  'BGPPeer',
  'bgppeers',
  ['bp'],
  { spec: bgpPeerSpec, status: { type: 'object', properties: { conditions } } },
  [
    { name: 'Address', type: 'string', jsonPath: '.spec.address' },
    { name: 'ASN', type: 'integer', jsonPath: '.spec.asn' },
    { name: 'Local ASN', type: 'integer', jsonPath: '.spec.localASN' },
    { name: 'Hold', type: 'integer', jsonPath: '.spec.holdSeconds', priority: 1 },
  ],
);

export const bgpAdvertisementCrd = crd(
  'BGPAdvertisement',
  'bgpadvertisements',
  ['ba'],
  { spec: bgpAdvertisementSpec, status: { type: 'object', properties: { conditions } } },
  [
    { name: 'Peers', type: 'string', jsonPath: '.spec.peers' },
    { name: 'Pools', type: 'string', jsonPath: '.spec.pools' },
    { name: 'Communities', type: 'string', jsonPath: '.spec.communities' },
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority', priority: 1 },
  ],
);
