import { describe, expect, test } from 'vitest';
import type { Block } from '../../model/node-block.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { type BlockUseInput, blockUse, type HeldBlock, type RegisterView } from './block-use.ts';
import type { OwnedBlock } from './node-truth.ts';
import type { Hijack, RouterContact } from './router-contact.ts';

const cidr = '10.5.113.0/24';
const prefix = parsePrefix(cidr)!;
const up = Number.POSITIVE_INFINITY;
const nowMs = 10_000_000;
const ago = (seconds: number) => nowMs - seconds * 1_000;

const owned: OwnedBlock = { prefix, pool: 'p', uid: 'b1', isDraining: false };
const held: HeldBlock = { prefix, pool: 'p', uid: 'b1' };
const block: Block = {
  name: '10-5-113-0-24',
  uid: 'b1',
  resourceVersion: '1',
  prefix,
  pool: 'p',
  nodeName: 'n1',
  nodeUid: 'u1',
  phase: 'Active',
  coolingSinceMs: 0,
  guards: [],
  createdMs: 0,
  deleting: false,
};

const register = (...own: Block[]): RegisterView => ({
  own,
  ofOthers: () => undefined,
  isServed: true,
});
const contact = (lastUpMs: number, more: Partial<RouterContact> = {}): RouterContact => ({
  lastUpMs,
  hijacks: [],
  ...more,
});
const hijack: Hijack = {
  cidr,
  prefix: cidr,
  peer: 'tor',
  nextHop: '10.4.94.21',
  sinceMs: ago(5),
};

/** A node in order: everything is heard, and was for hours. */
const inOrder: BlockUseInput = {
  nowMs,
  source: 'register',
  isHeard: true,
  isNodeThere: true,
  owned: [owned],
  register: register(block),
  before: [held],
  releases: [],
  podsIn: () => 1,
  confirmedMs: new Map([[cidr, ago(7_200)]]),
  contact: contact(up),
  hasPeers: true,
  delivery: { declaredMs: ago(1), isAcknowledged: true, isEveryPeerUp: true },
  hasWithdrawnBlocks: false,
  reported: { hasReported: true, silentAfter: new Map(), unfencedMs: () => undefined },
  limits: { reconfirmAfterMs: 150_000, routersForgetMs: 210_000, missingGraceMs: 60_000 },
};
/** Nothing was heard of the API server for hours; the caches hold what they held. */
const unheard = { isHeard: false };
const confirmed = (seconds: number) => ({ confirmedMs: new Map([[cidr, ago(seconds)]]) });
const withheld: HeldBlock = { ...held, hold: 'withheld', holdSinceMs: ago(60) };
const fencing: HeldBlock = { ...held, hold: 'fencing', holdSinceMs: ago(60) };
const fenced: HeldBlock = { ...held, hold: 'fenced', holdSinceMs: ago(60) };
const cooling = {
  isNodeThere: false,
  owned: [],
  register: register({ ...block, phase: 'Cooling' }),
};
const timed = register({ ...block, releaseByTimeSeconds: 600 });

const neverReported = { ...inOrder.reported, hasReported: false, silentAfter: undefined };

/** What the API server has accepted as `silentAfter`. */
function promised(seconds: number | undefined): BlockUseInput['reported'] {
  const silentAfter = new Map(seconds === undefined ? [] : [['b1', seconds] as const]);
  return { ...inOrder.reported, silentAfter };
}

/** `announces, gives out` and the like; nothing: the block is not this node's any more. */
function words(change: Partial<BlockUseInput>): string {
  const [use] = blockUse({ ...inOrder, ...change });
  if (use === undefined) return 'gives up';
  const { isAnnounced, givesOut, isFenced, isUsed, mustConfirm } = use;
  const said = [
    isAnnounced ? 'announces' : (use.block.hold ?? ''),
    givesOut ? 'gives out' : '',
    isFenced ? 'states fence' : '',
    isUsed ? '' : 'no claim',
    mustConfirm ? 'asks' : '',
  ];
  return said.filter((word) => word !== '').join(', ');
}

type Row = readonly [what: string, change: Partial<BlockUseInput>, expected: string];

