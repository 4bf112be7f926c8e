import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { type LoadBalancerPool, readLoadBalancerPool } from '../../model/load-balancer-pool.ts';
import type { KubeObject } from '../../model/object.ts';
import { type ClusterService, readService, serviceKey } from '../../model/service.ts';
import {
  readServiceAddress,
  type ServiceAddress,
  writeServiceAddress,
} from '../../model/service-address.ts';
import { type Address, parseAddress } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';
import {
  decideService,
  desiredIngress,
  isStillHeld,
  type ServiceDecision,
} from './decide-service.ts';
import { ServicePoolSet } from './service-pools.ts';

function pool(name: string, spec: object, created = '2026-01-01T00:00:00Z'): LoadBalancerPool {
  const read = readLoadBalancerPool({ metadata: { name, creationTimestamp: created }, spec });
  if (read.kind === 'malformed') throw new Error(read.problems.join());
  return read.pool;
}

function service(name: string, spec: object = {}, more: Partial<KubeObject> = {}): ClusterService {
  const { metadata, ...rest } = more;
  return readService({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata },
    spec: { type: 'LoadBalancer', ipFamilies: ['IPv4'], ...spec },
    ...rest,
  });
}

function entry(text: string, of: ClusterService, poolName = 'lb'): ServiceAddress {
  const object = writeServiceAddress(parseAddress(text)!, poolName, of);
  return readServiceAddress({ ...object, metadata: { ...object.metadata, uid: text } })!;
}

interface Ask {
  held?: ServiceAddress[];
  pools?: LoadBalancerPool[];
  taken?: string[];
  mayAssign?: boolean;
}

function ask(of: ClusterService | undefined, given: Ask = {}): ServiceDecision {
  const { held = [], pools = [pool('lb', { addresses: ['10.6.0.0/30'] })], taken = [] } = given;
  return decideService({
    service: of,
    held,
    pools: new ServicePoolSet(pools),
    isTaken: (address) => taken.includes(address),
    mayAssign: given.mayAssign ?? true,
  });
}

const claimed = ({ claim }: ServiceDecision) => claim.map(({ address }) => `${address}`);
const reasons = ({ refused }: ServiceDecision) => refused.map(({ reason }) => reason);

test('the lowest free address of the best pool is claimed', () => {
  const pools = [
    pool('a', { addresses: ['10.6.0.0/30'] }),
    pool('b', { addresses: ['10.7.0.9-10.7.0.10', '10.7.0.0/31'], priority: 5 }),
    pool('quiet', { addresses: ['10.8.0.0/24'], autoAssign: false, priority: 9 }),
    pool('others', {
      addresses: ['10.9.0.0/24'],
      priority: 9,
      serviceSelector: { matchLabels: { a: 'b' } },
    }),
  ];
  expect(claimed(ask(service('web'), { pools }))).toEqual(['10.7.0.9']);
  const taken = ['10.7.0.9', '10.7.0.10'];
  expect(claimed(ask(service('web'), { pools, taken }))).toEqual(['10.7.0.0']);
  const all = [...taken, '10.7.0.0', '10.7.0.1'];
  expect(claimed(ask(service('web'), { pools, taken: all }))).toEqual(['10.6.0.0']);
  const wish = service(
    'w',
    {},
    { metadata: { annotations: { 'cadastre.dev/load-balancer-pool': 'quiet' } } },
  );
  expect(claimed(ask(wish, { pools }))).toEqual(['10.8.0.0']);
});

test('addresses that end in .0 and .255 are left out where the pool says so', () => {
  const pools = [pool('lb', { addresses: ['10.6.0.254-10.6.1.1'], avoidBuggyIPs: true })];
  expect(claimed(ask(service('web'), { pools, taken: ['10.6.0.254'] }))).toEqual(['10.6.1.1']);
});

