import { describe, expect, test } from 'vitest';
import {
  hasLeavingSign,
  isMeantToBeWithdrawn,
  keepLastMs,
  leavingOf,
  type OnCordon,
  staysForServices,
} from './leaving.ts';

const yes = true as const;
type Signs = Parameters<typeof leavingOf>[0];

function judge(signs: Signs, more: Partial<Parameters<typeof leavingOf>[1]> = {}) {
  const given = { onCordon: 'services' as const, hasPods: true, before: undefined, ...more };
  const leaving = leavingOf(signs, given);
  return leaving && `${leaving.sign} ${leaving.withBlocks ? 'everything' : 'services'}`;
}

describe('which sign asks for what', () => {
  test.each<[string, Signs, string | undefined]>([
    ['no sign', {}, undefined],
    ['a Node that is merely not ready', { isNotReady: yes }, undefined],
    ['our annotation', { isLeaving: yes }, 'Annotation everything'],
    ['a shutdown', { isShuttingDown: yes, isNotReady: yes }, 'Shutdown everything'],
    ['out of service', { isOutOfService: yes }, 'OutOfService everything'],
    [
      'cordoned, as every node that shuts down may be',
      { isCordoned: yes, isShuttingDown: yes },
      'Shutdown everything',
    ],
    ['a cordon', { isCordoned: yes }, 'Cordon services'],
    ['our annotation with false', { keepsRoutesWhenCordoned: yes }, undefined],
  ])('%s', (_, signs, expected) => {
    expect(judge(signs)).toBe(expected);
    expect(hasLeavingSign(signs)).toBe(expected !== undefined);
  });

  test.each<[OnCordon, boolean, string | undefined]>([
    ['services', true, 'Cordon services'],
    ['services', false, 'Cordon everything'],
    ['blocks', true, 'Cordon everything'],
    ['blocks', false, 'Cordon everything'],
    ['nothing', true, undefined],
    ['nothing', false, undefined],
  ])('a cordon with --on-cordon=%s, pods left: %s', (onCordon, hasPods, expected) => {
    expect(judge({ isCordoned: yes }, { onCordon, hasPods })).toBe(expected);
  });

  test('cadastre.dev/drain=false holds against a cordon, and nothing else', () => {
    const keeps = { keepsRoutesWhenCordoned: yes };
    expect(judge({ isCordoned: yes, ...keeps })).toBeUndefined();
    expect(judge({ isShuttingDown: yes, ...keeps })).toBe('Shutdown everything');
    expect(judge({ isOutOfService: yes, ...keeps })).toBe('OutOfService everything');
  });

  test('a kubelet that ended with its machine does not call the routes back', () => {
    const before = 'Shutdown' as const;
    expect(judge({ isNotReady: yes }, { before })).toBe('Shutdown everything');
    expect(judge({}, { before })).toBeUndefined();
    expect(judge({ isNotReady: yes }, { before: 'Cordon' })).toBeUndefined();
  });

  test('how long the last announcer of a Service stays', () => {
    const keeps = (signs: Signs) =>
      leavingOf(signs, { onCordon: 'services', hasPods: true, before: undefined })?.keepMs;
    expect(keeps({ isCordoned: yes })).toBe(Number.POSITIVE_INFINITY);
    expect(keeps({ isLeaving: yes })).toBe(keepLastMs);
    expect(keeps({ isShuttingDown: yes })).toBe(keepLastMs);
    expect(keeps({ isOutOfService: yes })).toBe(0);
  });
});

describe('which other node can be relied on', () => {
  test.each<[string, object, OnCordon, boolean]>([
    ['one without a sign', {}, 'services', true],
    ['a cordoned one', { isCordoned: yes }, 'services', false],
    ['a cordoned one that goes on', { isCordoned: yes }, 'nothing', true],
    ['one that is not ready', { isNotReady: yes }, 'services', false],
    ['one that is drained', { isLeaving: yes }, 'nothing', false],
    [
      'one that gets no traffic of Services',
      { labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } },
      'services',
      false,
    ],
  ])('%s', (_, more, onCordon, expected) => {
    expect(staysForServices({ labels: {}, ...more }, onCordon)).toBe(expected);
  });
});

test('a block that routers lack on purpose is told apart from one that is lost', () => {
  const cidr = '10.5.113.0/24';
  const says = (reason: string) => ({ unannounced: [{ cidr, reason, detail: '' }] });
  for (const sign of [{ isLeaving: yes }, { isShuttingDown: yes }, { isOutOfService: yes }]) {
    expect(isMeantToBeWithdrawn(sign, undefined, cidr)).toBe(true);
  }
  expect(isMeantToBeWithdrawn({}, says('NodeDraining'), cidr)).toBe(false);
  expect(isMeantToBeWithdrawn({ isCordoned: yes }, undefined, cidr)).toBe(false);
  expect(isMeantToBeWithdrawn({ isCordoned: yes }, says('PeerRefused'), cidr)).toBe(false);
  expect(isMeantToBeWithdrawn({ isCordoned: yes }, says('NodeDraining'), cidr)).toBe(true);
  expect(isMeantToBeWithdrawn({ isCordoned: yes }, says('NodeDraining'), '10.5.0.0/24')).toBe(
    false,
  );
});
