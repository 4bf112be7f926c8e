/** Names and addresses of the one cluster with the real Cilium that a machine can have at a time. */

/** Of every namespace, so that what a killed run left behind can be told from everything else. */
export const prefix = 'cadcil-';

export const namespaceOf = (name: string): string => `${prefix}${name}`;

export const nodeNetwork = '172.31.77.0/24';
/** The machine itself, where the API server listens. */
export const machineAddress = '172.31.77.254';
export const router = { name: 'router', address: '172.31.77.1', asn: 65000 };
/** What Cilium's agents say they are. */
export const nodeAsn = 65010;

export const nodeAddress = (name: string): string => `172.31.77.${10 + Number(name.slice(1))}`;
