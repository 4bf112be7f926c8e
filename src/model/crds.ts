import { bgpAdvertisementDefinition } from './bgp-advertisement.ts';
import { bgpPeerDefinition } from './bgp-peer-definition.ts';
import { blockHistoryDefinition } from './block-history.ts';
import { crd } from './crd.ts';
import { ipPoolDefinition } from './ip-pool-schema.ts';
import { loadBalancerPoolDefinition } from './load-balancer-pool.ts';
import { nodeBlockDefinition } from './node-block.ts';
import { nodeMigrationDefinition } from './node-migration.ts';
import { nodeReportDefinition } from './node-report-schema.ts';
import { operatorReportDefinition } from './operator-report.ts';
import { serviceAddressDefinition } from './service-address.ts';

/** The custom resources. Each is defined once, beside the code that reads it. */
export const definitions = {
  IPPool: ipPoolDefinition,
  NodeBlock: nodeBlockDefinition,
  NodeReport: nodeReportDefinition,
  BGPPeer: bgpPeerDefinition,
  BGPAdvertisement: bgpAdvertisementDefinition,
  BlockHistory: blockHistoryDefinition,
  NodeMigration: nodeMigrationDefinition,
  LoadBalancerPool: loadBalancerPoolDefinition,
  ServiceAddress: serviceAddressDefinition,
  OperatorReport: operatorReportDefinition,
};

export const crds = Object.values(definitions).map(crd);