describe('the table of decision 30', () => {
  const rows: Row[] = [
    ['heard, routers up, Node there', {}, 'announces, gives out'],
    ['heard, up, deleted: it cools', cooling, 'fencing, no claim'],
    [
      '… the routers have acknowledged',
      { ...cooling, before: [fencing] },
      'fenced, states fence, no claim',
    ],
    ['not heard, up', unheard, 'announces, gives out'],
    [
      'not heard, up, from memory after a restart',
      { ...unheard, register: undefined },
      'announces, gives out',
    ],
    [
      'not heard, up, Node deleted before: it is known to be gone',
      { ...unheard, isNodeThere: false, owned: [] },
      'announces',
    ],
    [
      'not heard, lost for less than the limit',
      { ...unheard, contact: contact(ago(149)) },
      'announces, gives out, asks',
    ],
    [
      'not heard, lost for less than the limit, and back',
      { ...unheard, contact: contact(up) },
      'announces, gives out',
    ],
    ['not heard, lost for longer', { ...unheard, contact: contact(ago(151)) }, 'withheld, asks'],
    ['… and back', { ...unheard, before: [withheld] }, 'withheld, asks'],
    [
      '… and back, and the API server has confirmed the block',
      { ...unheard, before: [withheld], ...confirmed(1) },
      'announces, gives out',
    ],
    [
      '… and back, and the router shows ours elsewhere',
      {
        ...unheard,
        before: [withheld],
        contact: contact(up, { hijacks: [hijack] }),
      },
      'fencing, no claim, asks',
    ],
    [
      'not heard, a router reaches the block elsewhere',
      { ...unheard, contact: contact(up, { hijacks: [hijack] }) },
      'fencing, no claim, asks',
    ],
    [
      '… the API server had confirmed the block since: it is no newer register',
      { ...unheard, contact: contact(up, { hijacks: [hijack] }), ...confirmed(1) },
      'announces, gives out',
    ],
    [
      'heard, a router reaches the block elsewhere: only an alarm, and a question',
      { contact: contact(up, { hijacks: [hijack] }) },
      'announces, gives out, asks',
    ],
    [
      '… and the question gets no answer',
      { contact: contact(up, { hijacks: [{ ...hijack, sinceMs: ago(16) }] }) },
      'fencing, no claim, asks',
    ],
    [
      'a pool that releases by time: confirmed a short while ago',
      { register: timed, ...confirmed(149), reported: promised(300) },
      'announces, gives out',
    ],
    [
      '… it is time to ask',
      { register: timed, ...confirmed(151), reported: promised(300) },
      'announces, gives out, asks',
    ],
    [
      '… half of the time is over',
      { ...unheard, register: timed, ...confirmed(301), reported: promised(300) },
      'withheld, asks',
    ],
    [
      '… no report that says so was accepted: the operator does not count on it',
      { ...unheard, register: timed, ...confirmed(301), reported: promised(undefined) },
      'announces, gives out',
    ],
    [
      'no report was ever accepted: the operator knows no agent, and waits for 3600 s',
      { ...unheard, ...confirmed(1_801), reported: neverReported },
      'withheld, asks',
    ],
    [
      '… but never with a pool that says 0',
      {
        ...unheard,
        register: register({ ...block, releaseByTimeSeconds: 0 }),
        ...confirmed(1_801),
        reported: neverReported,
      },
      'announces, gives out',
    ],
    [
      'a node without BGP peers has no router to lose',
      { ...unheard, hasPeers: false, contact: contact(ago(9_999)) },
      'announces, gives out',
    ],
  ];
  test.each(rows)('%s', (_, change, expected) => {
    expect(words(change)).toBe(expected);
  });
});

describe('a fence', () => {
  const accepted = (unfencedMs: number | undefined) => ({
    reported: { ...inOrder.reported, unfencedMs: () => unfencedMs },
  });
  const rows: Row[] = [
    [
      'is not there before the routers have acknowledged the withdrawal',
      { ...cooling, before: [fencing], delivery: { ...inOrder.delivery, isAcknowledged: false } },
      'fencing, no claim',
    ],
    [
      'nor by what they had acknowledged before it',
      { ...cooling, before: [fencing], delivery: { ...inOrder.delivery, declaredMs: ago(61) } },
      'fencing, no claim',
    ],
    [
      'nor as long as a router without a session may keep the route',
      { ...cooling, before: [fencing], delivery: { ...inOrder.delivery, isEveryPeerUp: false } },
      'fencing, no claim',
    ],
    [
      '… which ends after its hold time and graceful restart',
      {
        ...cooling,
        before: [{ ...fencing, holdSinceMs: ago(211) }],
        delivery: { ...inOrder.delivery, isEveryPeerUp: false },
      },
      'fenced, states fence, no claim',
    ],
    [
      'stays as long as the register does not give the block back',
      { ...cooling, before: [fenced], ...accepted(ago(10)), ...confirmed(1) },
      'fenced, states fence, no claim',
    ],
    [
      'stays while the API server is not heard',
      { ...unheard, before: [fenced], ...accepted(ago(10)), ...confirmed(1) },
      'fenced, states fence, no claim',
    ],
    ['is first taken out of the report', { before: [fenced] }, 'fenced, no claim'],
    [
      'then, when that is accepted, the API server is asked',
      { before: [fenced], ...accepted(ago(10)), ...confirmed(11) },
      'fenced, no claim, asks',
    ],
    [
      'then, when it has confirmed the block, it ends',
      { before: [fenced], ...accepted(ago(10)), ...confirmed(9) },
      'announces, gives out',
    ],
    [
      'that nobody has been told of ends with a confirmation',
      { before: [fencing], ...confirmed(1) },
      'announces, gives out',
    ],
    [
      'follows from a drain; what runs on every node gets addresses',
      { hasWithdrawnBlocks: true },
      'fenced, gives out, states fence, no claim',
    ],
    [
      'follows from a witness on an active block',
      { register: register({ ...block, released: { by: 'Administrator' } }) },
      'fencing, no claim',
    ],
    [
      'means nothing for a NodeBlock that was made since',
      { before: [{ ...fenced, uid: 'b0' }] },
      'announces, gives out',
    ],
  ];
  test.each(rows)('%s', (_, change, expected) => {
    expect(words(change)).toBe(expected);
  });
});

