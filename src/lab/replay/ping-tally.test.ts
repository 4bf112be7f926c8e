import { expect, test } from 'vitest';
import { PingTally } from './ping-tally.ts';

const answer = (seq: number) => `64 bytes from 10.5.113.2: icmp_seq=${seq} ttl=61 time=0.1 ms`;
const nothing = (seq: number) => `no answer yet for icmp_seq=${seq}`;

test('lost is what was never answered; a late answer is an answer', () => {
  const tally = new PingTally();
  tally.read('PING 10.5.113.2 (10.5.113.2) 56(84) bytes of data.', 0);
  for (const line of [answer(1), nothing(2), answer(3), answer(2), nothing(4), nothing(5)]) {
    tally.read(line, 10);
  }
  tally.read('From 10.9.25.1 icmp_seq=6 Destination Net Unreachable', 20);
  tally.read(answer(7), 30);
  expect(tally.mark).toBe(7);
  expect(tally.count(0, 7)).toEqual({ sent: 7, lost: 3, longestSeconds: 0.15 });
  expect(tally.count(0, 3)).toEqual({ sent: 3, lost: 0, longestSeconds: 0 });
  expect(tally.count(6, 7)).toEqual({ sent: 1, lost: 0, longestSeconds: 0 });
  expect(tally.silentMs(100)).toBe(70);
});

test('who never answered is not silent, but unknown', () => {
  const tally = new PingTally();
  tally.read(nothing(1), 0);
  expect(tally.silentMs(1000)).toBeUndefined();
  expect(tally.count(0, 1).lost).toBe(1);
});

test('the numbers go on after the sixteen bits of the wire', () => {
  const tally = new PingTally();
  for (let seq = 1; seq <= 65535; seq++) tally.read(answer(seq), 0);
  for (const seq of [0, 1, 2]) tally.read(answer(seq), 0);
  expect(tally.mark).toBe(65538);
  expect(tally.count(65530, 65538)).toMatchObject({ sent: 8, lost: 0 });
});
