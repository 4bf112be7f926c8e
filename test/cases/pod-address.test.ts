import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseAddress } from '../../src/net/address.ts';
import { parsePrefix } from '../../src/net/prefix.ts';
import { PodAddressSpace } from '../../src/plan/pod-address/pod-address.ts';

/** The cases of host-local's own allocator tests, as data. */
interface Case {
  readonly id: string;
  readonly subnets: readonly string[];
  readonly used?: readonly string[];
  readonly lastReserved?: string | null;
  readonly request?: string;
  readonly steps?: readonly string[];
  readonly expect: string;
}

const url = new URL('ipam/hostlocal_pod_ip.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(url, 'utf8')) as { cases: Case[] };

/** Where we answer something else than host-local, on purpose. */
const differences: { readonly [id: string]: { why: string; answer: string } } = {
  'hl-same-id-twice': {
    why: 'the choice knows no owners: a second request chooses again. The address book answers the same owner with the same address, because a client that lost the first answer asks again; the CNI server refuses a second ADD (src/agent/cni)',
    answer: '192.168.1.3',
  },
};

const words: { readonly [reason: string]: string } = {
  NoFreeAddress: 'ERR_FULL',
  AddressTaken: 'ERR_TAKEN',
};

function answer(given: Case): string {
  const space = new PodAddressSpace();
  space.setBlocks(given.subnets.map((text) => ({ prefix: parsePrefix(text)!, isDraining: false })));
  for (const used of given.used ?? []) space.take(parseAddress(used)!);
  if (given.lastReserved) space.setCursor(parseAddress(given.lastReserved)!);
  const family = given.subnets[0]?.includes(':') ? ('ipv6' as const) : ('ipv4' as const);
  const requested = given.request === undefined ? [] : [parseAddress(given.request)!];
  const get = () => {
    const choice = space.choose({ families: [family], requested }, 0);
    if (choice.kind === 'refused') return words[choice.reason] ?? choice.reason;
    const [address] = choice.addresses;
    space.take(address!);
    space.setCursor(address!);
    return address!.toString();
  };
  let last = '';
  for (const step of given.steps ?? ['get']) {
    if (step === 'release') space.release(parseAddress(last)!, 0, 0);
    else if (step.startsWith('get')) last = get();
    else throw new Error(`a step this test cannot read: ${step}`);
  }
  return last;
}

describe('host-local', () => {
  test('all 19 cases are there', () => {
    expect(cases).toHaveLength(19);
  });

  test.each(cases)('$id', (given) => {
    expect(answer(given)).toBe(differences[given.id]?.answer ?? given.expect);
  });
});
