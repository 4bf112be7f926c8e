/** Names and addresses of the one cluster with the real Cilium that a machine can have at a time. */

/** Of every namespace, so that what a killed run left behind can be told from everything else. */
export const prefix = 'cadcil-';

export const namespaceOf = (name: string): string => `${prefix}${name}`;

export const nodeNetwork = '172.31.77.0/24';
export const nodeNetwork6 = 'fd00:77::/64';
/** The machine itself, where the API server listens. */
export const machineAddress = '172.31.77.254';
export const router = {
  name: 'router',
  address: '172.31.77.1',
  address6: 'fd00:77::1',
  asn: 65000,
};
/** What Cilium's agents say they are. */
export const nodeAsn = 65010;

const numberOf = (name: string): number => 10 + Number(name.slice(1));

export const nodeAddress = (name: string): string => `172.31.77.${numberOf(name)}`;
export const nodeAddress6 = (name: string): string => `fd00:77::${numberOf(name)}`;