describe('a block that was lost with the store, and is registered anew under another uid', () => {
  const anew: Block = { ...block, uid: 'b2' };
  const uidAndHold = (change: Partial<BlockUseInput>) => {
    const [use] = blockUse({ ...inOrder, ...change });
    return `${use?.block.uid} ${use?.block.hold ?? 'announced'}`;
  };
  const cools = { isNodeThere: false, register: register({ ...anew, phase: 'Cooling' }) };

  test.each([
    ['it is ours', { owned: [{ ...owned, uid: 'b2' }], register: register(anew) }, 'b2 announced'],
    // The Node was deleted before this agent had heard of the new NodeBlock.
    ['it cools', { ...cools, owned: [] }, 'b2 fencing'],
    ['it cools, and what was heard before named the old one', cools, 'b2 fencing'],
    ['… withdrawn', { ...cools, before: [{ ...fencing, uid: 'b2' }] }, 'b2 fenced'],
    ['it is unbound', { isNodeThere: false, register: register(anew) }, 'b2 announced'],
    [
      'unbound, and fenced: that stays',
      { isNodeThere: false, register: register(anew), before: [fenced] },
      'b2 fenced',
    ],
  ] satisfies Row[])('%s', (_, change, expected) => {
    expect(uidAndHold(change)).toBe(expected);
  });
});

describe('a block that the register does not give the node any more', () => {
  const gone = { owned: [], register: register() };
  const since = (seconds: number) => ({ before: [{ ...held, missingSinceMs: ago(seconds) }] });
  const rows: Row[] = [
    ['with pods: it goes on and claims it, and gives out nothing', gone, 'announces'],
    ['… for ever', { ...gone, ...since(9_999) }, 'announces'],
    ['without pods: for a while', { ...gone, ...since(59), podsIn: () => 0 }, 'announces'],
    ['… and not longer', { ...gone, ...since(61), podsIn: () => 0 }, 'gives up'],
    [
      '… as long as the definition is gone, too',
      { ...gone, ...since(61), podsIn: () => 0, register: { ...register(), isServed: false } },
      'announces',
    ],
    [
      'another node has it',
      { ...gone, register: { ...register(), ofOthers: () => ({ ...block, nodeName: 'n2' }) } },
      'gives up',
    ],
    ['it was given back', { ...gone, releases: [{ cidr, uid: 'b1' }] }, 'gives up'],
    ['it was seen to cool', { ...gone, before: [{ ...fenced, hasCooled: true }] }, 'gives up'],
    [
      'it was lost while it was withheld: it may have been released',
      { ...gone, before: [withheld], ...confirmed(1) },
      'withheld',
    ],
    [
      'known from the disk alone, and lost already then',
      { ...unheard, owned: [], register: undefined },
      'announces',
    ],
    [
      'time releases no NodeBlock that does not exist',
      { ...gone, reported: neverReported },
      'announces',
    ],
    [
      'kept for an earlier Node of the same name: nobody else can have it',
      { owned: [], register: register({ ...block, nodeUid: 'u0' }) },
      'announces',
    ],
    ['mode kubernetes: the Node is gone', { ...kubernetes(true), isNodeThere: false }, 'announces'],
    ['mode kubernetes: the Node names another', kubernetes(false), 'gives up'],
  ];
  test.each(rows)('%s', (_, change, expected) => {
    expect(words(change)).toBe(expected);
  });

  function kubernetes(isOwned: boolean): Partial<BlockUseInput> {
    const uid = '';
    return {
      source: 'node',
      register: undefined,
      owned: isOwned ? [{ ...owned, uid }] : [],
      before: [{ ...held, uid }],
    };
  }
});

describe('a promise of silence', () => {
  const promise = (before: number | undefined, policy: number | undefined, accepted?: number) => {
    const releaseByTimeSeconds = policy === undefined ? {} : { releaseByTimeSeconds: policy };
    const [use] = blockUse({
      ...inOrder,
      ...confirmed(0),
      before: [{ ...held, ...(before === undefined ? {} : { silentAfterSeconds: before }) }],
      register: register({ ...block, ...releaseByTimeSeconds }),
      reported: promised(accepted),
    });
    return `${use?.block.silentAfterSeconds} stated ${use?.silentAfterSeconds}`;
  };

  test('is half of what the policy says', () => {
    expect(promise(undefined, 601)).toBe('300 stated 300');
    expect(promise(undefined, undefined)).toBe('undefined stated undefined');
    expect(promise(undefined, 0)).toBe('undefined stated undefined');
  });

  test('is tightened at once, and loosened when the API server has the looser one', () => {
    expect(promise(300, 400, 300)).toBe('200 stated 200');
    expect(promise(300, 800, 300)).toBe('300 stated 400');
    expect(promise(300, 800, 400)).toBe('400 stated 400');
    expect(promise(300, undefined, 300)).toBe('300 stated undefined');
    expect(promise(300, undefined, undefined)).toBe('undefined stated undefined');
  });
});
