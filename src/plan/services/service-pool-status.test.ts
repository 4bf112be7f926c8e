import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import type { LoadBalancerPool } from '../../model/load-balancer-pool.ts';
import { Address } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';
import { HeldAddresses } from './held-addresses.ts';
import { desiredServicePoolStatus } from './service-pool-status.ts';
import { holds, ServicePoolSet } from './service-pools.ts';

const first = { ipv4: 0x0a060000n, ipv6: 0xfd00n << 112n };
const address = (family: Family, at: number) =>
  Address.fromBigInt(family, first[family] + BigInt(at));

function pool(name: string, ranges: ReadonlyArray<readonly [Family, number, number]>) {
  return {
    name,
    ranges: ranges.map(([family, from, more]) => {
      const [one, other] = [address(family, from).toString(), address(family, from + more)];
      return { family, first: one, last: `${other}`, text: `${one}-${other}` };
    }),
    createdMs: 0,
    priority: 0,
    serviceSelector: undefined,
    autoAssign: true,
    avoidBuggyIps: false,
    disabled: false,
    advertisements: [],
  } satisfies LoadBalancerPool;
}

const before = { generation: 1, status: undefined };
const now = '2026-01-01T00:00:00Z';

const family = fc.constantFrom<Family>('ipv4', 'ipv6');
const ranges = fc.array(fc.tuple(family, fc.nat(120), fc.nat(30)), { minLength: 1, maxLength: 4 });
const addresses = fc.array(fc.tuple(family, fc.nat(150)));

test('as many are assigned as addresses lie in the pool, whatever came and went', () => {
  fc.assert(
    fc.property(fc.array(ranges, { maxLength: 6 }), addresses, addresses, (pools, came, gone) => {
      const set = new ServicePoolSet(pools.map((one, at) => pool(`lb-${at}`, one)));
      const held = new HeldAddresses(came.map(([of, at]) => address(of, at)));
      const left = came.map(([of, at]) => address(of, at));
      for (const [of, at] of gone) {
        const one = address(of, at);
        held.remove(one);
        const found = left.findIndex((other) => other.equals(one));
        if (found >= 0) left.splice(found, 1);
      }
      for (const one of set.pools) {
        const status = desiredServicePoolStatus(set, one.name, held, before, now);
        expect(status?.assigned).toBe(left.filter((other) => holds(one, other)).length);
      }
    }),
    { numRuns: runs(300) },
  );
});

test('the status of a thousand pools reads each address once', () => {
  const count = 1_000;
  let steps = 0;
  const counted = (target: Address) =>
    new Proxy(target, {
      get(from, key) {
        if (key === 'toBigInt') steps++;
        const value = Reflect.get(from, key, from);
        return typeof value === 'function' ? value.bind(from) : value;
      },
    });
  const pools = Array.from({ length: count }, (_, at) => pool(`lb-${at}`, [['ipv4', at * 4, 3]]));
  const set = new ServicePoolSet(pools);
  const held = new HeldAddresses(pools.map((_, at) => counted(address('ipv4', at * 4 + (at % 4)))));
  for (const { name } of pools) {
    expect(desiredServicePoolStatus(set, name, held, before, now)).toMatchObject({
      assigned: 1,
      free: 3,
    });
  }
  expect(steps).toBe(count);
});
