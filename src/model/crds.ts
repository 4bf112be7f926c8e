import { bgpAdvertisementCrd, bgpPeerCrd } from './bgp-crds.ts';
import { cidr, conditions, crd, integer, nodeSelector, type Schema, string } from './crd.ts';
import { blockHistoryCrd } from './history-crd.ts';
import { maxCidrs, maxReserved } from './ip-pool.ts';
import { nodeMigrationCrd } from './migration-crd.ts';
import { nodeReportStatus } from './node-report-schema.ts';
import { loadBalancerPoolCrd, serviceAddressCrd } from './service-crds.ts';

/**
 * The custom resources, with everything the API server itself can refuse: CIDRs
 * that are not canonical, block sizes that do not fit, a block whose name is not
 * its CIDR, a pool that drops a CIDR in use. What needs a look at other objects
 * (pools that overlap each other) is judged in plan/ and said in conditions.
 *
 * The CEL functions for CIDRs exist since Kubernetes 1.31.
 */
const fitsFamily = (family: 'ipv4' | 'ipv6', number: 4 | 6) => ({
  rule: `self.cidrs.all(c, !isCIDR(c) || cidr(c).ip().family() != ${number} || (has(self.blockSize.${family}) && self.blockSize.${family} >= cidr(c).prefixLength()))`,
  message: `blockSize.${family} must be given for the ${family} cidrs and be no larger than any of them`,
});

const ipPoolSpec: Schema = {
  type: 'object',
  required: ['cidrs', 'blockSize'],
  properties: {
    cidrs: {
      type: 'array',
      description: 'The land of the pool, of either family, used up in this order.',
      minItems: 1,
      maxItems: maxCidrs,
      'x-kubernetes-list-type': 'atomic',
      items: cidr('A canonical CIDR, such as 10.5.112.0/21 or fd00:5::/48.'),
    },
    blockSize: {
      type: 'object',
      description: 'The prefix length of the block that a node gets, per family. Fixed.',
      properties: {
        ipv4: { type: 'integer', minimum: 1, maximum: 32 },
        ipv6: { type: 'integer', minimum: 1, maximum: 128 },
      },
      'x-kubernetes-validations': [
        {
          rule: '(!has(oldSelf.ipv4) || (has(self.ipv4) && self.ipv4 == oldSelf.ipv4)) && (!has(oldSelf.ipv6) || (has(self.ipv6) && self.ipv6 == oldSelf.ipv6))',
          message: 'blockSize is fixed; make a new pool for another size',
        },
      ],
    },
    nodeSelector: nodeSelector('Which nodes the pool serves. Absent or empty: every node.'),
    priority: integer('Among pools that select a node the highest wins.', {
      default: 0,
      minimum: -1000000000,
      maximum: 1000000000,
    }),
    reserved: {
      type: 'array',
      description: 'Ranges that are never handed out.',
      maxItems: maxReserved,
      'x-kubernetes-list-type': 'atomic',
      items: cidr('A canonical CIDR.'),
    },
    disabled: { type: 'boolean', description: 'Serve no new node.', default: false },
    cooldownSeconds: integer('How long a block rests after its node is gone.', {
      default: 300,
      minimum: 0,
      maximum: 1000000000,
    }),
  },
  'x-kubernetes-validations': [
    fitsFamily('ipv4', 4),
    fitsFamily('ipv6', 6),
    {
      rule: 'self.cidrs.all(a, !isCIDR(a) || self.cidrs.exists_one(b, isCIDR(b) && (cidr(a).containsCIDR(b) || cidr(b).containsCIDR(a))))',
      message: 'cidrs overlap each other',
    },
    {
      rule: "self.cidrs.all(c, !isCIDR(c) || cidr(c).ip().family() == 4 || !(c.startsWith('::') || cidr('::/16').containsCIDR(c)))",
      message: 'cidrs that overlap ::/16 are refused: their blocks could not be named',
    },
  ],
};

const usage = {
  capacity: integer('Blocks in all.'),
  assigned: integer('Blocks that nodes hold.'),
  free: integer('Blocks that could be handed out now.'),
  cooling: integer('Blocks that rest after their node is gone.'),
};

const ipPoolStatus: Schema = {
  type: 'object',
  properties: {
    observedGeneration: { type: 'integer', format: 'int64' },
    // Of the family that runs out first; each CIDR's own figures are below.
    ...usage,
    cidrs: {
      type: 'array',
      maxItems: maxCidrs * 2,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['cidr'],
        properties: { cidr: { type: 'string', maxLength: 43 }, ...usage },
      },
    },
    conditions,
  },
};

