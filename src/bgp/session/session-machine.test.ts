import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import type { PeerSettings } from '../../model/peer-settings.ts';
import { type CompletePeer, completePeer } from '../speaker/complete-peer.ts';
import type { NotificationMessage, OpenMessage, UpdateMessage } from '../wire/message.ts';
import { openError, WireError } from '../wire/message.ts';
import type { SessionAction, SessionEvent, Side } from './session-events.ts';
import { SessionMachine } from './session-machine.ts';
import { noEvidence, ourOpen } from './session-negotiation.ts';

const settings: PeerSettings = {
  address: '192.0.2.2',
  asn: 64524,
  localAsn: 64513,
  routerId: '10.0.0.1',
  holdSeconds: 90,
};

function peerOf(more: Partial<PeerSettings> = {}): CompletePeer {
  const result = completePeer({ ...settings, ...more });
  if (result.kind === 'refused') throw new Error(result.reason);
  return result.peer;
}

/** The OPEN the peer of `settings` would send. */
function theirOpen(more: Partial<PeerSettings> = {}): OpenMessage {
  const mirrored = peerOf({
    address: '192.0.2.1',
    asn: settings.localAsn,
    localAsn: settings.asn,
    routerId: '10.0.0.2',
    ...more,
  });
  return ourOpen(mirrored, noEvidence);
}

function machineOf(more: Partial<PeerSettings> = {}) {
  const machine = new SessionMachine(peerOf(more), () => 1);
  const happen = (...events: SessionEvent[]): SessionAction[] =>
    events.flatMap((event) => machine.handle(event));
  return { machine, happen };
}

const open = (side: Side, more: Partial<PeerSettings> = {}): SessionEvent => ({
  type: 'open',
  side,
  open: theirOpen(more),
});
const keepalive = (side: Side): SessionEvent => ({ type: 'keepalive', side });
const update = (side: Side): SessionEvent => ({
  type: 'update',
  side,
  update: {} as UpdateMessage,
});
const upOurs: SessionEvent[] = [
  { type: 'start' },
  { type: 'connected' },
  open('ours'),
  keepalive('ours'),
];
const names = (actions: readonly SessionAction[]) => actions.map((action) => action.do);
const notifications = (actions: readonly SessionAction[]) =>
  actions.flatMap((a) =>
    a.do === 'notify-and-close'
      ? [`${a.side} ${a.notification.code}/${a.notification.subcode}`]
      : [],
  );
const timers = (actions: readonly SessionAction[]) =>
  Object.fromEntries(actions.flatMap((a) => (a.do === 'start-timer' ? [[a.timer, a.ms]] : [])));

describe('the way up', () => {
  test('goes through every state of the RFC', () => {
    const { machine, happen } = machineOf();
    const states: string[] = [machine.state];
    for (const event of upOurs) {
      happen(event);
      states.push(machine.state);
    }
    expect(states).toEqual(['Idle', 'Connect', 'OpenSent', 'OpenConfirm', 'Established']);
  });

  test('sends OPEN when connected, KEEPALIVE when the OPEN is acceptable, and is up on KEEPALIVE', () => {
    const { happen } = machineOf();
    happen({ type: 'start' });
    expect(names(happen({ type: 'connected' }))).toContain('send-open');
    expect(names(happen(open('ours')))).toEqual(
      expect.arrayContaining(['agree', 'send-keepalive']),
    );
    expect(names(happen(keepalive('ours')))).toContain('up');
  });

  test('a passive peer never connects and takes what comes', () => {
    const { machine, happen } = machineOf({ isPassive: true });
    expect(names(happen({ type: 'start' }))).not.toContain('connect');
    expect(machine.state).toBe('Active');
    happen({ type: 'accepted' }, open('theirs'), keepalive('theirs'));
    expect(machine.state).toBe('Established');
  });

  test('a peer that may connect from now on does so', () => {
    const { machine, happen } = machineOf({ isPassive: true });
    happen({ type: 'start' });
    expect(names(happen({ type: 'settings', peer: peerOf() }))).toContain('connect');
    expect(machine.state).toBe('Connect');
    expect(happen({ type: 'settings', peer: peerOf({ idleSeconds: 5 }) })).toEqual([]);
  });

  test('a connect that fails leaves us listening until the retry timer', () => {
    const { machine, happen } = machineOf({ connectRetrySeconds: 10 });
    expect(timers(happen({ type: 'start' }))).toEqual({ 'connect-retry': 10_000 });
    happen({ type: 'connect-failed', detail: 'ECONNREFUSED' });
    expect(machine.state).toBe('Active');
    expect(names(happen({ type: 'timer', timer: 'connect-retry' }))).toContain('connect');
    // The SYN got no answer at all: that attempt is given up for the next.
    expect(names(happen({ type: 'timer', timer: 'connect-retry' }))).toEqual([
      'cancel-connect',
      'start-timer',
      'connect',
    ]);
  });

  test('timers are shortened by up to a quarter', () => {
    const machine = new SessionMachine(peerOf({ connectRetrySeconds: 100 }), () => 0);
    expect(timers(machine.handle({ type: 'start' }))).toEqual({ 'connect-retry': 75_000 });
  });
});

