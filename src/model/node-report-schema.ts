import { type ResourceDefinition, readyReason, readyStatus } from './crd.ts';
import { nodeReports } from './resources.ts';
import {
  countField,
  flagField,
  listField,
  nameField,
  objectField,
  recordList,
  textField,
  timeField,
  uidField,
} from './schema/schema.ts';
import { cidrText, conditions } from './schema/shared-fields.ts';

const words = (maxLength: number) => textField('', { maxLength });
const address = words(45);

const spec = objectField('', ['nodeUID'], {
  nodeUID: uidField(),
  neededAddresses: objectField(
    'How many pod addresses the node needs, in use and kept ready.',
    [],
    {
      ipv4: countField(),
      ipv6: countField(),
    },
  ),
  releases: listField(
    'NodeBlocks that the agent has emptied and gives back, each with the uid of the object, so that a late release cannot free a newer block of the same CIDR.',
    4096,
    objectField('', ['cidr', 'uid'], {
      cidr: cidrText,
      uid: { type: 'string', minLength: 1, maxLength: 128 },
    }),
    { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['cidr'] },
  ),
});

/** The agent reports no more blocks, routes or findings than this. */
export const maxReported = 1024;

/** What the agent saw and did; node-report-status.ts explains the fields. */
const status = objectField('', [], {
  agentVersion: words(64),
  startedAt: timeField(),
  blocks: recordList(maxReported, ['cidr'], {
    cidr: cidrText,
    pool: nameField(),
    draining: flagField(''),
    pods: countField(),
    resting: countField(),
    total: words(40),
  }),
  kernel: objectField('', [], {
    wanted: countField(),
    held: countField(),
    repaired: countField(),
    ownRoutes: listField('', maxReported, cidrText),
    refused: recordList(maxReported, ['route', 'reason'], {
      route: nameField(),
      reason: words(1024),
    }),
  }),
  sessions: recordList(256, ['peer', 'address', 'state'], {
    peer: nameField(),
    address,
    asn: countField(),
    localAsn: countField(),
    state: words(32),
    establishedAt: timeField(),
    families: recordList(2, ['family'], {
      family: words(4),
      received: countField(),
      advertised: countField(),
    }),
    lastError: words(1024),
    announced: recordList(maxReported, ['prefix'], {
      prefix: cidrText,
      nextHop: address,
      since: timeField(),
      attributes: words(1024),
    }),
  }),
  unannounced: recordList(maxReported, ['cidr', 'reason', 'detail'], {
    cidr: cidrText,
    peer: nameField(),
    reason: words(64),
    detail: words(1024),
  }),
  drain: objectField('', [], {
    steps: recordList(8, ['step', 'at'], { step: words(32), at: timeField(), detail: words(1024) }),
  }),
  findings: recordList(maxReported, ['reason', 'detail'], {
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
