import { describe, expect, test } from 'vitest';
import {
  type PeerSettingName,
  type PeerSettings,
  settingThatNeedsReset,
} from '../../model/peer-settings.ts';
import { type CompletePeer, completePeer } from '../speaker/complete-peer.ts';
import {
  type Capability,
  decodeMessage,
  encodeOpen,
  type OpenMessage,
  preOpenContext,
  WireError,
} from '../wire/message.ts';
import { negotiateSession, noEvidence, ourOpen } from './session-negotiation.ts';

const settings: PeerSettings = {
  address: '192.0.2.2',
  asn: 64524,
  localAsn: 64513,
  routerId: '10.0.0.1',
};

function peerOf(more: Partial<PeerSettings> = {}): CompletePeer {
  const result = completePeer({ ...settings, ...more });
  if (result.kind === 'refused') throw new Error(result.reason);
  return result.peer;
}

const names = (open: OpenMessage) => open.capabilities.map((capability) => capability.name);
const theirs = (capabilities: Capability[], more: Partial<OpenMessage> = {}): OpenMessage => ({
  type: 'open',
  version: 4,
  asn: 64524,
  holdSeconds: 90,
  routerId: '10.0.0.2',
  capabilities,
  ...more,
});
const agree = (
  more: Partial<PeerSettings>,
  capabilities: Capability[],
  open: Partial<OpenMessage> = {},
) => {
  const result = negotiateSession(peerOf(more), theirs(capabilities, open));
  if (result instanceof WireError) throw new Error(result.detail);
  return result;
};

describe('our OPEN', () => {
  test('offers what a modern router expects, and reads back as it was', () => {
    const open = ourOpen(peerOf({ gracefulRestartSeconds: 60 }), noEvidence);
    expect(names(open)).toEqual([
      'multiprotocol',
      'multiprotocol',
      'route-refresh',
      'enhanced-route-refresh',
      'as4',
      'graceful-restart',
    ]);
    expect(decodeMessage(encodeOpen(open), preOpenContext)).toEqual({
      kind: 'message',
      message: open,
    });
  });

  test('leaves out what is switched off', () => {
    const off = { hasMultiprotocol: false, hasRouteRefresh: false, hasAs4: false };
    expect(names(ourOpen(peerOf(off), noEvidence))).toEqual([]);
  });

  test('an AS above 65535 travels in the capability, AS_TRANS in the field', () => {
    const open = ourOpen(peerOf({ localAsn: 4200000001 }), noEvidence);
    expect(open.asn).toBe(23456);
    expect(open.capabilities).toContainEqual({ name: 'as4', asn: 4200000001 });
  });

  test('restart and forwarding bits say what the evidence says, no more', () => {
    const bits = (hasRestarted: boolean, forwarding: ('ipv4' | 'ipv6')[]) => {
      const open = ourOpen(peerOf({ gracefulRestartSeconds: 60 }), { hasRestarted, forwarding });
      const offer = open.capabilities.find((c) => c.name === 'graceful-restart');
      return [offer?.restart, ...(offer?.families.map((family) => family.forwarding) ?? [])];
    };
    expect(bits(false, [])).toEqual([false, false, false]);
    expect(bits(true, ['ipv6'])).toEqual([true, false, true]);
  });

  test('offers IPv6 next hops for IPv4 where the session runs over IPv6', () => {
    expect(names(ourOpen(peerOf({ address: '2001:db8::2' }), noEvidence))).toContain(
      'extended-next-hop',
    );
    expect(names(ourOpen(peerOf(), noEvidence))).not.toContain('extended-next-hop');
  });
});

