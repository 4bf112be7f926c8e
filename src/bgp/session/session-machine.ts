/**
 * The state machine of RFC 4271 §8 for one peer: events in, actions out. It
 * opens no socket, reads no clock and draws no number but the one passed in, so
 * every transition can be tested by writing down what happened.
 *
 * A peer may have two TCP connections for a moment, one opened by each side. The
 * RFC speaks of one machine per connection; here one machine holds up to two
 * *sides*, each with its own step (OpenSent, OpenConfirm, Established) and its own
 * hold and keepalive timer, because the question that matters, which of them
 * survives (§6.8), is about both. The state of the peer is that of the side that
 * got furthest; with no side it is Connect, Active or Idle.
 *
 *            start            connected             OPEN ok           KEEPALIVE
 *   Idle ───────────▶ Connect ─────────▶ OpenSent ─────────▶ OpenConfirm ─────▶ Established
 *    ▲  idle-hold      │  ▲ retry          ▲ accepted           │                   │
 *    │  (back-off)     ▼  │                │                    ▼                   ▼
 *    └──────────────── Active ─────────────┘◀────────── any error: NOTIFICATION, close
 *
 * Deviations, each on purpose: DelayOpen is not built (it delays what we want
 * soon). An incoming connection ends the wait of Idle unless we have refused each
 * other several times: the other side has just decided to try, and a router that
 * is turned away waits two minutes. A send-hold timer (RFC 9687) is kept by the
 * writer, which alone knows whether bytes leave.
 */
import { printable } from '../../base/printable.ts';
import type { CompletePeer } from '../speaker/complete-peer.ts';
import {
  errorCode,
  type NotificationMessage,
  type OpenMessage,
  WireError,
} from '../wire/message.ts';
import { SessionBackoff } from './session-backoff.ts';
import { keepsFirst } from './session-collision.ts';
import {
  ceaseNotification,
  collisionLost,
  isCollision,
  keepsOnNotification,
  keepsOnSilence,
  outOfPlace,
} from './session-endings.ts';
import type {
  OutgoingNotification,
  SessionAction,
  SessionEnd,
  SessionEvent,
  SessionState,
  Side,
} from './session-events.ts';
import { type Negotiated, negotiateSession } from './session-negotiation.ts';

interface Conversation {
  step: 'OpenSent' | 'OpenConfirm' | 'Established';
  /** Known from OpenConfirm on. */
  negotiated: Negotiated | undefined;
}

/** A session that lasted this long was no refusal: the back-off starts anew. */
const stableMs = 30_000;

export class SessionMachine {
  #peer: CompletePeer;
  readonly #random: () => number;
  readonly #sides: Record<Side, Conversation | undefined> = { ours: undefined, theirs: undefined };
  #resting: 'Idle' | 'Connect' | 'Active' = 'Idle';
  #isStarted = false;
  readonly #backoff = new SessionBackoff();
  #actions: SessionAction[] = [];
  #reportedState: SessionState = 'Idle';

  constructor(peer: CompletePeer, random: () => number) {
    this.#peer = peer;
    this.#random = random;
  }

