import { type Address, parseAddress } from '../net/address.ts';
import { familyBits } from '../net/family.ts';
import { Prefix } from '../net/prefix.ts';
import { apiVersion } from './keys.ts';
import { blockName } from './node-block.ts';
import { type Identity, identityOf, type KubeObject, timestampMs } from './object.ts';

/**
 * The register's entry for an address of a Service. As with blocks, the name is
 * the address and creating the object is the allocation.
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
