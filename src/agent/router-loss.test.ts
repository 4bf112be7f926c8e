import { beforeEach, describe, expect, test } from 'vitest';
import { RouterLoss } from './router-loss.ts';

const hold = 9;
let monotonicMs: number;
let wallMs: number;
let loss: RouterLoss;

beforeEach(() => {
  monotonicMs = 5_000;
  wallMs = 1_700_000_000_000;
  loss = new RouterLoss({ monotonicMs: () => monotonicMs, wallMs: () => wallMs });
});

function pass(ms: number): void {
  monotonicMs += ms;
  wallMs += ms;
}
/** Second by second, as the announcer looks. */
function live(seconds: number, isUp: boolean): void {
  for (let i = 0; i < seconds; i++) {
    pass(1_000);
    loss.look(isUp, hold);
  }
}

describe('the time without a router', () => {
  test('counts from the beginning, until a session is established', () => {
    live(100, false);
    expect(loss.lostMs).toBe(100_000);
    expect(loss.hasBeenUp).toBe(false);
    loss.established();
    expect(loss.lostMs).toBe(0);
    expect(loss.hasBeenUp).toBe(true);
  });

  test('counts from the moment in which a session was last up', () => {
    loss.established();
    live(60, true);
    expect(loss.lostMs).toBe(0);
    live(20, false);
    expect(loss.lostMs).toBe(20_000);
  });

  test('counts from the last session of an earlier run, or else from the last confirmation', () => {
    loss.resume({ upMs: -100_000, confirmedMs: 1_000 });
    expect(loss.hasBeenUp).toBe(true);
    expect(loss.lostMs).toBe(105_000);
    live(60, false);
    expect(loss.lostMs).toBe(165_000);
    loss.resume({ confirmedMs: 4_000 });
    expect(loss.hasBeenUp).toBe(false);
    expect(loss.lostMs).toBe(61_000);
  });

  test('counts a process that was stopped, although its sessions look established', () => {
    loss.established();
    live(10, true);
    pass(600_000);
    // What routers sent before they gave up is read, and then the end of the session.
    loss.look(true, hold);
    loss.look(true, hold);
    expect(loss.isInDoubt).toBe(true);
    expect(loss.lostMs).toBe(600_000);
    loss.look(false, hold);
    pass(500);
    expect(loss.lostMs).toBe(600_500);
  });

  test('counts a machine that was paused with its monotonic clock', () => {
    loss.established();
    live(10, true);
    wallMs += 600_000;
    loss.look(true, hold);
    expect(loss.lostMs).toBe(600_000);
  });

  test('adds up pauses with moments between them', () => {
    loss.established();
    for (let i = 0; i < 4; i++) {
      pass(20_000);
      loss.look(true, hold);
      live(2, true);
    }
    expect(loss.lostMs).toBe(88_000);
  });

  test('a session that outlives the hold time was there all the time', () => {
    loss.established();
    live(10, true);
    wallMs += 600_000; // Somebody set the clock.
    live(11, true);
    expect(loss.lostMs).toBeGreaterThan(600_000);
    live(2, true);
    expect(loss.lostMs).toBe(0);
    wallMs -= 3_600_000;
    live(1, true);
    expect(loss.lostMs).toBe(0);
  });
});