describe('hold and keepalive', () => {
  test('the smaller hold time counts, and a third of it between keepalives', () => {
    const { happen } = machineOf({ holdSeconds: 90 });
    happen({ type: 'start' }, { type: 'connected' });
    const actions = happen(open('ours', { holdSeconds: 30 }));
    expect(timers(actions)).toEqual({ 'hold-ours': 30_000, 'keepalive-ours': 10_000 });
  });

  test('hold time 0 on either side switches both timers off', () => {
    const { happen } = machineOf({ holdSeconds: 90 });
    happen({ type: 'start' }, { type: 'connected' });
    const actions = happen(open('ours', { holdSeconds: 0 }), keepalive('ours'));
    expect(timers(actions)).toEqual({ stable: 30_000 });
  });

  test('KEEPALIVE and UPDATE restart the hold timer, ROUTE-REFRESH does not', () => {
    const { happen } = machineOf();
    happen(...upOurs);
    expect(timers(happen(keepalive('ours')))).toEqual({ 'hold-ours': 90_000 });
    expect(timers(happen(update('ours')))).toEqual({ 'hold-ours': 90_000 });
    const refresh = { type: 'route-refresh', afi: 1, safi: 1, subtype: 0 } as const;
    expect(timers(happen({ type: 'route-refresh', side: 'ours', refresh }))).toEqual({});
  });

  test('silence is answered with 4/0, in Established and while waiting for OPEN', () => {
    const { machine, happen } = machineOf();
    happen(...upOurs);
    const actions = happen({ type: 'timer', timer: 'hold-ours' });
    expect(notifications(actions)).toEqual(['ours 4/0']);
    expect(names(actions)).toContain('down');
    expect(machine.state).toBe('Idle');

    const waiting = machineOf();
    waiting.happen({ type: 'start' }, { type: 'connected' });
    expect(notifications(waiting.happen({ type: 'timer', timer: 'hold-ours' }))).toEqual([
      'ours 4/0',
    ]);
  });

  test('a peer that has stopped reading is sent 8/0 (RFC 9687)', () => {
    const { happen } = machineOf();
    happen(...upOurs);
    expect(notifications(happen({ type: 'send-hold-expired', side: 'ours' }))).toEqual([
      'ours 8/0',
    ]);
  });
});

describe('an OPEN that is not acceptable', () => {
  const refusalOf = (more: Partial<PeerSettings>, ourMore: Partial<PeerSettings> = {}) => {
    const { happen } = machineOf(ourMore);
    happen({ type: 'start' }, { type: 'connected' });
    return notifications(happen(open('ours', more)));
  };
  test('another AS than expected: 2/2', () => {
    expect(refusalOf({ localAsn: 65000 })).toEqual(['ours 2/2']);
  });
  test('our own identifier inside our AS: 2/3; in another AS it may be (RFC 6286)', () => {
    expect(refusalOf({ localAsn: 64513, routerId: '10.0.0.1' }, { asn: 64513 })).toEqual([
      'ours 2/3',
    ]);
    expect(refusalOf({ routerId: '10.0.0.1' })).toEqual([]);
  });
  test('no address family in common: 2/7', () => {
    expect(refusalOf({ families: ['ipv6'] }, { families: ['ipv4'] })).toEqual(['ours 2/7']);
  });
  test('a fault of the codec keeps its own code', () => {
    const { happen } = machineOf();
    happen({ type: 'start' }, { type: 'connected' });
    const error = new WireError('session-reset', {
      code: 2,
      subcode: openError.unsupportedVersion,
      detail: 'version 5',
    });
    expect(notifications(happen({ type: 'wire-error', side: 'ours', error }))).toEqual([
      'ours 2/1',
    ]);
  });
});

