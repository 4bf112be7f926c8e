import { describe, expect, test } from 'vitest';
import {
  at,
  block,
  blockObject,
  ciliumNodeObject,
  claimsOf,
  guard,
  nodeObject,
  pool,
  poolObject,
  put,
  registerOf,
  second,
} from '../../../test/register/objects.ts';
import { readCiliumNode } from '../../model/cilium-node.ts';
import { holdingSources } from './holdings.ts';
import { Register } from './register.ts';

describe('who claims what', () => {
  test('a node its registered blocks, in every phase', () => {
    const register = registerOf([
      blockObject('10.0.0.0/24', 'a'),
      blockObject('10.0.1.0/24', 'a', { phase: 'Draining' }),
      blockObject('10.0.2.0/24', 'gone', { phase: 'Cooling' }),
    ]);
    expect(claimsOf(register)).toEqual([
      '10.0.0.0/24 node/a',
      '10.0.1.0/24 node/a',
      '10.0.2.0/24 node/gone',
    ]);
  });

  test('a node what its most trusted record says, and a shadow what the others say', () => {
    const register = registerOf([
      nodeObject('a', {
        podCIDRs: ['10.0.1.0/24'],
        annotations: { 'network.cilium.io/ipv4-pod-cidr': '10.0.2.0/24' },
      }),
      ciliumNodeObject('a', ['10.0.0.0/24']),
    ]);
    expect(claimsOf(register)).toEqual([
      '10.0.0.0/24 node/a',
      '10.0.1.0/24 shadow/a',
      '10.0.2.0/24 shadow/a',
    ]);
  });

  test('only a shadow where there is no such node, or where its block is another', () => {
    expect(claimsOf(registerOf([ciliumNodeObject('gone', ['10.0.0.0/24'])]))).toEqual([
      '10.0.0.0/24 shadow/gone',
    ]);
    const disagreeing = [
      nodeObject('a', { podCIDRs: ['10.0.1.0/24'] }),
      blockObject('10.0.0.0/24', 'a'),
    ];
    expect(claimsOf(registerOf(disagreeing))).toEqual([
      '10.0.0.0/24 node/a',
      '10.0.1.0/24 shadow/a',
    ]);
  });

  test('what is only cooling does not make a record of the node a mere shadow', () => {
    const register = registerOf([
      nodeObject('a', { podCIDRs: ['10.0.1.0/24'] }),
      blockObject('10.0.0.0/24', 'a', { phase: 'Cooling' }),
    ]);
    expect(claimsOf(register)).toEqual(['10.0.0.0/24 node/a', '10.0.1.0/24 node/a']);
  });

  test('records are read only from the sources that were asked for', () => {
    const objects = [
      nodeObject('a', { podCIDRs: ['10.0.1.0/24'] }),
      ciliumNodeObject('a', ['10.0.0.0/24']),
    ];
    expect(claimsOf(registerOf(objects, ['spec']))).toEqual(['10.0.1.0/24 node/a']);
    expect(claimsOf(registerOf(objects, []))).toEqual([]);
  });

  test('a write under way, until it is done or given up', () => {
    const register = new Register(holdingSources);
    register.reserve('a', at('10.0.0.0/24'));
    register.reserve('a', at('fd00::/64'));
    expect(claimsOf(register)).toEqual(['10.0.0.0/24 node/a', 'fd00::/64 node/a']);
    register.putBlock(block('10.0.0.0/24', 'a'));
    register.unreserve('a', at('10.0.0.0/24'));
    register.unreserve('a', at('fd00::/64'));
    expect(claimsOf(register)).toEqual(['10.0.0.0/24 node/a']);
  });
});