describe('a Service keeps what it has', () => {
  const web = service('web');
  const held = [entry('10.6.0.2', web)];

  test.each([
    ['although a lower address is free', web, {}],
    ['although its pool is gone', web, { pools: [] }],
    [
      'although its pool is disabled',
      web,
      { pools: [pool('lb', { addresses: ['10.6.0.0/30'], disabled: true })] },
    ],
    [
      'although another pool is asked for',
      service(
        'web',
        {},
        { metadata: { annotations: { 'metallb.universe.tf/address-pool': 'b' } } },
      ),
      {},
    ],
    [
      'while the one it asks for is taken',
      service('web', { loadBalancerIP: '10.6.0.1' }),
      { taken: ['10.6.0.1'] },
    ],
    ['while the one it asks for is nonsense', service('web', { loadBalancerIP: '10.6.0' }), {}],
    ['until the one it asks for is its own', service('web', { loadBalancerIP: '10.6.0.1' }), {}],
  ] as const)('%s', (_, now, change) => {
    const { keep, free, replaced } = ask(now, { held, ...(change as Ask) });
    expect([keep, free, replaced]).toEqual([held, [], []]);
  });

  test('and once the one it asked for is its own, the other is replaced by it', () => {
    const both = [...held, entry('10.6.0.1', web)];
    const decision = ask(service('web', { loadBalancerIP: '10.6.0.1' }), { held: both });
    expect(decision.keep).toEqual([both[1]]);
    expect([decision.free, decision.replaced]).toEqual([[], [{ old: held[0], by: both[1] }]]);
  });
});

test.each([
  ['it is gone', undefined],
  ['it is of another type', service('web', { type: 'ClusterIP' })],
  ['it is of another class', service('web', { loadBalancerClass: 'example.com/x' })],
  ['it is another one of that name', service('web', {}, { metadata: { uid: 'other' } })],
  ['it has no such family any more', service('web', { ipFamilies: ['IPv6'] })],
])('an address is given back when %s', (_, now) => {
  const held = [entry('10.6.0.2', service('web'))];
  expect(ask(now, { held }).free).toEqual(held);
});

test('of two addresses that two leaders registered the one that is shown stays', () => {
  const ingress = { status: { loadBalancer: { ingress: [{ ip: '10.6.0.3' }] } } };
  const web = service('web', {}, ingress);
  const held = [entry('10.6.0.1', web), entry('10.6.0.3', web)];
  const { keep, free, replaced } = ask(web, { held });
  expect([keep, free]).toEqual([[held[1]], []]);
  expect(replaced).toEqual([{ old: held[0], by: held[1] }]);
});

test('what is shown already is taken over before anything new is given', () => {
  const shown = service('web', {}, { status: { loadBalancer: { ingress: [{ ip: '10.6.0.3' }] } } });
  expect(claimed(ask(shown, { mayAssign: false }))).toEqual(['10.6.0.3']);
  expect(claimed(ask(shown, { taken: ['10.6.0.3'] }))).toEqual(['10.6.0.0']);
  const fresh = ask(service('new'), { mayAssign: false });
  expect([claimed(fresh), reasons(fresh)]).toEqual([[], []]);
});

test.each([
  [
    'NoPoolFitsService',
    service('w'),
    { pools: [pool('a', { addresses: ['10.6.0.0/30'], autoAssign: false })] },
  ],
  ['AddressesExhausted', service('w'), { taken: ['10.6.0.0', '10.6.0.1', '10.6.0.2', '10.6.0.3'] }],
  ['FamilyNotServed', service('w', { ipFamilies: ['IPv6'] }), {}],
  [
    'PoolDisabled',
    service('w'),
    { pools: [pool('a', { addresses: ['10.6.0.0/30'], disabled: true })] },
  ],
  ['AddressTaken', service('w', { loadBalancerIP: '10.6.0.1' }), { taken: ['10.6.0.1'] }],
  ['AddressOutsidePools', service('w', { loadBalancerIP: '192.0.2.1' }), {}],
  [
    'MalformedRequest',
    service(
      'w',
      {},
      { metadata: { annotations: { 'lbipam.cilium.io/ips': '10.6.0.1, 10.6.0.2' } } },
    ),
    {},
  ],
] as const)('%s is said when it is so', (reason, of, change) => {
  const decision = ask(of, change as Ask);
  expect(reasons(decision)).toEqual([reason]);
  expect(decision.claim).toEqual([]);
});

