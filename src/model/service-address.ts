import { type Address, parseAddress } from '../net/address.ts';
import { familyBits } from '../net/family.ts';
import { Prefix } from '../net/prefix.ts';
import type { ResourceDefinition } from './crd.ts';
import { apiVersion } from './keys.ts';
import { blockName } from './node-block.ts';
import { type Identity, identityOf, type KubeObject, timestampMs } from './object.ts';
import { parsePlainAddress } from './plain-address.ts';
import { serviceAddresses } from './resources.ts';
import * as field from './schema/field.ts';
import { ruled, type ValueOf } from './schema/schema.ts';

const shape = field.object('', ['address', 'pool', 'service'], {
  address: field.text('The address. The object is named after it.', {
    maxLength: 45,
    ...ruled<string>(
      [
        {
          rule: 'isIP(self) && string(ip(self)) == self',
          messageExpression: "'\"' + self + '\" is not an IP address in its canonical form'",
        },
      ],
      (self, path) =>
        parsePlainAddress(self)?.toString() === self
          ? []
          : [`${path} is "${self}", not an IP address in its canonical form`],
    ),
  }),
  pool: field.name('The pool it was given from.'),
  service: field.object('The Service that holds it.', ['namespace', 'name', 'uid'], {
    namespace: { type: 'string', minLength: 1, maxLength: 253 },
    name: { type: 'string', minLength: 1, maxLength: 253 },
    uid: { type: 'string', minLength: 1, maxLength: 128 },
  }),
});

export const serviceAddressDefinition: ResourceDefinition = {
  resource: serviceAddresses,
  shortName: 'svcaddr',
  revision: 7,
  digest: '7a27f90abb149ce6',
  spec: {
    ...shape,
    'x-kubernetes-validations': [
      {
        rule: 'self.address == oldSelf.address && self.service == oldSelf.service',
        message: 'an address never passes from one Service to another; it is released first',
      },
    ],
  },
  status: field.onlyConditions,
  rules: ruled<KubeObject & { spec: ValueOf<typeof shape> }>(
    [
      {
        rule: "self.metadata.name == self.spec.address.replace('.', '-').replace(':', '-') + (self.spec.address.contains(':') ? '-128' : '-32')",
        message:
          'a ServiceAddress is named after its address, with dashes for dots and colons, and -32 or -128 behind',
      },
    ],
    ({ metadata, spec: { address } }) => {
      const wanted = serviceAddressName(parseAddress(address)!);
      if (metadata?.name === wanted) return [];
      return [
        `metadata.name is "${metadata?.name}", but the ServiceAddress of ${address} is ${wanted}`,
      ];
    },
  ),
  columns: [
    { name: 'Address', type: 'string', jsonPath: '.spec.address' },
    { name: 'Pool', type: 'string', jsonPath: '.spec.pool' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.service.namespace' },
    { name: 'Service', type: 'string', jsonPath: '.spec.service.name' },
  ],
};

/**
 * The register's entry for an address of a Service (decision 0011). As with blocks, the
 * name is the address and creating the object is the allocation.
 */
export interface ServiceAddress extends Identity {
  address: Address;
  pool: string;
  /** `namespace/name`. */
  service: string;
  serviceUid: string;
  createdMs: number;
  deleting: boolean;
}

/** `192-0-2-10-32`: that of the prefix with this one address, since `fd00::` alone cannot be a name. */
export function serviceAddressName(address: Address): string {
  return blockName(hostPrefix(address));
}

export function hostPrefix(address: Address): Prefix {
  return Prefix.of(address, familyBits(address.family));
}

/** Undefined if it cannot be understood: then nobody holds anything by it. */
export function readServiceAddress(object: KubeObject): ServiceAddress | undefined {
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const address = typeof spec.address === 'string' ? parseAddress(spec.address) : undefined;
  if (address === undefined) return undefined;
  const service = (spec.service ?? {}) as { namespace?: string; name?: string; uid?: string };
  return {
    ...identityOf(object),
    address,
    pool: typeof spec.pool === 'string' ? spec.pool : '',
    service: `${service.namespace ?? ''}/${service.name ?? ''}`,
    serviceUid: service.uid ?? '',
    createdMs: timestampMs(object.metadata?.creationTimestamp),
    deleting: Boolean(object.metadata?.deletionTimestamp),
  };
}

export function writeServiceAddress(
  address: Address,
  pool: string,
  service: { namespace: string; name: string; uid: string },
): KubeObject {
  const { namespace, name, uid } = service;
  return {
    apiVersion,
    kind: 'ServiceAddress',
    metadata: { name: serviceAddressName(address) },
    spec: { address: address.toString(), pool, service: { namespace, name, uid } },
  };
}
