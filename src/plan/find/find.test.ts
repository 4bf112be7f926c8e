import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  block,
  node,
  nowMs,
  pool,
  report,
  route,
  router,
  session,
} from '../../../test/doctor/worlds.ts';
import { runs } from '../../../test/parts/random.ts';
import { emptyState } from '../../model/cluster-state.ts';
import type { Block } from '../../model/node-block.ts';
import { Address, parseAddress } from '../../net/address.ts';
import { evidenceOf } from '../doctor/evidence.ts';
import { survey } from '../doctor/survey.ts';
import { holderOf, holderWords } from './address-holder.ts';
import { ClusterIndex } from './cluster-index.ts';
import { describeSubject } from './describe-subject.ts';
import { findSubjects } from './find-subjects.ts';

const pod = (name: string, at: string, address: string) => ({
  name,
  uid: name,
  resourceVersion: '',
  namespace: 'default',
  node: at,
  addresses: [address],
});

const state = {
  ...emptyState,
  mode: 'ip-pool' as const,
  nodes: [node('a', '10.0.0.1'), node('b', '10.0.0.2')],
  pools: [pool('all', ['10.1.0.0/16'], { ipv4: 24 })],
  blocks: [
    block('10.1.0.0/24', 'a'),
    block('10.1.1.0/24', 'b'),
    block('10.1.2.0/24', 'gone', { phase: 'Cooling', coolingSinceMs: nowMs }),
  ],
  reports: [
    report('a', { sessions: [session('tor1', '10.0.0.1', '10.1.0.0/24', '192.0.2.7/32')] }),
  ],
  pods: [pod('web-1', 'a', '10.1.0.7'), pod('web-12', 'b', '10.1.1.9')],
  serviceAddresses: [
    {
      name: '192-0-2-7-32',
      uid: 's',
      resourceVersion: '',
      address: parseAddress('192.0.2.7')!,
      pool: 'public',
      service: 'default/shop',
      serviceUid: 'u',
      createdMs: nowMs,
      deleting: false,
    },
  ],
};
const evidence = evidenceOf(state, {
  nowMs,
  routers: [router('tor1', [route('10.1.0.0/24', '10.0.0.1')], { addresses: ['10.0.0.250'] })],
});
const index = new ClusterIndex(survey(evidence));
const who = (text: string) => holderWords(holderOf(index, parseAddress(text)!));

describe('who has an address', () => {
  test.each([
    ['10.1.0.7', '10.1.0.7 is the address of pod default/web-1 on a'],
    ['10.1.0.8', '10.1.0.8 lies in 10.1.0.0/24 of a'],
    ['10.1.2.8', "10.1.2.8 is nobody's: 10.1.2.0/24 of gone is in cool-down"],
    ['10.1.9.1', '10.1.9.1 is free; it lies in pool all'],
    ['10.0.0.2', '10.0.0.2 is the address of node b itself'],
    ['192.0.2.7', '192.0.2.7 is the address of Service default/shop'],
    ['203.0.113.1', '203.0.113.1 lies in no pool'],
  ])('%s', (address, words) => expect(who(address)).toBe(words));

  test('for random addresses of random registers it is the node of the NodeBlock around it', () => {
    const cell = fc.nat({ max: 255 });
    const world = fc.uniqueArray(fc.tuple(cell, fc.nat({ max: 19 })), {
      maxLength: 60,
      selector: ([at]) => at,
    });
    fc.assert(
      fc.property(
        world,
        fc.array(fc.nat({ max: 2 ** 16 - 1 }), { maxLength: 100 }),
        (cells, at) => {
          const nodes = Array.from({ length: 20 }, (_, n) => node(`n${n}`, `10.0.0.${n + 1}`));
          const blocks: Block[] = cells.map(([third, n]) => block(`10.1.${third}.0/24`, `n${n}`));
          const asked = new ClusterIndex(
            survey(evidenceOf({ ...state, nodes, blocks, pods: [], reports: [] }, { nowMs })),
          );
          for (const offset of at) {
            const address = Address.fromBigInt('ipv4', 0x0a_01_00_00n + BigInt(offset));
            const right = blocks.find((one) => one.prefix.contains(address))?.nodeName ?? '';
            expect(holderOf(asked, address).node).toBe(right);
          }
        },
      ),
      { numRuns: runs(50) },
    );
  });

  test('where nothing is registered the owner is the one by the record that is the truth', () => {
    const byNode = evidenceOf(
      {
        ...emptyState,
        mode: 'kubernetes' as const,
        nodes: [node('a', '10.0.0.1', { podCidrs: ['10.9.0.0/24'] })],
      },
      { nowMs },
    );
    const found = holderOf(new ClusterIndex(survey(byNode)), parseAddress('10.9.0.77')!);
    expect(found).toMatchObject({ node: 'a', block: '10.9.0.0/24', isHeld: true });
  });
});

describe('one box', () => {
  const found = (text: string) =>
    findSubjects(index, text).map(({ subject: { kind, name } }) => `${kind} ${name}`);

  test.each([
    ['10.1.0.7', ['address 10.1.0.7', 'pod default/web-1', 'node a', 'block 10.1.0.0/24']],
    ['10.1.1.0/24', ['block 10.1.1.0/24']],
    ['web-1', ['pod default/web-1', 'pod default/web-12']],
    ['shop', ['service default/shop']],
    ['TOR', ['router tor1']],
    ['all', ['pool all']],
    ['pod/web-12', ['pod default/web-12']],
    ['nobody', []],
    [' ', []],
  ])('%s', (text, subjects) => expect(found(text)).toEqual(subjects));

  test('a prefix around blocks finds them', () => {
    expect(found('10.1.0.0/16')).toEqual([
      'prefix 10.1.0.0/16',
      'block 10.1.0.0/24',
      'block 10.1.1.0/24',
      'block 10.1.2.0/24',
    ]);
  });

  test('everything that it finds can be described', () => {
    for (const text of ['10.1', 'a', 'tor', 'web', 'shop', '10.1.0.7', '10.1.0.0/16']) {
      for (const { subject } of findSubjects(index, text)) {
        expect(describeSubject(index, subject), JSON.stringify(subject)).toBeDefined();
      }
    }
  });
});

describe('what is known of it', () => {
  const facts = (kind: 'block' | 'router' | 'service' | 'pod', name: string) => {
    const answer = describeSubject(index, { kind, name })!;
    return {
      ...Object.fromEntries(answer.facts.map((one) => [one.name, one.cells[0]?.text])),
      ...Object.fromEntries(answer.lists.map(({ title, rows }) => [title, rows.length])),
    };
  };

  test('a block has an owner, pods by name, and routers that hold it', () => {
    expect(facts('block', '10.1.0.0/24')).toEqual({
      node: 'a',
      phase: 'Active',
      pool: 'all',
      pods: '1',
      Pods: 1,
      'In the routers’ tables': 1,
    });
  });

  test('a router has sessions and a table', () => {
    expect(facts('router', 'tor1')).toMatchObject({
      'sessions up': '1 of 1',
      Sessions: 1,
      'In its table': 1,
    });
  });

  test('a Service has an address, and nodes that announce it', () => {
    expect(facts('service', 'default/shop')).toMatchObject({
      address: '192.0.2.7',
      'Announced by': 1,
    });
  });

  test('a pod has a node, a block and a pool', () => {
    expect(facts('pod', 'default/web-1')).toMatchObject({ block: '10.1.0.0/24', pool: 'all' });
  });

  test('what is not there has no description', () => {
    expect(describeSubject(index, { kind: 'pod', name: 'default/none' })).toBeUndefined();
  });
});