describe('when objects change', () => {
  test('claims follow, and removal leaves nothing behind', () => {
    const register = registerOf([
      poolObject('p', { cidrs: ['10.0.0.0/16'], reserved: ['10.0.9.0/24'] }),
      nodeObject('a', { podCIDRs: ['10.0.1.0/24'] }),
      ciliumNodeObject('a', ['10.0.0.0/24']),
      blockObject('10.0.0.0/24', 'a'),
    ]);
    register.putBlock(guard('10.0.5.0/24', ['10.0.5.0/27']));
    register.putCiliumNode(readCiliumNode(ciliumNodeObject('a', ['10.0.3.0/24'])));
    expect(claimsOf(register)).toEqual([
      '10.0.0.0/24 node/a',
      '10.0.1.0/24 shadow/a',
      '10.0.3.0/24 shadow/a',
      '10.0.5.0/24 guard/10-0-5-0-24',
      '10.0.9.0/24 pool/p',
    ]);
    register.removeCiliumNode('a');
    register.removeNode('a');
    register.removeBlock('10-0-0-0-24');
    register.removeBlock('10-0-5-0-24');
    register.removePool('p');
    register.removeBlock('never there');
    expect(claimsOf(register)).toEqual([]);
    expect(register.blocksOf('a')).toEqual([]);
    expect(register.blocksOfPool('p').size).toBe(0);
  });

  test('a name that passes from one node to another takes its claim along', () => {
    const register = registerOf([blockObject('10.0.0.0/24', 'a')]);
    put(register, blockObject('10.0.0.0/24', 'b'));
    expect(claimsOf(register)).toEqual(['10.0.0.0/24 node/b']);
    expect(register.blocksOf('a')).toEqual([]);
  });

  test('a name that passes from a guard to a node leaves no guard behind, and back', () => {
    const register = new Register(holdingSources);
    register.putBlock(guard('10.0.0.0/24', ['10.0.0.0/27']));
    register.putBlock(block('10.0.0.0/24', 'a'));
    expect(claimsOf(register)).toEqual(['10.0.0.0/24 node/a']);
    register.putBlock(guard('10.0.0.0/24', ['10.0.0.0/27']));
    expect(claimsOf(register)).toEqual(['10.0.0.0/24 guard/10-0-0-0-24']);
    register.removeBlock('10-0-0-0-24');
    expect(claimsOf(register)).toEqual([]);
  });

  test('blocks come oldest first, then lowest first', () => {
    const register = registerOf([
      blockObject('10.0.2.0/24', 'a', { created: 5 }),
      blockObject('10.0.1.0/24', 'a', { created: 5 }),
      blockObject('10.0.9.0/24', 'a', { created: 1 }),
    ]);
    expect(register.blocksOf('a').map(({ prefix }) => prefix.toString())).toEqual([
      '10.0.9.0/24',
      '10.0.1.0/24',
      '10.0.2.0/24',
    ]);
  });
});

describe('what pools reserve', () => {
  test('counts only on their own land', () => {
    const register = registerOf([
      poolObject('a', { cidrs: ['10.0.0.0/24'], reserved: ['10.0.0.0/8', 'fd00::/64'] }),
      poolObject('b', { cidrs: ['10.1.0.0/24'] }),
    ]);
    expect(claimsOf(register)).toEqual(['10.0.0.0/24 pool/a']);
  });

  test('counts only while the pool may serve: a new pool must not stop an old one', () => {
    const old = poolObject('old', { cidrs: ['10.0.0.0/16'] }, { creationTimestamp: second(1) });
    const young = poolObject(
      'young',
      { cidrs: ['10.0.0.0/16'], reserved: ['10.0.0.0/17'] },
      { creationTimestamp: second(2) },
    );
    const register = registerOf([old, young]);
    expect(claimsOf(register)).toEqual([]);
    register.removePool('old');
    expect(claimsOf(register)).toEqual(['10.0.0.0/17 pool/young']);
    put(register, old);
    expect(claimsOf(register)).toEqual([]);
  });
});

describe('networks that no pool may overlap', () => {
  const services = [{ name: 'Services', prefix: at('10.96.0.0/12') }];

  test('judge the pools when they come and when they go', () => {
    const register = registerOf([poolObject('p', { cidrs: ['10.100.0.0/16'] })]);
    register.putNetworks(services);
    expect(register.poolSet.problem('p')?.reason).toBe('OverlapsNetwork');
    register.putNetworks([]);
    expect(register.poolSet.problem('p')).toBeUndefined();
  });
});

describe('which blocks are a pool’s', () => {
  const names = (register: Register, name: string) =>
    [...register.blocksOfPool(name)].map((one) => one.prefix.toString()).sort();

  test('those that lie in it, whatever they were cut from: a change of mode loses none', () => {
    const register = registerOf([
      blockObject('10.0.0.0/24', 'a', { pool: 'cluster-pool' }),
      blockObject('10.0.1.0/24', 'b', { pool: 'p' }),
      blockObject('172.16.0.0/24', 'c', { pool: 'p' }),
    ]);
    expect(names(register, 'cluster-pool')).toEqual(['10.0.0.0/24']);
    register.putPool(pool('p', { cidrs: ['10.0.0.0/16'] }));
    expect(names(register, 'p')).toEqual(['10.0.0.0/24', '10.0.1.0/24', '172.16.0.0/24']);
    expect(names(register, 'cluster-pool')).toEqual([]);
    register.putPool(pool('q', { cidrs: ['172.16.0.0/16'] }));
    expect(names(register, 'q')).toEqual(['172.16.0.0/24']);
    put(register, blockObject('10.0.2.0/24', 'd', { pool: 'whatever' }));
    register.removeBlock('10-0-1-0-24');
    expect(names(register, 'p')).toEqual(['10.0.0.0/24', '10.0.2.0/24']);
  });
});
