import { type ResourceDefinition, readyReason, readyStatus } from './crd.ts';
import { nodeReports } from './resources.ts';
import * as field from './schema/field.ts';

const words = (maxLength: number) => field.text('', { maxLength });
const address = words(45);

const spec = field.object('', ['nodeUID'], {
  nodeUID: field.uid(),
  neededAddresses: field.object(
    'How many pod addresses the node needs, in use and kept ready.',
    [],
    {
      ipv4: field.count(),
      ipv6: field.count(),
    },
  ),
  releases: field.list(
    'NodeBlocks that the agent has emptied and gives back, each with the uid of the object, so that a late release cannot free a newer block of the same CIDR.',
    4096,
    field.object('', ['cidr', 'uid'], {
      cidr: field.cidrText,
      uid: { type: 'string', minLength: 1, maxLength: 128 },
    }),
    { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['cidr'] },
  ),
});

/** The agent reports no more blocks, routes or findings than this. */
export const maxReported = 1024;

/** What the agent saw and did; node-report-status.ts explains the fields. */
const status = field.object('', [], {
  agentVersion: words(64),
  startedAt: field.time(),
  blocks: field.records(maxReported, ['cidr'], {
    cidr: field.cidrText,
    pool: field.name(),
    draining: field.flag(''),
    pods: field.count(),
    resting: field.count(),
    total: words(40),
  }),
  kernel: field.object('', [], {
    wanted: field.count(),
    held: field.count(),
    repaired: field.count(),
    ownRoutes: field.list('', maxReported, field.cidrText),
    refused: field.records(maxReported, ['route', 'reason'], {
      route: field.name(),
      reason: words(1024),
    }),
  }),
  sessions: field.records(256, ['peer', 'address', 'state'], {
    peer: field.name(),
    address,
    asn: field.count(),
    localAsn: field.count(),
    state: words(32),
    establishedAt: field.time(),
    families: field.records(2, ['family'], {
      family: words(4),
      received: field.count(),
      advertised: field.count(),
    }),
    lastError: words(1024),
    announced: field.records(maxReported, ['prefix'], {
      prefix: field.cidrText,
      nextHop: address,
      since: field.time(),
      attributes: words(1024),
    }),
  }),
  unannounced: field.records(maxReported, ['cidr', 'reason', 'detail'], {
    cidr: field.cidrText,
    peer: field.name(),
    reason: words(64),
    detail: words(1024),
  }),
  drain: field.object('', [], {
    steps: field.records(8, ['step', 'at'], {
      step: words(32),
      at: field.time(),
      detail: words(1024),
    }),
  }),
  findings: field.records(maxReported, ['reason', 'detail'], {
    reason: words(64),
    cidr: field.cidrText,
    detail: words(1024),
  }),
  conditions: field.conditions,
});

export const nodeReportDefinition: ResourceDefinition = {
  resource: nodeReports,
  shortName: 'nr',
  revision: 8,
  digest: '74e85aa2bc93a3ba',
  spec,
  status,
  columns: [
    { name: 'Needs v4', type: 'integer', jsonPath: '.spec.neededAddresses.ipv4' },
    { name: 'Needs v6', type: 'integer', jsonPath: '.spec.neededAddresses.ipv6' },
    { name: 'Ready', type: 'string', jsonPath: readyStatus },
    { name: 'Reason', type: 'string', jsonPath: readyReason },
    { name: 'Blocks', type: 'string', jsonPath: '.status.blocks[*].cidr', priority: 1 },
    { name: 'Sessions', type: 'string', jsonPath: '.status.sessions[*].state', priority: 1 },
  ],
};
