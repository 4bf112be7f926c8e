import { type ResourceDefinition, readyReason, readyStatus } from './crd.ts';
import { announcementsOnly } from './node-report.ts';
import { nodeReports } from './resources.ts';
import * as field from './schema/field.ts';

const words = (maxLength: number) => field.text('', { maxLength });
const address = words(45);

/** The agent reports no more blocks, routes or findings than this. */
export const maxReported = 1024;

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
  agent: field.object('The agent that writes this.', ['id', 'machine'], {
    id: field.text('New with every start of the agent.', { maxLength: 64 }),
    machine: field.text('The same for every agent on this machine.', { maxLength: 64 }),
  }),
  scope: {
    ...field.text(
      'Announcements: the agent announces the blocks and does nothing else; another program gives addresses out of them. Absent: the agent gives them itself.',
    ),
    enum: [announcementsOnly],
  },
  uses: field.list(
    'Blocks that the agent uses: pods live in them, or it announces them. What the register lost is taken back from here.',
    maxReported,
    field.object('', ['cidr'], { cidr: field.cidrText, uid: field.uid() }),
  ),
  fenced: field.list(
    'Blocks that the agent has withdrawn from every router, and uses no more before the API server confirms them.',
    4096,
    field.object('', ['cidr', 'uid'], { cidr: field.cidrText, uid: field.uid() }),
  ),
  silentAfter: field.list(
    'Blocks of pools that release by time: without word from the API server the agent withdraws them after so many seconds, half of that time.',
    maxReported,
    field.object('', ['cidr', 'uid', 'seconds'], {
      cidr: field.cidrText,
      uid: field.uid(),
      seconds: field.count(),
    }),
  ),
  reconfirmAfterSeconds: field.count(
    'After so long without a session to a router, the agent announces nothing to it again before the API server confirms the blocks.',
  ),
});

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
  hijacks: field.records(maxReported, ['cidr', 'prefix', 'peer', 'nextHop'], {
    cidr: field.cidrText,
    prefix: field.cidrText,
    peer: field.name(),
    nextHop: address,
    ownNextHop: address,
    since: field.time(),
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
  revision: 10,
  digest: '71e80d33f7b3a578',
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