  get state(): SessionState {
    const steps = [this.#sides.ours?.step, this.#sides.theirs?.step];
    for (const step of ['Established', 'OpenConfirm', 'OpenSent'] as const) {
      if (steps.includes(step)) return step;
    }
    return this.#resting;
  }

  handle(event: SessionEvent): SessionAction[] {
    this.#actions = [];
    this.#dispatch(event);
    const state = this.state;
    if (state !== this.#reportedState) {
      this.#ask({ do: 'state', from: this.#reportedState, to: state });
      this.#reportedState = state;
    }
    return this.#actions;
  }

  #dispatch(event: SessionEvent) {
    switch (event.type) {
      case 'start':
        if (this.#isStarted) return;
        this.#isStarted = true;
        return this.#begin();
      case 'stop':
        return this.#stop((side) => this.#notify(side, ceaseNotification(event.cease)), {
          cause: 'stopped',
          detail: `we closed the session: Cease/${event.cease.subcode}`,
          keepsRoutes: false,
        });
      case 'abandon':
        return this.#stop((side) => this.#ask({ do: 'close', side }), {
          cause: 'abandoned',
          detail: 'we closed the connection without a NOTIFICATION, to restart',
          keepsRoutes: false,
        });
      case 'settings':
        return this.#onSettings(event.peer);
      case 'connected':
        return this.#onConnected();
      case 'connect-failed':
        return this.#onConnectFailed(event.detail);
      case 'accepted':
        return this.#onAccepted();
      case 'timer':
        return this.#onTimer(event.timer);
      default:
        // What arrives from a side after it was closed is ignored.
        if (this.#sides[event.side] !== undefined) this.#onSide(event);
    }
  }

  #onSide(event: Extract<SessionEvent, { side: Side }>) {
    const { side } = event;
    switch (event.type) {
      case 'closed':
        return this.#lose(side, event.detail);
      case 'open':
        return this.#onOpen(side, event.open);
      case 'keepalive':
        return this.#onKeepalive(side);
      case 'update':
        return this.#onData(side, { do: 'deliver-update', update: event.update });
      case 'route-refresh':
        return this.#onData(side, { do: 'deliver-refresh', refresh: event.refresh });
      case 'notification':
        return this.#onNotification(side, event.notification);
      case 'wire-error':
        if (!event.error.quiet) return this.#refuse(side, event.error, event.error.detail);
        this.#ask({ do: 'close', side });
        return this.#lose(side, event.error.detail);
      case 'send-hold-expired':
        // RFC 9687 §3.2: the NOTIFICATION will hardly arrive, and is the log of the peer if it does.
        return this.#refuse(
          side,
          { code: errorCode.sendHoldTimerExpired, subcode: 0 },
          'send-hold timer expired: the peer has stopped reading',
        );
    }
  }

  // ── Beginning ────────────────────────────────────────────────────────────

  #begin(): void {
    this.#ask({ do: 'stop-timer', timer: 'idle-hold' });
    if (this.#peer.isPassive) {
      this.#resting = 'Active';
      return;
    }
    this.#connect();
  }

  #connect(): void {
    this.#resting = 'Connect';
    this.#startRetry();
    this.#ask({ do: 'connect' });
  }

  #startRetry(): void {
    const ms = this.#jitter(this.#peer.connectRetrySeconds * 1000);
    this.#ask({ do: 'start-timer', timer: 'connect-retry', ms });
  }

  #onSettings(peer: CompletePeer): void {
    const wasPassive = this.#peer.isPassive;
    this.#peer = peer;
    const isWaiting = this.#isStarted && this.#resting === 'Active' && !this.#hasSide();
    // A passive session has no timer that would make it connect now.
    if (isWaiting && wasPassive && !peer.isPassive) this.#connect();
  }

  #onConnected(): void {
    // The answer to a connect that was cancelled: the session has been asked to drop it.
    if (this.#resting !== 'Connect' || this.#sides.ours !== undefined) return;
    this.#resting = 'Active';
    this.#converse('ours');
  }

  #onConnectFailed(detail: string): void {
    if (this.#resting !== 'Connect') return;
    // RFC 4271 §8.2.2, Connect, Event 18: keep listening until the retry timer says otherwise.
    this.#resting = 'Active';
    this.#ask({ do: 'failed', detail });
  }

  #onAccepted() {
    const refuse = () => this.#ask({ do: 'refuse-accepted' });
    if (!this.#isStarted) return refuse();
    if (this.#resting === 'Idle' && this.#backoff.isOutOfPatience) return refuse();
    const established = this.#establishedSide();
    if (established !== undefined) {
      const negotiated = this.#sides[established]?.negotiated;
      // RFC 4724 §4.2: a peer that restarts may be back before we saw it go.
      if (negotiated?.gracefulRestart === undefined) return refuse();
      this.#ask({ do: 'close', side: established });
      this.#lose(established, 'the peer opened a new connection: it has restarted');
    } else if (this.#sides.theirs !== undefined) {
      // A second connection from the peer before the first is up: only the newer one is alive.
      this.#ask({ do: 'close', side: 'theirs' });
      this.#forget('theirs');
    }
    if (this.#resting === 'Idle') {
      this.#ask({ do: 'stop-timer', timer: 'idle-hold' });
      this.#resting = 'Active';
    }
    this.#converse('theirs');
  }

  #converse(side: Side): void {
    this.#sides[side] = { step: 'OpenSent', negotiated: undefined };
    this.#ask({ do: 'stop-timer', timer: 'connect-retry' });
    this.#ask({ do: 'send-open', side });
    const ms = this.#peer.openHoldSeconds * 1000;
    this.#ask({ do: 'start-timer', timer: `hold-${side}`, ms });
  }

  // ── Messages ─────────────────────────────────────────────────────────────

  #onOpen(side: Side, open: OpenMessage) {
    const conversation = this.#sides[side]!;
    if (conversation.step !== 'OpenSent') return this.#unexpected(side, 'OPEN');
    const negotiated = negotiateSession(this.#peer, open);
    if (negotiated instanceof WireError) return this.#refuse(side, negotiated, negotiated.detail);
    if (!this.#survivesCollision(side, open)) return;
    conversation.step = 'OpenConfirm';
    conversation.negotiated = negotiated;
    this.#ask({ do: 'agree', side, negotiated });
    this.#ask({ do: 'send-keepalive', side });
    this.#restartHold(side, negotiated);
    this.#restartKeepalive(side, negotiated);
  }

  /** RFC 4271 §6.8: once the peer's identifier is known, one of two connections goes. */
  #survivesCollision(side: Side, open: OpenMessage): boolean {
    const other: Side = side === 'ours' ? 'theirs' : 'ours';
    if (this.#sides[other] === undefined) return true;
    const keepsOurs = keepsFirst(
      { routerId: this.#peer.routerId, asn: this.#peer.localAsn },
      { routerId: open.routerId, asn: this.#peer.asn },
    );
    const otherIsUp = this.#sides[other]?.step === 'Established';
    const goes = otherIsUp ? side : keepsOurs ? 'theirs' : 'ours';
    this.#notify(goes, collisionLost);
    this.#forget(goes);
    return goes !== side;
  }

  #onKeepalive(side: Side) {
    const conversation = this.#sides[side]!;
    const { step, negotiated } = conversation;
    if (step === 'OpenSent' || negotiated === undefined) return this.#unexpected(side, 'KEEPALIVE');
    this.#restartHold(side, negotiated);
    if (step === 'Established') return;
    conversation.step = 'Established';
    this.#dropOthers(side);
    this.#ask({ do: 'start-timer', timer: 'stable', ms: stableMs });
    this.#ask({ do: 'up', side, negotiated });
  }

  /** A session is up: whatever else was on its way is not needed any more. */
  #dropOthers(winner: Side): void {
    const other: Side = winner === 'ours' ? 'theirs' : 'ours';
    if (this.#sides[other] !== undefined) {
      this.#notify(other, collisionLost);
      this.#forget(other);
    }
    if (this.#resting === 'Connect') this.#ask({ do: 'cancel-connect' });
    this.#ask({ do: 'stop-timer', timer: 'connect-retry' });
    this.#resting = 'Active';
  }

  #onData(
    side: Side,
    action: Extract<SessionAction, { do: 'deliver-update' | 'deliver-refresh' }>,
  ) {
    const { step, negotiated } = this.#sides[side]!;
    const isUpdate = action.do === 'deliver-update';
    if (step !== 'Established')
      return this.#unexpected(side, isUpdate ? 'UPDATE' : 'ROUTE-REFRESH');
    // RFC 4271 §8.2.2 Event 27: KEEPALIVE and UPDATE restart the timer; ROUTE-REFRESH is not named.
    if (isUpdate && negotiated !== undefined) this.#restartHold(side, negotiated);
    this.#ask(action);
  }

  /** RFC 4271 §6.4: a NOTIFICATION is never answered with one. */
  #onNotification(side: Side, notification: NotificationMessage): void {
    const { code, subcode, shutdownCommunication: words } = notification;
    const { step, negotiated } = this.#sides[side]!;
    const detail = `the peer sent NOTIFICATION ${code}/${subcode}${words ? `: ${printable(words)}` : ''}`;
    this.#ask({ do: 'close', side });
    this.#forget(side);
    // Losing a collision is how two speakers that dial each other agree; it is no failure.
    if (isCollision(notification) && this.#hasSide()) return;
    this.#ended(step === 'Established', {
      cause: 'notification-received',
      detail,
      keepsRoutes: keepsOnNotification(negotiated, notification),
    });
  }

  #unexpected(side: Side, what: string): void {
    const { step } = this.#sides[side]!;
    this.#refuse(side, outOfPlace(step), `${what} in state ${step}`);
  }

  // ── Timers ───────────────────────────────────────────────────────────────

  #onTimer(timer: Extract<SessionEvent, { type: 'timer' }>['timer']) {
    switch (timer) {
      case 'connect-retry':
        if (!this.#isStarted || this.#hasSide() || this.#peer.isPassive) return;
        if (this.#resting === 'Connect') this.#ask({ do: 'cancel-connect' });
        return this.#connect();
      case 'idle-hold':
        if (this.#isStarted && this.#resting === 'Idle') this.#begin();
        return;
      case 'stable':
        return this.#backoff.reset();
      case 'hold-ours':
      case 'hold-theirs': {
        const side: Side = timer === 'hold-ours' ? 'ours' : 'theirs';
        if (this.#sides[side] === undefined) return;
        const notification = { code: errorCode.holdTimerExpired, subcode: 0 };
        return this.#refuse(
          side,
          notification,
          'hold timer expired: nothing received from the peer',
        );
      }
      case 'keepalive-ours':
      case 'keepalive-theirs': {
        const side: Side = timer === 'keepalive-ours' ? 'ours' : 'theirs';
        const negotiated = this.#sides[side]?.negotiated;
        if (negotiated === undefined) return;
        this.#ask({ do: 'send-keepalive', side });
        return this.#restartKeepalive(side, negotiated);
      }
    }
  }

  #restartHold(side: Side, { holdSeconds }: Negotiated): void {
    const timer = `hold-${side}` as const;
    if (holdSeconds === 0) this.#ask({ do: 'stop-timer', timer });
    else this.#ask({ do: 'start-timer', timer, ms: holdSeconds * 1000 });
  }

  #restartKeepalive(side: Side, { holdSeconds, keepaliveSeconds }: Negotiated): void {
    // RFC 4271 §4.4: with a hold time of 0 no periodic KEEPALIVE may be sent.
    if (holdSeconds === 0) return;
    const ms = this.#jitter(keepaliveSeconds * 1000);
    this.#ask({ do: 'start-timer', timer: `keepalive-${side}`, ms });
  }

  /** RFC 4271 §10: every timer is shortened by up to a quarter, so that peers do not march in step. */
  #jitter(ms: number): number {
    return Math.round(ms * (0.75 + 0.25 * this.#random()));
  }

  // ── Ending ───────────────────────────────────────────────────────────────

  /** We end one side with a NOTIFICATION. */
  #refuse(side: Side, notification: OutgoingNotification, detail: string): void {
    const { step, negotiated } = this.#sides[side]!;
    this.#notify(side, notification);
    this.#forget(side);
    this.#ended(step === 'Established', {
      cause: 'notification-sent',
      detail,
      keepsRoutes: keepsOnNotification(negotiated, notification),
    });
  }

  /** TCP ended without a word. */
  #lose(side: Side, detail: string): void {
    const { step, negotiated } = this.#sides[side]!;
    this.#forget(side);
    this.#ended(step === 'Established', {
      cause: 'connection-lost',
      detail,
      keepsRoutes: keepsOnSilence(negotiated),
    });
  }

  #ended(wasEstablished: boolean, end: SessionEnd): void {
    if (wasEstablished) this.#ask({ do: 'down', end });
    else this.#ask({ do: 'failed', detail: end.detail });
    this.#ask({ do: 'stop-timer', timer: 'stable' });
    if (this.#hasSide()) return;
    if (this.#resting === 'Connect') this.#ask({ do: 'cancel-connect' });
    this.#resting = 'Idle';
    // A session that was up and then lost its wire was not refused.
    const wasRefused = !wasEstablished || end.cause !== 'connection-lost';
    const { idleSeconds, maxIdleSeconds } = this.#peer;
    const seconds = this.#backoff.next(wasRefused, idleSeconds, maxIdleSeconds);
    this.#ask({ do: 'stop-timer', timer: 'connect-retry' });
    this.#ask({ do: 'start-timer', timer: 'idle-hold', ms: this.#jitter(seconds * 1000) });
  }

  #stop(say: (side: Side) => void, end: SessionEnd): void {
    this.#isStarted = false;
    const wasEstablished = this.#establishedSide() !== undefined;
    for (const side of ['ours', 'theirs'] as const) {
      if (this.#sides[side] === undefined) continue;
      say(side);
      this.#forget(side);
    }
    if (this.#resting === 'Connect') this.#ask({ do: 'cancel-connect' });
    for (const timer of ['connect-retry', 'idle-hold', 'stable'] as const) {
      this.#ask({ do: 'stop-timer', timer });
    }
    this.#resting = 'Idle';
    this.#backoff.reset();
    if (wasEstablished) this.#ask({ do: 'down', end });
  }

  #forget(side: Side): void {
    this.#sides[side] = undefined;
    this.#ask({ do: 'stop-timer', timer: `hold-${side}` });
    this.#ask({ do: 'stop-timer', timer: `keepalive-${side}` });
  }

  #notify(side: Side, notification: OutgoingNotification): void {
    this.#ask({ do: 'notify-and-close', side, notification });
  }

  #establishedSide(): Side | undefined {
    if (this.#sides.ours?.step === 'Established') return 'ours';
    return this.#sides.theirs?.step === 'Established' ? 'theirs' : undefined;
  }

  #hasSide(): boolean {
    return this.#sides.ours !== undefined || this.#sides.theirs !== undefined;
  }

  #ask(action: SessionAction): void {
    this.#actions.push(action);
  }
}