describe('a message out of place', () => {
  test.each([
    ['OpenSent', [], keepalive('ours'), 'ours 5/1'],
    ['OpenSent', [], update('ours'), 'ours 5/1'],
    ['OpenConfirm', [open('ours')], update('ours'), 'ours 5/2'],
    ['OpenConfirm', [open('ours')], open('ours'), 'ours 5/2'],
    ['Established', [open('ours'), keepalive('ours')], open('ours'), 'ours 5/3'],
  ] as const)(
    'in %s is answered with the subcode of the state (RFC 6608)',
    (_state, way, event, expected) => {
      const { machine, happen } = machineOf();
      happen({ type: 'start' }, { type: 'connected' }, ...way);
      expect(notifications(happen(event))).toEqual([expected]);
      expect(machine.state).toBe('Idle');
    },
  );
});

describe('NOTIFICATION', () => {
  const notification = (code: number, subcode: number): SessionEvent => ({
    type: 'notification',
    side: 'ours',
    notification: {
      type: 'notification',
      code,
      subcode,
      data: new Uint8Array(),
    } as NotificationMessage,
  });

  test('is never answered with one', () => {
    for (const way of [upOurs.slice(0, 2), upOurs.slice(0, 3), upOurs]) {
      const { happen } = machineOf();
      happen(...way);
      const actions = happen(notification(6, 2));
      expect(notifications(actions)).toEqual([]);
      expect(names(actions)).toContain('close');
    }
  });

  test('that is broken ends the session without an answer too', () => {
    const { happen } = machineOf();
    happen(...upOurs);
    const error = new WireError('session-reset', {
      code: 1,
      subcode: 2,
      detail: 'short',
      quiet: true,
    });
    const actions = happen({ type: 'wire-error', side: 'ours', error });
    expect(notifications(actions)).toEqual([]);
    expect(names(actions)).toEqual(expect.arrayContaining(['close', 'down']));
  });

  test('keeps routes only where both set the N-bit, and never on a Hard Reset (RFC 8538)', () => {
    const bit = { hasRestartNotification: true };
    const keeps = (
      ours: number | undefined,
      theirs: number | undefined,
      subcode: number,
      bits: readonly [object, object] = [bit, bit],
    ) => {
      const { happen } = machineOf({ gracefulRestartSeconds: ours, ...bits[0] });
      happen(
        { type: 'start' },
        { type: 'connected' },
        open('ours', { gracefulRestartSeconds: theirs, ...bits[1] }),
        keepalive('ours'),
      );
      const down = happen(notification(6, subcode)).find((action) => action.do === 'down');
      return down?.end.keepsRoutes;
    };
    expect(keeps(60, 60, 2)).toBe(true);
    expect(keeps(60, 60, 9)).toBe(false);
    expect(keeps(60, 60, 2, [{}, bit])).toBe(false);
    expect(keeps(60, 60, 2, [bit, {}])).toBe(false);
    expect(keeps(undefined, 60, 2)).toBe(false);
    expect(keeps(60, undefined, 2)).toBe(false);
  });

  test('a connection that just ends keeps routes where graceful restart was agreed', () => {
    for (const [seconds, expected] of [
      [60, true],
      [undefined, false],
    ] as const) {
      const { happen } = machineOf({ gracefulRestartSeconds: seconds });
      happen({ type: 'start' }, { type: 'connected' });
      happen(open('ours', { gracefulRestartSeconds: 60 }), keepalive('ours'));
      const actions = happen({ type: 'closed', side: 'ours', detail: 'gone' });
      expect(actions.find((a) => a.do === 'down')?.end.keepsRoutes).toBe(expected);
    }
  });
});

