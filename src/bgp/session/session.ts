/**
 * One session with one peer: the sockets and timers around the state machine.
 *
 *   socket ─▶ connection ─▶ event ─▶ machine ─▶ actions ─▶ socket, timers, owner
 *
 * `SessionMachine` decides, this file does: it connects, sets timers, writes, and
 * reports to its owner (speaker or collector) when the session is up or down and
 * what arrived. Nothing here asks "in which state am I": if a branch would need to,
 * it belongs into the machine.
 *
 * The owner is asked for UPDATEs one at a time (`nextUpdate`) while the peer
 * takes bytes, see session-writer.ts. Up to two connections exist while a
 * collision is open, each with its own framer and its own writer; a connection
 * that was let go is ignored, whatever still arrives on it.
 *
 * Races it lives with: a connect that succeeds after it was cancelled; a peer
 * that closes while our NOTIFICATION is on its way; a process that was frozen
 * and finds the hold timer expired with the peer's messages unread in the socket
 * (session-timers.ts); a peer that opens a second connection because it has
 * restarted and we have not noticed (RFC 4724 §4.2).
 *
 * RFCs: 4271 §6 and §8, 4486, 4724, 5492, 6286, 6608, 8538, 9003, 9687.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { CompletePeer } from '../speaker/complete-peer.ts';
import { applyAccepted } from '../transport/listen.ts';
import {
  type BgpMessage,
  encodeKeepalive,
  encodeNotification,
  encodeOpen,
  type RouteRefreshMessage,
  type UpdateMessage,
} from '../wire/message.ts';
import { SessionConnection } from './session-connection.ts';
import { newCounters, type SessionCounters } from './session-counters.ts';
import { SessionDialler } from './session-dialler.ts';
import type {
  Cease,
  SessionAction,
  SessionEnd,
  SessionEvent,
  SessionState,
  Side,
  TimerName,
} from './session-events.ts';
import { SessionMachine } from './session-machine.ts';
import { type Negotiated, ourOpen, type RestartEvidence } from './session-negotiation.ts';
import { TimerSet } from './session-timers.ts';

interface SessionOwner {
  up(negotiated: Negotiated, localAddress: string): void;
  down(end: SessionEnd): void;
  update(update: UpdateMessage): void;
  refresh(refresh: RouteRefreshMessage): void;
  /** The next message to send while Established, or undefined for now. */
  nextUpdate(): Uint8Array | undefined;
  /** Asked for every OPEN. */
  evidence(): RestartEvidence;
  stateChanged?(from: SessionState, to: SessionState): void;
}

export interface SessionWorld {
  clock: Clock;
  random: () => number;
  log: Log;
}

/** RFC 9687 §3.1: eight minutes, or twice the hold time where that is longer. */
function sendHoldMs(peer: CompletePeer): number {
  return 1000 * (peer.sendHoldSeconds ?? Math.max(480, 2 * peer.holdSeconds));
}

export class Session {
  readonly counters: SessionCounters = newCounters();
  readonly #owner: SessionOwner;
  readonly #world: SessionWorld;
  readonly #machine: SessionMachine;
  readonly #timers: TimerSet<TimerName>;
  readonly #connections = new Map<Side, SessionConnection>();
  #peer: CompletePeer;
  readonly #dialler: SessionDialler;
  /** A connection of either side, while the machine decides whether it wants it. */
  #offered: Socket | undefined;
  readonly #lingering = new Set<Promise<void>>();
  #upSide: Side | undefined;
  #upSinceMs: number | undefined;
  #lastError: string | undefined;

