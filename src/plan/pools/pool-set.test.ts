import { describe, expect, test } from 'vitest';
import { at, pool, second } from '../../../test/register/objects.ts';
import { PoolSet } from './pool-set.ts';

const born = (seconds: number) => ({ creationTimestamp: second(seconds) });
const network = (name: string, cidr: string) => ({ name, prefix: at(cidr) });

describe('the order in which pools are asked', () => {
  const names = (set: PoolSet, labels = {}) => [...set.selecting(labels)].map(({ name }) => name);

  test('the highest priority comes first, whatever else', () => {
    const set = new PoolSet([
      pool('a', { cidrs: ['10.1.0.0/16'], labels: { rack: '83', zone: 'x' } }),
      pool('b', { cidrs: ['10.2.0.0/16'], priority: 1 }),
      pool('c', { cidrs: ['10.3.0.0/16'], priority: -1, labels: { rack: '83' } }),
    ]);
    expect(names(set, { rack: '83', zone: 'x' })).toEqual(['b', 'a', 'c']);
  });

  test('then the selector with more requirements, however they are spelled', () => {
    const set = new PoolSet([
      pool('all', { cidrs: ['10.1.0.0/16'] }),
      pool('one', { cidrs: ['10.2.0.0/16'], labels: { rack: '83' } }),
      pool('two', {
        cidrs: ['10.3.0.0/16'],
        selector: {
          matchLabels: { rack: '83' },
          matchExpressions: [{ key: 'gpu', operator: 'DoesNotExist' }],
        },
      }),
    ]);
    expect(names(set, { rack: '83' })).toEqual(['two', 'one', 'all']);
  });

  test('then the name, by code unit and not by locale', () => {
    const set = new PoolSet(
      ['b', 'a-2', 'a-10', 'Z'].map((name, n) => pool(name, { cidrs: [`10.${n}.0.0/16`] })),
    );
    expect(names(set)).toEqual(['Z', 'a-10', 'a-2', 'b']);
  });

  test('an absent selector and an empty one select every node, another only its own', () => {
    const set = new PoolSet([
      pool('absent', { cidrs: ['10.1.0.0/16'] }),
      pool('empty', { cidrs: ['10.2.0.0/16'], selector: {} }),
      pool('rack', { cidrs: ['10.3.0.0/16'], labels: { rack: '83' } }),
    ]);
    expect(names(set, {})).toEqual(['absent', 'empty']);
  });
});

describe('pools that overlap each other', () => {
  test('the older one is right; the younger one serves nothing and names the other', () => {
    const set = new PoolSet([
      pool('young', { cidrs: ['10.9.0.0/16', '10.0.4.0/22'] }, born(2)),
      pool('old', { cidrs: ['10.0.0.0/16'] }, born(1)),
    ]);
    expect(set.problem('old')).toBeUndefined();
    expect(set.problem('young')).toEqual({
      reason: 'OverlappingPools',
      detail: '10.0.4.0/22 of pool young overlaps 10.0.0.0/16 of pool old',
    });
  });

  test('of the same age the name decides, whatever the order they come in', () => {
    const [a, b] = [pool('a', { cidrs: ['10.0.0.0/16'] }), pool('b', { cidrs: ['10.0.0.0/16'] })];
    for (const pools of [
      [a, b],
      [b, a],
    ]) {
      const set = new PoolSet(pools);
      expect(set.problem('a')).toBeUndefined();
      expect(set.problem('b')?.detail).toBe('10.0.0.0/16 of pool b overlaps 10.0.0.0/16 of pool a');
    }
  });

  test('one that serves nothing stops nobody else', () => {
    const set = new PoolSet([
      pool('first', { cidrs: ['10.0.0.0/16'] }, born(1)),
      pool('second', { cidrs: ['10.0.0.0/15'] }, born(2)),
      pool('third', { cidrs: ['10.1.0.0/16'] }, born(3)),
    ]);
    expect(set.problem('second')?.reason).toBe('OverlappingPools');
    expect(set.problem('third')).toBeUndefined();
  });

  test('families never overlap each other', () => {
    const set = new PoolSet([
      pool('four', { cidrs: ['10.0.0.0/8'] }),
      pool('six', { cidrs: ['fd00::/16'] }),
    ]);
    expect(set.problem('four') ?? set.problem('six')).toBeUndefined();
  });
});

describe('pools that overlap the network of Services or of nodes', () => {
  const services = network('Service network 10.96.0.0/12', '10.96.0.0/12');

  test('serve nothing, and name it', () => {
    const set = new PoolSet([pool('p', { cidrs: ['10.0.0.0/8'] })], [services]);
    expect(set.problem('p')).toEqual({
      reason: 'OverlapsNetwork',
      detail: '10.0.0.0/8 of pool p overlaps 10.96.0.0/12 of Service network 10.96.0.0/12',
    });
  });

  test('serve if they reserve what they share, in one piece or in several', () => {
    const whole = pool('p', { cidrs: ['10.0.0.0/8'], reserved: ['10.96.0.0/12'] });
    const halves = pool('p', {
      cidrs: ['10.0.0.0/8'],
      reserved: ['10.96.0.0/13', '10.104.0.0/13'],
    });
    const part = pool('p', { cidrs: ['10.0.0.0/8'], reserved: ['10.96.0.0/13'] });
    expect(new PoolSet([whole], [services]).problem('p')).toBeUndefined();
    expect(new PoolSet([halves], [services]).problem('p')).toBeUndefined();
    expect(new PoolSet([part], [services]).problem('p')?.reason).toBe('OverlapsNetwork');
  });

  test('every CIDR of the pool is compared, not only the first that touches it', () => {
    const sneaky = pool('p', {
      cidrs: ['10.96.0.0/16', '10.97.0.0/16'],
      reserved: ['10.96.0.0/16'],
    });
    expect(new PoolSet([sneaky], [services]).problem('p')?.detail).toContain(
      '10.97.0.0/16 of pool p',
    );
  });

  test('a node that lives inside the pool is such a network', () => {
    const set = new PoolSet(
      [pool('p', { cidrs: ['10.4.0.0/16'] })],
      [network('node node1', '10.4.94.23/32')],
    );
    expect(set.problem('p')?.detail).toBe(
      '10.4.0.0/16 of pool p overlaps 10.4.94.23/32 of node node1',
    );
  });
});

describe('where a block belongs', () => {
  const set = new PoolSet([
    pool('old', { cidrs: ['10.0.0.0/16'] }, born(1)),
    pool('young', { cidrs: ['10.0.0.0/17', '10.7.0.0/16'] }, born(2)),
  ]);

  test('lies in the pool that may serve it, if two contain it', () => {
    expect(set.containing(at('10.0.1.0/24'))?.name).toBe('old');
    expect(set.containing(at('10.7.1.0/24'))?.name).toBe('young');
    expect(set.containing(at('10.8.0.0/24'))).toBeUndefined();
    expect(set.containing(at('10.0.0.0/15'))).toBeUndefined();
  });

  test('belongs to the pool it was cut from as long as that contains it', () => {
    expect(set.homeOf({ pool: 'young', prefix: at('10.0.1.0/24') })?.name).toBe('young');
    expect(set.homeOf({ pool: 'young', prefix: at('10.0.200.0/24') })?.name).toBe('old');
    expect(set.homeOf({ pool: 'cluster-pool', prefix: at('10.7.1.0/24') })?.name).toBe('young');
    expect(set.homeOf({ pool: 'old', prefix: at('10.8.0.0/24') })).toBeUndefined();
  });
});