describe('collision (RFC 4271 §6.8)', () => {
  const both: SessionEvent[] = [{ type: 'start' }, { type: 'connected' }, { type: 'accepted' }];

  test('the higher identifier keeps the connection it opened, compared as unsigned', () => {
    const low = machineOf({ routerId: '10.0.0.1' });
    low.happen(...both);
    expect(notifications(low.happen(open('theirs', { routerId: '200.0.0.1' })))).toEqual([
      'ours 6/7',
    ]);
    const high = machineOf({ routerId: '200.0.0.1' });
    high.happen(...both);
    expect(notifications(high.happen(open('theirs', { routerId: '10.0.0.1' })))).toEqual([
      'theirs 6/7',
    ]);
  });

  test('equal identifiers are decided by the higher AS (RFC 6286)', () => {
    const { happen } = machineOf({ routerId: '10.0.0.9' });
    happen(...both);
    expect(notifications(happen(open('ours', { routerId: '10.0.0.9' })))).toEqual(['ours 6/7']);
  });

  test('the winner goes on to Established whichever OPEN came first', () => {
    for (const first of ['ours', 'theirs'] as const) {
      const { machine, happen } = machineOf({ routerId: '200.0.0.1' });
      happen(...both, open(first));
      const second = first === 'ours' ? 'theirs' : 'ours';
      happen(open(second), keepalive('ours'));
      expect(machine.state).toBe('Established');
    }
  });

  // One of the two may be up on a connection that the other is about to close (the RFC has no
  // cure for that); then both fall back and the next attempt is not simultaneous any more.
  test('two machines that dial each other end with one session, in every order of events', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), fc.boolean(), (choices, swap) => {
        const wire = new TwoMachines(swap ? ['10.0.0.2', '10.0.0.1'] : ['10.0.0.1', '10.0.0.2']);
        wire.run(() => choices.next().value);
        expect(wire.states()).toEqual(['Established', 'Established']);
      }),
    );
  });

  test('a new connection to an established session is turned away, unless the peer restarts', () => {
    const plain = machineOf();
    plain.happen(...upOurs);
    expect(names(plain.happen({ type: 'accepted' }))).toEqual(['refuse-accepted']);
    expect(plain.machine.state).toBe('Established');

    const graceful = machineOf({ gracefulRestartSeconds: 60 });
    graceful.happen({ type: 'start' }, { type: 'connected' });
    graceful.happen(open('ours', { gracefulRestartSeconds: 60 }), keepalive('ours'));
    const actions = graceful.happen({ type: 'accepted' });
    expect(actions.find((a) => a.do === 'down')?.end.keepsRoutes).toBe(true);
    expect(graceful.machine.state).toBe('OpenSent');
  });
});

describe('back-off', () => {
  test('doubles with every refusal up to the limit, and starts anew after a stable session', () => {
    const { happen } = machineOf({ idleSeconds: 1, maxIdleSeconds: 5 });
    happen({ type: 'start' });
    const waits: number[] = [];
    const refuse = () => {
      happen({ type: 'connected' });
      const actions = happen(open('ours', { localAsn: 65000 }));
      waits.push(timers(actions)['idle-hold']!);
      happen({ type: 'timer', timer: 'idle-hold' });
    };
    for (let i = 0; i < 5; i++) refuse();
    expect(waits).toEqual([1000, 2000, 4000, 5000, 5000]);
    happen({ type: 'connected' }, open('ours'), keepalive('ours'));
    happen({ type: 'timer', timer: 'stable' });
    const end = happen({ type: 'closed', side: 'ours', detail: 'gone' });
    expect(timers(end)['idle-hold']).toBe(1000);
  });

  test('an incoming connection ends the wait, until it was refused several times', () => {
    const { machine, happen } = machineOf();
    happen({ type: 'start' });
    for (let refusals = 1; refusals <= 3; refusals++) {
      expect(names(happen({ type: 'accepted' }))).toContain('send-open');
      happen(open('theirs', { localAsn: 65000 }));
      expect(machine.state).toBe('Idle');
    }
    expect(names(happen({ type: 'accepted' }))).toEqual(['refuse-accepted']);
  });
});

describe('the ends', () => {
  test('stop says Cease on every connection, cancels what is under way, and stays stopped', () => {
    const { machine, happen } = machineOf();
    happen({ type: 'start' }, { type: 'accepted' });
    const actions = happen({ type: 'stop', cease: { subcode: 3 } });
    expect(notifications(actions)).toEqual(['theirs 6/3']);
    expect(names(actions)).toContain('cancel-connect');
    expect(machine.state).toBe('Idle');
    expect(names(happen({ type: 'accepted' }))).toEqual(['refuse-accepted']);
    expect(happen({ type: 'timer', timer: 'idle-hold' })).toEqual([]);
  });

  test('abandon says nothing', () => {
    const { happen } = machineOf();
    happen(...upOurs);
    const actions = happen({ type: 'abandon' });
    expect(notifications(actions)).toEqual([]);
    expect(names(actions)).toContain('close');
  });

  test('no order of events makes it throw, or leaves a timer of a side that is gone', () => {
    const side = fc.constantFrom<Side>('ours', 'theirs');
    const event = fc.oneof(
      fc.constantFrom<SessionEvent>(
        { type: 'start' },
        { type: 'connected' },
        { type: 'accepted' },
        { type: 'connect-failed', detail: 'no' },
        { type: 'stop', cease: { subcode: 2 } },
        { type: 'abandon' },
      ),
      side.map((s): SessionEvent => open(s)),
      side.map((s): SessionEvent => keepalive(s)),
      side.map((s): SessionEvent => update(s)),
      side.map((s): SessionEvent => ({ type: 'closed', side: s, detail: 'gone' })),
      fc
        .constantFrom(
          'connect-retry',
          'idle-hold',
          'stable',
          'hold-ours',
          'hold-theirs',
          'keepalive-ours',
        )
        .map((timer): SessionEvent => ({ type: 'timer', timer: timer as 'stable' })),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const { machine, happen } = machineOf();
        const running = new Set<string>();
        let ups = 0;
        for (const each of events) {
          for (const action of happen(each)) {
            if (action.do === 'start-timer') running.add(action.timer);
            if (action.do === 'stop-timer') running.delete(action.timer);
            if (action.do === 'up') ups++;
            if (action.do === 'down') ups--;
          }
          // Ups and downs alternate: nobody hears of a second session, or of an end without a beginning.
          expect(ups).toBe(machine.state === 'Established' ? 1 : 0);
          if (machine.state === 'Idle') {
            expect([...running].filter((t) => /hold-|keepalive-/.test(t))).toEqual([]);
          }
        }
      }),
      { numRuns: runs(500) },
    );
  });
});