const nodeBlockSpec: Schema = {
  type: 'object',
  required: ['cidr', 'pool'],
  properties: {
    cidr: cidr('The block. The object is named after it.'),
    pool: string('The pool it was cut from or adopted into.', { maxLength: 253 }),
    node: {
      type: 'object',
      description: 'The node that holds the block.',
      required: ['name', 'uid'],
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 253 },
        uid: { type: 'string', maxLength: 128 },
      },
    },
    phase: {
      type: 'string',
      description:
        'Active: in use. Draining: given back as soon as the node has emptied it. Cooling: the node is gone, the block rests. Guard: a cell kept out of use because odd-sized blocks lie in it.',
      enum: ['Active', 'Draining', 'Cooling', 'Guard'],
      default: 'Active',
    },
    coolingSince: { type: 'string', format: 'date-time' },
    guards: {
      type: 'array',
      maxItems: 1024,
      'x-kubernetes-list-type': 'set',
      items: { type: 'string', maxLength: 43 },
    },
  },
  'x-kubernetes-validations': [
    { rule: 'self.cidr == oldSelf.cidr', message: 'cidr is fixed' },
    {
      rule: "self.phase == 'Guard' ? !has(self.node) && has(self.guards) : has(self.node) && !has(self.guards)",
      message: 'a Guard names the blocks it guards and no node; every other phase names its node',
    },
    {
      rule: "(self.phase == 'Guard') == (oldSelf.phase == 'Guard')",
      message: 'a Guard stays a Guard',
    },
    {
      rule: "self.phase != 'Cooling' || has(self.coolingSince)",
      message: 'a Cooling block says since when',
    },
    {
      rule: '!has(self.node) || !has(oldSelf.node) || self.node.name == oldSelf.node.name',
      message: 'a block never passes from one node to another; it is released first',
    },
  ],
};

const nodeReportSpec: Schema = {
  type: 'object',
  required: ['nodeUID'],
  properties: {
    nodeUID: { type: 'string', maxLength: 128 },
    neededAddresses: {
      type: 'object',
      description: 'How many pod addresses the node needs, in use and kept ready.',
      properties: {
        ipv4: { type: 'integer', format: 'int64', minimum: 0 },
        ipv6: { type: 'integer', format: 'int64', minimum: 0 },
      },
    },
    releases: {
      type: 'array',
      description:
        'NodeBlocks that the agent has emptied and gives back, each with the uid of the object, so that a late word cannot free a newer block of the same CIDR.',
      maxItems: 4096,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['cidr'],
      items: {
        type: 'object',
        required: ['cidr', 'uid'],
        properties: {
          cidr: { type: 'string', maxLength: 43 },
          uid: { type: 'string', minLength: 1, maxLength: 128 },
        },
      },
    },
  },
};

const ready = '.status.conditions[?(@.type=="Ready")].status';
const readyReason = '.status.conditions[?(@.type=="Ready")].reason';

export const ipPoolCrd = crd(
  'IPPool',
  'ippools',
  ['ipp'],
  {
    spec: ipPoolSpec,
    status: ipPoolStatus,
    rules: [
      {
        rule: '!has(oldSelf.status) || !has(oldSelf.status.cidrs) || oldSelf.status.cidrs.all(u, !has(u.assigned) || (u.assigned == 0 && u.cooling == 0) || self.spec.cidrs.exists(c, c == u.cidr) || self.spec.cidrs.exists(c, isCIDR(c) && cidr(c).containsCIDR(u.cidr)))',
        message: 'cidrs that nodes hold blocks of may not be taken out of the pool',
      },
    ],
  },
  [
    { name: 'CIDRs', type: 'string', jsonPath: '.spec.cidrs' },
    { name: 'Assigned', type: 'integer', jsonPath: '.status.assigned' },
    { name: 'Free', type: 'integer', jsonPath: '.status.free' },
    { name: 'Capacity', type: 'integer', jsonPath: '.status.capacity' },
    { name: 'Cooling', type: 'integer', jsonPath: '.status.cooling', priority: 1 },
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority', priority: 1 },
    { name: 'Ready', type: 'string', jsonPath: ready },
  ],
);

export const nodeBlockCrd = crd(
  'NodeBlock',
  'nodeblocks',
  ['nb'],
  {
    spec: nodeBlockSpec,
    status: { type: 'object', properties: { conditions } },
    rules: [
      {
        rule: "self.metadata.name == self.spec.cidr.replace('.', '-').replace(':', '-').replace('/', '-')",
        message: 'a NodeBlock is named after its CIDR, with dashes for dots, colons and the slash',
      },
    ],
  },
  [
    { name: 'CIDR', type: 'string', jsonPath: '.spec.cidr' },
    { name: 'Pool', type: 'string', jsonPath: '.spec.pool' },
    { name: 'Node', type: 'string', jsonPath: '.spec.node.name' },
    { name: 'Phase', type: 'string', jsonPath: '.spec.phase' },
  ],
);

export const nodeReportCrd = crd(
  'NodeReport',
  'nodereports',
  ['nr'],
  { spec: nodeReportSpec, status: nodeReportStatus },
  [
    { name: 'Needs v4', type: 'integer', jsonPath: '.spec.neededAddresses.ipv4' },
    { name: 'Needs v6', type: 'integer', jsonPath: '.spec.neededAddresses.ipv6' },
    { name: 'Ready', type: 'string', jsonPath: ready },
    { name: 'Reason', type: 'string', jsonPath: readyReason },
    { name: 'Blocks', type: 'string', jsonPath: '.status.blocks[*].cidr', priority: 1 },
    { name: 'Sessions', type: 'string', jsonPath: '.status.sessions[*].state', priority: 1 },
  ],
);

export const crds = [
  ipPoolCrd,
  nodeBlockCrd,
  nodeReportCrd,
  bgpPeerCrd,
  bgpAdvertisementCrd,
  blockHistoryCrd,
  nodeMigrationCrd,
  loadBalancerPoolCrd,
  serviceAddressCrd,
];
