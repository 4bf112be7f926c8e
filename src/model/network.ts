import { type Prefix, parsePrefix } from '../net/prefix.ts';

/** A range that is not for pods: a Service network, or a node's own address. */
export interface NamedNetwork {
  name: string;
  prefix: Prefix;
}

/** A node's own addresses, as networks that no block may overlap. */
export function nodeNetworks({ name, addresses }: NodeAddresses): NamedNetwork[] {
  return addresses.flatMap((address) => {
    const prefix = parsePrefix(`${address}/${address.includes(':') ? 128 : 32}`);
    return prefix === undefined ? [] : [{ name: `node ${name}`, prefix }];
  });
}

interface NodeAddresses {
  name: string;
  addresses: readonly string[];
}