describe('what both agree on', () => {
  test('a peer without capabilities speaks IPv4 with 2-octet AS numbers and nothing else', () => {
    expect(agree({}, [])).toMatchObject({
      families: ['ipv4'],
      hasRouteRefresh: false,
      gracefulRestart: undefined,
      send: { as4: false, extendedMessage: false },
    });
  });

  test('families in common, in our order', () => {
    const both: Capability[] = [
      { name: 'multiprotocol', afi: 2, safi: 1 },
      { name: 'multiprotocol', afi: 1, safi: 1 },
      { name: 'multiprotocol', afi: 25, safi: 70 },
    ];
    expect(agree({}, both).families).toEqual(['ipv4', 'ipv6']);
    expect(agree({ families: ['ipv6'] }, both).families).toEqual(['ipv6']);
  });

  test('extended messages and 4-octet AS only where both said so', () => {
    const capabilities: Capability[] = [{ name: 'extended-message' }, { name: 'as4', asn: 64524 }];
    expect(agree({}, capabilities).send).toMatchObject({ as4: true, extendedMessage: false });
    const wanted = agree({ hasExtendedMessage: true, hasAs4: false }, capabilities);
    expect(wanted.send).toMatchObject({ as4: false, extendedMessage: true });
  });

  test('several paths are taken only from a peer that sends them, and never sent', () => {
    const sends: Capability[] = [{ name: 'add-path', families: [{ afi: 1, safi: 1, mode: 2 }] }];
    const { receive, send } = agree({ hasAddPathReceive: true }, sends);
    expect([receive.addPathIpv4, receive.addPathIpv6, send.addPathIpv4]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('of several graceful restart offers the last one counts (RFC 4724)', () => {
    const offer = (timeSeconds: number): Capability => ({
      name: 'graceful-restart',
      restart: false,
      notification: false,
      timeSeconds,
      families: [{ afi: 1, safi: 1, forwarding: true }],
    });
    const { gracefulRestart } = agree({ gracefulRestartSeconds: 60 }, [offer(1), offer(2)]);
    expect(gracefulRestart?.restartSeconds).toBe(2);
    expect(gracefulRestart?.families.get('ipv4')).toEqual({ forwarding: true });
  });

  test('a shorter keepalive time of ours is kept, a longer one is cut to a third', () => {
    expect(agree({ keepaliveSeconds: 2 }, []).keepaliveSeconds).toBe(2);
    expect(
      agree({ holdSeconds: 90, keepaliveSeconds: 60 }, [], { holdSeconds: 30 }).keepaliveSeconds,
    ).toBe(10);
  });
});

describe('settings', () => {
  test.each<[Partial<PeerSettings>, PeerSettingName | undefined]>([
    [{ connectRetrySeconds: 3 }, undefined],
    [{ gracefulShutdown: true }, undefined],
    [{ nextHop: { ipv4: '192.0.2.9' } }, undefined],
    [{ isPassive: true }, undefined],
    [{ holdSeconds: 30 }, 'holdSeconds'],
    [{ families: ['ipv4'] }, 'families'],
    [{ password: 'x' }, 'password'],
    [{ ttlSecurityHops: 2 }, 'ttlSecurityHops'],
    [{ routerId: '10.0.0.9' }, 'routerId'],
  ])('%j: a new session is needed for %s', (change, expected) => {
    expect(settingThatNeedsReset(peerOf(), peerOf(change))).toBe(expected);
  });

  test('outside their limits they are refused in words, and so is a peer without an identifier', () => {
    const reason = (change: Partial<PeerSettings>) => {
      const result = completePeer({ ...settings, ...change });
      return result.kind === 'refused' && result.reason;
    };
    expect(reason({ holdSeconds: 2 })).toBe(
      'holdSeconds is 2, not 0 or a whole number from 3 to 65535',
    );
    expect(reason({ routerId: undefined })).toBe('routerId is missing');
  });

  test('an address is one address however it is written', () => {
    expect(peerOf({ address: '2001:DB8:0:0::2' }).address).toBe('2001:db8::2');
    expect(peerOf({ address: '::ffff:192.0.2.2' }).address).toBe('192.0.2.2');
  });
});
