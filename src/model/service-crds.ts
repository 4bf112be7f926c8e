import { conditions, crd, integer, nodeSelector, type Schema, string } from './crd.ts';

/**
 * LoadBalancerPool: addresses for Services of type LoadBalancer. ServiceAddress:
 * the register's entry for one of them, named after the address, so that the API
 * server refuses to give it a second time (see decision 0011).
 */
export const maxRanges = 64;

const range = string('A CIDR, or first-last: 192.0.2.0/28, 192.0.2.10-192.0.2.20.', {
  maxLength: 91,
  'x-kubernetes-validations': [
    {
      rule: "isCIDR(self) || (self.split('-').size() == 2 && isIP(self.split('-')[0]) && isIP(self.split('-')[1]) && ip(self.split('-')[0]).family() == ip(self.split('-')[1]).family())",
      messageExpression:
        "'\"' + self + '\" is neither a CIDR nor a range such as 192.0.2.10-192.0.2.20'",
    },
  ],
});

const loadBalancerPoolSpec: Schema = {
  type: 'object',
  required: ['addresses'],
  properties: {
    addresses: {
      type: 'array',
      description: 'The addresses of the pool, of either family, given in this order.',
      minItems: 1,
      maxItems: maxRanges,
      'x-kubernetes-list-type': 'atomic',
      items: range,
    },
    serviceSelector: nodeSelector('Which Services it serves, by label. Absent or empty: all.'),
    autoAssign: {
      type: 'boolean',
      description: 'Whether it serves Services that ask for neither the pool nor an address of it.',
      default: true,
    },
    avoidBuggyIPs: {
      type: 'boolean',
      description: 'Leave out IPv4 addresses that end in .0 and .255.',
      default: false,
    },
    priority: integer('Among pools that fit a Service the highest is asked first.', {
      default: 0,
      minimum: -1000000000,
      maximum: 1000000000,
    }),
    disabled: { type: 'boolean', description: 'Serve no new Service.', default: false },
    aggregationLength: {
      type: 'object',
      description:
        'Announce the prefix of this length around an address, as long as it lies inside the pool. Absent: the address alone.',
      properties: {
        ipv4: { type: 'integer', minimum: 1, maximum: 32 },
        ipv6: { type: 'integer', minimum: 1, maximum: 128 },
      },
    },
  },
};

const loadBalancerPoolStatus: Schema = {
  type: 'object',
  properties: {
    observedGeneration: { type: 'integer', format: 'int64' },
    capacity: integer('Addresses in all.'),
    assigned: integer('Addresses that Services hold.'),
    free: integer('Addresses that could be given now.'),
    conditions,
  },
};

const serviceAddressSpec: Schema = {
  type: 'object',
  required: ['address', 'pool', 'service'],
  properties: {
    address: string('The address. The object is named after it.', {
      maxLength: 45,
      'x-kubernetes-validations': [
        {
          rule: 'isIP(self) && string(ip(self)) == self',
          messageExpression: "'\"' + self + '\" is not an IP address in its canonical form'",
        },
      ],
    }),
    pool: string('The pool it was given from.', { maxLength: 253 }),
    service: {
      type: 'object',
      description: 'The Service that holds it.',
      required: ['namespace', 'name', 'uid'],
      properties: {
        namespace: { type: 'string', minLength: 1, maxLength: 253 },
        name: { type: 'string', minLength: 1, maxLength: 253 },
        uid: { type: 'string', minLength: 1, maxLength: 128 },
      },
    },
  },
  'x-kubernetes-validations': [
    {
      rule: 'self.address == oldSelf.address && self.service == oldSelf.service',
      message: 'an address never passes from one Service to another; it is released first',
    },
  ],
};

export const loadBalancerPoolCrd = crd(
  'LoadBalancerPool',
  'loadbalancerpools',
  ['lbp'],
  { spec: loadBalancerPoolSpec, status: loadBalancerPoolStatus },
  [
    { name: 'Addresses', type: 'string', jsonPath: '.spec.addresses' },
    { name: 'Assigned', type: 'integer', jsonPath: '.status.assigned' },
    { name: 'Free', type: 'integer', jsonPath: '.status.free' },
    { name: 'Capacity', type: 'integer', jsonPath: '.status.capacity' },
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority', priority: 1 },
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
    },
  ],
);

export const serviceAddressCrd = crd(
  'ServiceAddress',
  'serviceaddresses',
  ['svcaddr'],
  {
    spec: serviceAddressSpec,
    status: { type: 'object', properties: { conditions } },
    rules: [
      {
        rule: "self.metadata.name == self.spec.address.replace('.', '-').replace(':', '-') + (self.spec.address.contains(':') ? '-128' : '-32')",
        message:
          'a ServiceAddress is named after its address, with dashes for dots and colons, and -32 or -128 behind',
      },
    ],
  },
  [
    { name: 'Address', type: 'string', jsonPath: '.spec.address' },
    { name: 'Pool', type: 'string', jsonPath: '.spec.pool' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.service.namespace' },
    { name: 'Service', type: 'string', jsonPath: '.spec.service.name' },
  ],
);
