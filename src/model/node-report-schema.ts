import { type ResourceDefinition, readyReason, readyStatus } from './crd.ts';
import { nodeReports } from './resources.ts';
import { count, flag, list, name, object, records, text, time, uid } from './schema/schema.ts';
import { cidrText, conditions } from './schema/shared-fields.ts';

const words = (maxLength: number) => text('', { maxLength });
const address = words(45);

const spec = object('', ['nodeUID'], {
  nodeUID: uid(),
  neededAddresses: object('How many pod addresses the node needs, in use and kept ready.', [], {
    ipv4: count(),
    ipv6: count(),
  }),
  releases: list(
    'NodeBlocks that the agent has emptied and gives back, each with the uid of the object, so that a late release cannot free a newer block of the same CIDR.',
    4096,
    object('', ['cidr', 'uid'], {
      cidr: cidrText,
      uid: { type: 'string', minLength: 1, maxLength: 128 },
    }),
    { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['cidr'] },
  ),
});

/** The agent reports no more blocks, routes or findings than this. */
export const maxReported = 1024;

/** What the agent saw and did; node-report-status.ts explains the fields. */
const status = object('', [], {
  agentVersion: words(64),
  startedAt: time(),
  blocks: records(maxReported, ['cidr'], {
    cidr: cidrText,
    pool: name(),
    draining: flag(''),
    pods: count(),
    resting: count(),
    total: words(40),
  }),
  kernel: object('', [], {
    wanted: count(),
    held: count(),
    repaired: count(),
    ownRoutes: list('', maxReported, cidrText),
    refused: records(maxReported, ['route', 'reason'], { route: name(), reason: words(1024) }),
  }),
  sessions: records(256, ['peer', 'address', 'state'], {
    peer: name(),
    address,
    asn: count(),
    localAsn: count(),
    state: words(32),
    establishedAt: time(),
    families: records(2, ['family'], { family: words(4), received: count(), advertised: count() }),
    lastError: words(1024),
    announced: records(maxReported, ['prefix'], {
      prefix: cidrText,
      nextHop: address,
      since: time(),
      attributes: words(1024),
    }),
  }),
  unannounced: records(maxReported, ['cidr', 'reason', 'detail'], {
    cidr: cidrText,
    peer: name(),
    reason: words(64),
    detail: words(1024),
  }),
  drain: object('', [], {
    steps: records(8, ['step', 'at'], { step: words(32), at: time(), detail: words(1024) }),
  }),
  findings: records(maxReported, ['reason', 'detail'], {
    reason: words(64),
    cidr: cidrText,
    detail: words(1024),
  }),
  conditions,
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