test('without pools a Service is somebody else’s', () => {
  expect(ask(service('web'), { pools: [] })).toMatchObject({
    isOurs: false,
    claim: [],
    refused: [],
  });
});

test('dual stack: both, or what there is where one is enough', () => {
  const dual = { ipFamilies: ['IPv6', 'IPv4'] };
  const pools = [pool('lb', { addresses: ['10.6.0.0/30', 'fd00:6::/64'] })];
  expect(claimed(ask(service('w', dual), { pools }))).toEqual(['fd00:6::', '10.6.0.0']);
  expect(reasons(ask(service('w', dual)))).toEqual(['FamilyNotServed']);
  const content = service('w', { ...dual, ipFamilyPolicy: 'PreferDualStack' });
  expect(reasons(ask(content))).toEqual([]);
  expect(claimed(ask(content))).toEqual(['10.6.0.0']);
});

test('pools that overlap each other, or land of pods, serve nothing; reserved land may', () => {
  const cidr = (text: string) => parsePrefix(text)!;
  const old = pool('old', { addresses: ['10.6.0.0/24'] });
  const young = pool('young', { addresses: ['10.6.0.9-10.6.1.9'] }, '2026-02-01T00:00:00Z');
  const set = new ServicePoolSet([young, old]);
  expect(set.sound.map(({ name }) => name)).toEqual(['old']);
  expect(set.problem('young')?.detail).toBe(
    '10.6.0.9-10.6.1.9 of pool young overlaps 10.6.0.0/24 of pool old',
  );
  const land = { name: 'pool pods', prefix: cidr('10.0.0.0/8') };
  expect(new ServicePoolSet([old], [land]).problem('old')?.reason).toBe('OverlapsNetwork');
  const left = { ...land, reserved: [cidr('10.6.0.0/16')] };
  expect(new ServicePoolSet([old], [left]).problem('old')).toBeUndefined();
});

interface Step {
  name: string;
  what: 'make' | 'end' | 'wish' | 'retype' | 'decide';
  wish: number;
  /** How many changes ago this leader last heard of the register. */
  lag: number;
}

/**
 * Services come, go, ask and change in any order, decided by leaders with caches of
 * different age. The Service itself is read from the API server, as the operator does.
 */
