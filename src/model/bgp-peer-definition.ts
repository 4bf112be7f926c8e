import type { ResourceDefinition } from './crd.ts';
import { labelSelector } from './label-selector.ts';
import { parsePlainAddress } from './plain-address.ts';
import { bgpPeers } from './resources.ts';
import * as field from './schema/field.ts';
import { ruled, type ValueOf } from './schema/schema.ts';

/**
 * BGPPeer: a router and the nodes that have a session with it. It does not say which
 * prefix is announced: that follows from the register alone, so no object can
 * announce somebody else's.
 */
export const maxAsn = 0xffffffff;

const address = (description: string) =>
  field.text(description, {
    maxLength: 45,
    ...ruled<string>(
      [{ rule: 'isIP(self)', messageExpression: "'\"' + self + '\" is not an IP address'" }],
      (self, path) =>
        parsePlainAddress(self) === undefined ? [`${path} is "${self}", not an IP address`] : [],
    ),
  });

const asn = (description: string) => field.integer(description, { minimum: 1, maximum: maxAsn });

const shape = field.object('', ['address', 'asn', 'localASN'], {
  address: address('The router.'),
  port: field.integer('Its port.', { minimum: 1, maximum: 65535, default: 179 }),
  asn: asn("The router's AS."),
  localASN: asn("The nodes' AS; the same as asn for iBGP."),
  localAddress: address("The node's end of the session. Absent: as the kernel chooses."),
  routerID: field.text("The BGP identifier. Absent: the node's first IPv4 InternalIP.", {
    maxLength: 15,
    ...ruled<string>(
      [
        {
          rule: "isIP(self) && ip(self).family() == 4 && self != '0.0.0.0'",
          message: 'routerID must look like 192.0.2.1',
        },
      ],
      (self, path) =>
        parsePlainAddress(self)?.family === 'ipv4' && self !== '0.0.0.0'
          ? []
          : [`${path} is "${self}", not a BGP identifier like 192.0.2.1`],
    ),
  }),
  families: field.list(
    'What is announced. Absent: both.',
    2,
    { type: 'string', enum: ['ipv4', 'ipv6'] },
    { minItems: 1, 'x-kubernetes-list-type': 'set' },
  ),
  holdSeconds: field.integer('0 switches the hold timer off.', {
    minimum: 0,
    maximum: 65535,
    default: 90,
    ...ruled<number>(
      [{ rule: 'self == 0 || self >= 3', message: 'holdSeconds must be 0, or from 3 to 65535' }],
      (self, path) => (self === 0 || self >= 3 ? [] : [`${path} is ${self}, not 0 or from 3 up`]),
    ),
  }),
  keepaliveSeconds: field.integer('Absent: a third of holdSeconds.', {
    minimum: 1,
    maximum: 21845,
  }),
  connectRetrySeconds: field.integer('Between two attempts to connect.', {
    minimum: 1,
    maximum: 65535,
  }),
  multihopTTL: field.integer('For a router some hops away.', { minimum: 1, maximum: 255 }),
  ttlSecurityHops: field.integer('GTSM (RFC 5082): the router is at most so many hops away.', {
    minimum: 1,
    maximum: 254,
  }),
  gracefulRestartSeconds: field.integer(
    'How long the router may keep the routes while the agent restarts. 0 switches it off.',
    { minimum: 0, maximum: 4095, default: 120 },
  ),
  nodeSelector: labelSelector('Which nodes have a session with it. Absent or empty: every node.'),
});

type BgpPeerSpec = ValueOf<typeof shape>;

const specRules = [
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
];

/** What `specRules` say. A default that is not yet filled in counts. */
function specProblems(spec: BgpPeerSpec, path: string): string[] {
  const { localAddress, keepaliveSeconds, multihopTTL, ttlSecurityHops } = spec;
  const holdSeconds = spec.holdSeconds ?? shape.properties.holdSeconds.default;
  const familyOf = (text: string) => parsePlainAddress(text)?.family;
  const problems: string[] = [];
  if (localAddress && familyOf(localAddress) !== familyOf(spec.address)) {
    problems.push(`${path}.localAddress and ${path}.address are of different families`);
  }
  if (multihopTTL && ttlSecurityHops) {
    problems.push(`${path}.multihopTTL and ${path}.ttlSecurityHops exclude each other`);
  }
  if (keepaliveSeconds && holdSeconds > 0 && keepaliveSeconds >= holdSeconds) {
    problems.push(
      `${path}.keepaliveSeconds is ${keepaliveSeconds}, not shorter than holdSeconds, ${holdSeconds}`,
    );
  }
  return problems;
}

export const bgpPeerSpec = { ...shape, ...ruled<BgpPeerSpec>(specRules, specProblems) };

export const bgpPeerDefinition: ResourceDefinition = {
  resource: bgpPeers,
  shortName: 'bp',
  revision: 7,
  digest: '457358a72c5e5276',
  spec: bgpPeerSpec,
  status: field.onlyConditions,
  columns: [
    { name: 'Address', type: 'string', jsonPath: '.spec.address' },
    { name: 'ASN', type: 'integer', jsonPath: '.spec.asn' },
    { name: 'Local ASN', type: 'integer', jsonPath: '.spec.localASN' },
    { name: 'Hold', type: 'integer', jsonPath: '.spec.holdSeconds', priority: 1 },
  ],
};
