import { type Family, families } from '../net/family.ts';
import { type Prefix, parsePrefix } from '../net/prefix.ts';
import { overlapsSpecialRange, specialRangeProblem, specialRanges } from '../net/special-ranges.ts';
import { type ResourceDefinition, readyStatus } from './crd.ts';
import { labelSelector } from './label-selector.ts';
import { unnameable } from './node-block.ts';
import { ipPools } from './resources.ts';
import * as field from './schema/field.ts';
import { type CelRule, ruled, type ValueOf } from './schema/schema.ts';

/**
 * Everything about an IPPool that the API server itself can refuse: CIDRs that
 * are not canonical, block sizes that do not fit, a pool that drops a CIDR in
 * use. What needs a look at other objects (pools that overlap each other) is
 * judged in plan/ and said in field.conditions.
 *
 * The CEL functions for CIDRs exist since Kubernetes 1.31. Lists are bounded so
 * that the cost of the rules is.
 */
const maxCidrs = 64;

const fitsFamily = (family: Family, number: 4 | 6): CelRule => ({
  rule: `self.cidrs.all(c, !isCIDR(c) || cidr(c).ip().family() != ${number} || (has(self.blockSize.${family}) && self.blockSize.${family} >= cidr(c).prefixLength()))`,
  message: `blockSize.${family} must be given for the ${family} cidrs and be no larger than any of them`,
});

const blockSizeIsFixed = {
  'x-kubernetes-validations': [
    {
      rule: '(!has(oldSelf.ipv4) || (has(self.ipv4) && self.ipv4 == oldSelf.ipv4)) && (!has(oldSelf.ipv6) || (has(self.ipv6) && self.ipv6 == oldSelf.ipv6))',
      message: 'blockSize is fixed; make a new pool for another size',
    },
  ],
} as const;

const shape = field.object('', ['cidrs', 'blockSize'], {
  cidrs: field.list(
    'The address space of the pool, of either family, used up in this order.',
    maxCidrs,
    field.cidr('A canonical CIDR, such as 10.5.112.0/21 or fd00:5::/48.'),
    { minItems: 1 },
  ),
  blockSize: field.lengths(
    'The prefix length of the block that a node gets, per family. Fixed.',
    blockSizeIsFixed,
  ),
  nodeSelector: labelSelector('Which nodes the pool serves. Absent or empty: every node.'),
  priority: field.integer('Among pools that select a node the highest wins.', field.priorityRange),
  reserved: field.list('Ranges that no block is cut from.', 256, field.cidr('A canonical CIDR.')),
  disabled: field.flag('Serve no new node.', { default: false }),
  cooldownSeconds: field.integer('How long a block is kept unused after its node is gone.', {
    default: 300,
    minimum: 0,
    maximum: 1_000_000_000,
  }),
  releaseByTimeSeconds: field.integer(
    'Release a block after so long although nobody says that its old node is off; agents that lose the API server fall silent after half of it. Absent: only where the node never had an agent, after 3600. 0: never.',
    { minimum: 0, maximum: 1_000_000_000 },
  ),
  maxBlocksPerNode: field.integer(
    'The most blocks of the pool that one node may hold, of one family; what its records claim beyond it is not adopted. Absent: 4.',
    { minimum: 1, maximum: 1_000_000 },
  ),
});

type IpPoolSpec = ValueOf<typeof shape>;

const specRules: CelRule[] = [
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
  {
    rule: `self.cidrs.all(c, !isCIDR(c) || !${overlapsSpecialRange('c')})`,
    message: `cidrs that overlap ${specialRanges.map(({ cidr }) => cidr).join(', ')} are refused: these are not for pods`,
  },
];

/** What `specRules` say, with the CIDRs at fault. */
function specProblems(spec: IpPoolSpec, path: string): string[] {
  const cidrs = spec.cidrs.map((text) => parsePrefix(text)!);
  return [
    ...families.flatMap((family) =>
      sizeProblem(spec, family, cidrs, `${path}.blockSize.${family}`),
    ),
    ...cidrs.flatMap((one, at) => {
      const where = `${path}.cidrs[${at}]`;
      const earlier = cidrs.slice(0, at).find((other) => other.overlaps(one));
      const nameless = unnameable(one);
      const special = specialRangeProblem(one);
      return [
        ...(earlier === undefined ? [] : [`${where} ${one} overlaps ${earlier}`]),
        ...(nameless === undefined ? [] : [`${where} ${nameless}`]),
        ...(special === undefined ? [] : [`${where} ${special}`]),
      ];
    }),
  ];
}

function sizeProblem(spec: IpPoolSpec, family: Family, cidrs: Prefix[], path: string): string[] {
  const own = cidrs.filter((one) => one.family === family);
  const size = spec.blockSize[family];
  if (own[0] === undefined) return [];
  if (typeof size !== 'number') return [`${path} is missing, but spec.cidrs has ${own[0]}`];
  const smaller = own.find((one) => one.length > size);
  return smaller === undefined ? [] : [`${path} is /${size}, larger than the CIDR ${smaller}`];
}

export const ipPoolSpec = { ...shape, ...ruled<IpPoolSpec>(specRules, specProblems) };

const usage = {
  capacity: field.integer('Blocks in all.'),
  assigned: field.integer('Blocks that nodes hold.'),
  free: field.integer('Blocks that could be handed out now.'),
  cooling: field.integer('Blocks in their cool-down after their node is gone.'),
  awaitingRelease: field.integer(
    'Blocks whose cool-down is over, but nobody says that their old node does not use them.',
  ),
};

export const ipPoolDefinition: ResourceDefinition = {
  resource: ipPools,
  shortName: 'ipp',
  revision: 9,
  digest: 'de3ce56ec870d8a3',
  spec: ipPoolSpec,
  status: field.object('', [], {
    observedGeneration: field.observedGeneration,
    // Of the family that runs out first; each CIDR's own figures are below.
    ...usage,
    cidrs: field.records(maxCidrs * 2, ['cidr'], { cidr: field.cidrText, ...usage }),
    conditions: field.conditions,
  }),
  rules: {
    'x-kubernetes-validations': [
      {
        rule: '!has(oldSelf.status) || !has(oldSelf.status.cidrs) || oldSelf.status.cidrs.all(u, !has(u.assigned) || (u.assigned == 0 && u.cooling == 0) || self.spec.cidrs.exists(c, c == u.cidr) || self.spec.cidrs.exists(c, isCIDR(c) && cidr(c).containsCIDR(u.cidr)))',
        message: 'cidrs that nodes hold blocks of may not be taken out of the pool',
      },
    ],
  },
  columns: [
    { name: 'CIDRs', type: 'string', jsonPath: '.spec.cidrs' },
    { name: 'Assigned', type: 'integer', jsonPath: '.status.assigned' },
    { name: 'Free', type: 'integer', jsonPath: '.status.free' },
    { name: 'Capacity', type: 'integer', jsonPath: '.status.capacity' },
    { name: 'Cooling', type: 'integer', jsonPath: '.status.cooling', priority: 1 },
    {
      name: 'Awaiting release',
      type: 'integer',
      jsonPath: '.status.awaitingRelease',
      priority: 1,
    },
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority', priority: 1 },
    { name: 'Ready', type: 'string', jsonPath: readyStatus },
  ],
};