  constructor(peer: CompletePeer, owner: SessionOwner, world: SessionWorld) {
    this.#peer = peer;
    this.#owner = owner;
    this.#world = world;
    this.#machine = new SessionMachine(peer, world.random);
    this.#timers = new TimerSet((timer) => this.#happen({ type: 'timer', timer }));
    this.#dialler = new SessionDialler(
      (socket) => this.#offer(socket, { type: 'connected' }),
      (detail) => this.#happen({ type: 'connect-failed', detail }),
    );
  }

  get state(): SessionState {
    return this.#machine.state;
  }

  get lastError(): string | undefined {
    return this.#lastError;
  }

  get uptimeSeconds(): number | undefined {
    if (this.#upSinceMs === undefined) return undefined;
    return (this.#world.clock.monotonicMs() - this.#upSinceMs) / 1000;
  }

  start(): void {
    this.#happen({ type: 'start' });
  }

  stop(cease: Cease): void {
    this.#happen({ type: 'stop', cease });
    this.#timers.stopAll();
  }

  abandon(): void {
    this.#happen({ type: 'abandon' });
    this.#timers.stopAll();
  }

  /** A connection from the peer's address. */
  accept(socket: Socket): void {
    try {
      applyAccepted(socket, this.#peer.socket);
    } catch (error) {
      this.#lastError = error instanceof Error ? error.message : String(error);
      socket.destroy();
      return;
    }
    this.#offer(socket, { type: 'accepted' });
  }

  /** Only for settings that need no reset. */
  setPeer(peer: CompletePeer): void {
    this.#peer = peer;
    this.#happen({ type: 'settings', peer });
  }

  /** There is something new to send. */
  kick(): void {
    this.#up()?.writer.kick();
  }

  /** Sends a message that does not wait for its turn (ROUTE-REFRESH); false if the session is down. */
  sendNow(message: Uint8Array): boolean {
    const connection = this.#up();
    connection?.writer.sendNow(message);
    return connection !== undefined;
  }

  /** Nothing is left to send, and the peer's TCP has acknowledged what was sent. */
  isDelivered(): boolean {
    return this.#up()?.isDelivered() ?? true;
  }

  /** Resolves when the connections we have let go are gone. */
  async settled(): Promise<void> {
    await Promise.all(this.#lingering);
  }

  #up(): SessionConnection | undefined {
    return this.#upSide === undefined ? undefined : this.#connections.get(this.#upSide);
  }

  #happen(event: SessionEvent): void {
    for (const action of this.#machine.handle(event)) this.#perform(action);
  }

  #perform(action: SessionAction): void {
    switch (action.do) {
      case 'connect':
        this.#dialler.connect(this.#peer);
        break;
      case 'cancel-connect':
        this.#dialler.cancel();
        break;
      case 'refuse-accepted':
        // Nobody takes what was offered, and that closes it.
        break;
      case 'send-open':
        this.#open(action.side);
        break;
      case 'send-keepalive':
        this.counters.sent.keepalives++;
        this.#connections.get(action.side)?.writer.sendNow(encodeKeepalive());
        break;
      case 'notify-and-close':
        this.counters.sent.notifications++;
        this.#letGo(action.side, encodeNotification(action.notification));
        break;
      case 'close':
        this.#letGo(action.side, undefined);
        break;
      case 'start-timer':
        this.#timers.start(action.timer, action.ms);
        break;
      case 'stop-timer':
        this.#timers.stop(action.timer);
        break;
      case 'agree':
        this.#connections.get(action.side)?.agree(action.negotiated.receive);
        break;
      case 'up':
        this.#cameUp(action.side, action.negotiated);
        break;
      case 'deliver-update':
        this.#owner.update(action.update);
        break;
      case 'deliver-refresh':
        this.#owner.refresh(action.refresh);
        break;
      case 'down':
        this.#wentDown(action.end);
        break;
      case 'failed':
        this.#lastError = action.detail;
        this.#world.log.debug?.(
          { peer: this.#peer.name, detail: action.detail },
          'no session: connection attempt failed',
        );
        break;
      case 'state':
        this.#world.log.debug?.(
          { peer: this.#peer.name, state: action.to, detail: `from ${action.from}` },
          'the session has another state',
        );
        this.#owner.stateChanged?.(action.from, action.to);
        break;
    }
  }

  /** The machine takes it (`send-open`), or it is closed. */
  #offer(socket: Socket, event: SessionEvent): void {
    this.#offered = socket;
    this.#happen(event);
    this.#offered?.destroy();
    this.#offered = undefined;
  }

  #open(side: Side): void {
    const socket = this.#offered;
    if (socket === undefined) return;
    this.#offered = undefined;
    const connection: SessionConnection = new SessionConnection(socket, {
      pull: () => this.#pull(),
      nowMs: () => this.#world.clock.monotonicMs(),
      sendHoldMs: sendHoldMs(this.#peer),
      onStall: () => this.#received(connection, { type: 'send-hold-expired', side }),
      onMessage: (message) => this.#onMessage(connection, side, message),
      onError: (error) => this.#received(connection, { type: 'wire-error', side, error }),
      onClosed: (detail) => this.#received(connection, { type: 'closed', side, detail }),
    });
    this.#connections.set(side, connection);
    connection.writer.sendNow(encodeOpen(ourOpen(this.#peer, this.#owner.evidence())));
  }

  #pull(): Uint8Array | undefined {
    const message = this.#owner.nextUpdate();
    if (message !== undefined) this.counters.sent.updates++;
    return message;
  }

  #onMessage(connection: SessionConnection, side: Side, message: BgpMessage) {
    const { received } = this.counters;
    switch (message.type) {
      case 'open':
        return this.#received(connection, { type: 'open', side, open: message });
      case 'keepalive':
        received.keepalives++;
        return this.#received(connection, { type: 'keepalive', side });
      case 'update':
        received.updates++;
        if (message.errors.length > 0) this.#tolerate(message);
        return this.#received(connection, { type: 'update', side, update: message });
      case 'route-refresh':
        received.refreshes++;
        return this.#received(connection, { type: 'route-refresh', side, refresh: message });
      case 'notification':
        received.notifications++;
        return this.#received(connection, { type: 'notification', side, notification: message });
    }
  }

  /** RFC 7606 §6: what was wrong is logged and counted. */
  #tolerate({ errors, treatAsWithdraw }: UpdateMessage): void {
    this.counters.tolerated += errors.length;
    const details = errors.map((error) => error.detail);
    this.#world.log.warn(
      {
        peer: this.#peer.name,
        reason: treatAsWithdraw ? 'treat-as-withdraw' : 'attribute-discard',
        error: details,
      },
      'malformed UPDATE received, session kept (RFC 7606)',
    );
  }

  /** Passes an event on unless the connection was let go in the meantime. */
  #received(connection: SessionConnection, event: Extract<SessionEvent, { side: Side }>): void {
    if (this.#connections.get(event.side) !== connection) return;
    if (event.type === 'closed') this.#connections.delete(event.side);
    this.#happen(event);
  }

  #letGo(side: Side, last: Uint8Array | undefined): void {
    const connection = this.#connections.get(side);
    this.#connections.delete(side);
    if (connection === undefined) return;
    const gone = connection.end(last);
    this.#lingering.add(gone);
    void gone.then(() => this.#lingering.delete(gone));
  }

  #cameUp(side: Side, negotiated: Negotiated): void {
    this.#upSide = side;
    this.#upSinceMs = this.#world.clock.monotonicMs();
    this.counters.established++;
    const localAddress = this.#connections.get(side)?.localAddress ?? '';
    this.#world.log.info(
      { peer: this.#peer.name, family: negotiated.families, seconds: negotiated.holdSeconds },
      'session established',
    );
    this.#owner.up(negotiated, localAddress);
    this.kick();
  }

  #wentDown(end: SessionEnd): void {
    this.#upSide = undefined;
    this.#upSinceMs = undefined;
    this.#lastError = end.detail;
    this.#world.log.warn(
      { peer: this.#peer.name, reason: end.cause, detail: end.detail },
      'session down',
    );
    this.#owner.down(end);
  }
}