function liveThrough(steps: readonly Step[]): void {
  const pools = new ServicePoolSet([pool('lb', { addresses: ['10.6.0.0/30'] })]);
  const services = new Map<string, ClusterService>();
  let register = new Map<string, ServiceAddress>();
  const past = [register];
  let serial = 0;
  /** By name, with the uid: who had an address, and has done nothing to lose it. */
  const served = new Map<string, string>();
  for (const { name, what, wish, lag } of steps) {
    if (what === 'make') served.delete(name);
    const uid = what === 'make' ? `u${++serial}` : (services.get(name)?.uid ?? '');
    const spec = what === 'wish' ? { loadBalancerIP: `10.6.0.${wish}` } : {};
    const type = what === 'retype' ? { type: 'ClusterIP' } : {};
    if (what === 'end') services.delete(name);
    else if (what === 'make' || (what !== 'decide' && services.has(name))) {
      services.set(name, service(name, { ...spec, ...type }, { metadata: { uid } }));
    } else if (what === 'decide') {
      const known = past[Math.min(lag, past.length - 1)]!;
      decideOnce(services.get(name), `default/${name}`, known);
    }
    if (what === 'retype' || what === 'end') served.delete(name);
    for (const [of, holder] of served) {
      const left = [...register.values()].filter(({ serviceUid }) => serviceUid === holder);
      expect(left.length, `${of} lost its address`).toBeGreaterThan(0);
    }
    for (const { service: of, serviceUid } of register.values()) {
      const now = services.get(of.split('/')[1]!);
      if (now?.isForUs && now.uid === serviceUid) served.set(now.name, now.uid);
    }
  }

  function change(edit: (next: Map<string, ServiceAddress>) => void): void {
    register = new Map(register);
    edit(register);
    past.unshift(register);
  }

  /** What the operator does with a decision, on an API server that fences by uid. */
  function decideOnce(of: ClusterService | undefined, key: string, known: typeof register): void {
    const { claim, free, replaced } = decideService({
      service: of,
      held: [...known.values()].filter((one) => one.service === key),
      pools,
      isTaken: (address) => (known.get(address)?.service ?? key) !== key,
      mayAssign: true,
    });
    for (const { address } of claim) {
      // The API server refuses a second object of the name.
      if (register.has(`${address}`)) continue;
      const made = { ...entry(`${address}`, of!), uid: `entry${++serial}` };
      change((next) => next.set(`${address}`, made));
    }
    const release = ({ address, uid }: ServiceAddress) => {
      if (register.get(`${address}`)?.uid !== uid) return;
      change((next) => next.delete(`${address}`));
    };
    for (const one of free) release(one);
    for (const { old, by } of replaced) {
      if (isStillHeld(by, register.get(`${by.address}`))) release(old);
    }
  }

  // Left alone, everybody who can be served is, and nobody else holds anything.
  for (let round = 0; round < 4; round++) {
    const keys = new Set([
      ...[...services.values()].map(serviceKey),
      ...[...register.values()].map((one) => one.service),
    ]);
    for (const key of keys) decideOnce(services.get(key.split('/')[1]!), key, register);
  }
  for (const one of register.values()) {
    const of = services.get(one.service.split('/')[1]!);
    expect(of?.uid).toBe(one.serviceUid);
    expect(of?.isForUs).toBe(true);
  }
  const held = (of: ClusterService) =>
    desiredIngress(
      of,
      [...register.values()].filter((one) => one.service === serviceKey(of)),
    );
  for (const of of services.values()) {
    if (of.isForUs && of.requested.length === 0) expect(held(of)).toHaveLength(1);
  }
}

test('in any life, and with leaders that hear late, a Service that has an address never lacks one', () => {
  const step = fc.record<Step>({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    what: fc.constantFrom('make', 'end', 'wish', 'retype', 'decide', 'decide', 'decide'),
    wish: fc.integer({ min: 0, max: 5 }),
    lag: fc.integer({ min: 0, max: 4 }),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 60, size: 'max' }), liveThrough), {
    numRuns: runs(300),
  });
});

test('a leader whose cache still has the wished address, released since, leaves the other one', () => {
  const step = (what: Step['what'], wish = 0, lag = 0): Step => ({ name: 'd', what, wish, lag });
  liveThrough([
    step('make'),
    step('wish', 3),
    step('decide'),
    step('wish', 0),
    step('decide'),
    step('decide'),
    step('wish', 3),
    // It knows 3 and 0; registered is 0 alone.
    step('decide', 0, 1),
  ]);
});

test('an address is never claimed that is taken, outside the pools, or of another family', () => {
  const address = fc.integer({ min: 0, max: 15 }).map((low) => `10.6.0.${low}`);
  fc.assert(
    fc.property(fc.uniqueArray(address), fc.option(address), (taken, wish) => {
      const spec = wish === null ? {} : { loadBalancerIP: wish };
      const pools = [pool('lb', { addresses: ['10.6.0.2-10.6.0.11'] })];
      const { claim, refused } = ask(service('w', spec), { pools, taken });
      const inside = (one: Address) =>
        one.w0 >= parseAddress('10.6.0.2')!.w0 && one.w0 <= parseAddress('10.6.0.11')!.w0;
      for (const { address: one } of claim) {
        expect(taken).not.toContain(`${one}`);
        expect(inside(one)).toBe(true);
        if (wish !== null) expect(`${one}`).toBe(wish);
      }
      expect(claim.length + refused.length).toBe(1);
    }),
  );
});