/** Two machines joined by ideal wires that deliver in any order between connections. */
class TwoMachines {
  readonly #machines: SessionMachine[];
  readonly #peers: CompletePeer[];
  /** Wire w was opened by machine w; it is 'ours' there and 'theirs' at the other end. */
  readonly #isOpen = [false, false];
  readonly #queues: SessionEvent[][] = [[], [], [], []];

  constructor(ids: readonly [string, string]) {
    const ours = { ...settings, routerId: ids[0] };
    const theirs = { ...settings, asn: 64513, localAsn: 64524, routerId: ids[1] };
    this.#peers = [peerOf(ours), peerOf({ ...theirs, address: '192.0.2.1' })];
    this.#machines = this.#peers.map((peer) => new SessionMachine(peer, () => 1));
  }

  states(): string[] {
    return this.#machines.map((machine) => machine.state);
  }

  run(choose: () => number): void {
    for (const at of [0, 1]) this.#happen(at, { type: 'start' });
    for (let step = 0; step < 500; step++) {
      const ready = this.#queues.flatMap((queue, i) => (queue.length > 0 ? [i] : []));
      const pick = ready[choose() % Math.max(ready.length, 1)];
      // Queue 2w+m: what machine m has yet to hear on wire w.
      if (pick !== undefined) this.#happen(pick % 2, this.#queues[pick]!.shift()!);
      else if (this.states().every((state) => state === 'Established')) return;
      else this.#wait(choose() % 2);
    }
  }

  /** Nothing is under way: the timers of one of them run out first. */
  #wait(at: number): void {
    this.#happen(at, { type: 'timer', timer: 'idle-hold' });
    this.#happen(at, { type: 'timer', timer: 'connect-retry' });
  }

  #happen(at: number, event: SessionEvent): void {
    for (const action of this.#machines[at]!.handle(event)) {
      if (action.do === 'connect') {
        this.#isOpen[at] = true;
        this.#queues[2 * at] = [];
        this.#queues[2 * at + 1] = [];
        this.#queues[2 * at + at]!.push({ type: 'connected' });
        this.#queues[2 * at + (1 - at)]!.push({ type: 'accepted' });
      }
      if (action.do === 'cancel-connect') this.#cut(at, at);
      if (action.do === 'refuse-accepted') this.#cut(1 - at, at);
      if ('side' in action) this.#say(at, action);
    }
  }

  /** Machine `at` ends wire `wire` without a word; what the other has said on it is lost. */
  #cut(wire: number, at: number): void {
    const side: Side = wire === at ? 'theirs' : 'ours';
    this.#queues[2 * wire + at] = [];
    this.#queues[2 * wire + (1 - at)]!.push({ type: 'closed', side, detail: 'cut' });
  }

  #say(at: number, action: Extract<SessionAction, { side: Side }>): void {
    const wire = action.side === 'ours' ? at : 1 - at;
    if (!this.#isOpen[wire]) return;
    const to = this.#queues[2 * wire + (1 - at)]!;
    const side: Side = action.side === 'ours' ? 'theirs' : 'ours';
    if (action.do === 'send-open') {
      to.push({ type: 'open', side, open: ourOpen(this.#peers[at]!, noEvidence) });
    }
    if (action.do === 'send-keepalive') to.push({ type: 'keepalive', side });
    if (action.do === 'notify-and-close') {
      const { code, subcode } = action.notification;
      const data = new Uint8Array();
      to.push({
        type: 'notification',
        side,
        notification: { type: 'notification', code, subcode, data },
      });
    }
  }
}
