/** The alphabet of the state machine: what can happen to it, and what it can ask for. */
import type { CompletePeer } from '../speaker/complete-peer.ts';
import type {
  NotificationMessage,
  OpenMessage,
  RouteRefreshMessage,
  UpdateMessage,
  WireError,
} from '../wire/message.ts';
import type { Negotiated } from './session-negotiation.ts';

/** RFC 4271 §8.2.2, written as there because people compare it with their router's. */
export const sessionStates = [
  'Idle',
  'Connect',
  'Active',
  'OpenSent',
  'OpenConfirm',
  'Established',
] as const;
export type SessionState = (typeof sessionStates)[number];

/** Who opened the TCP connection. Both may exist until the collision is decided (RFC 4271 §6.8). */
export type Side = 'ours' | 'theirs';

export type TimerName =
  | 'connect-retry'
  | 'idle-hold'
  | 'stable'
  | 'hold-ours'
  | 'hold-theirs'
  | 'keepalive-ours'
  | 'keepalive-theirs';

export interface Cease {
  readonly subcode: number;
  readonly data?: Uint8Array;
  readonly words?: string;
}

export type SessionEvent =
  | { readonly type: 'start' }
  /** The operator ends it: NOTIFICATION Cease, then silence. */
  | { readonly type: 'stop'; readonly cease: Cease }
  /** We go away without a word, so that the peer keeps our routes (RFC 4724). */
  | { readonly type: 'abandon' }
  /** New settings of the kind that needs no reset; timers take them from their next start on. */
  | { readonly type: 'settings'; readonly peer: CompletePeer }
  | { readonly type: 'connected' }
  | { readonly type: 'connect-failed'; readonly detail: string }
  | { readonly type: 'accepted' }
  | { readonly type: 'closed'; readonly side: Side; readonly detail: string }
  | { readonly type: 'open'; readonly side: Side; readonly open: OpenMessage }
  | { readonly type: 'keepalive'; readonly side: Side }
  | { readonly type: 'update'; readonly side: Side; readonly update: UpdateMessage }
  | { readonly type: 'route-refresh'; readonly side: Side; readonly refresh: RouteRefreshMessage }
  | {
      readonly type: 'notification';
      readonly side: Side;
      readonly notification: NotificationMessage;
    }
  | { readonly type: 'wire-error'; readonly side: Side; readonly error: WireError }
  /** Nothing we wrote has left for the send-hold time (RFC 9687). */
  | { readonly type: 'send-hold-expired'; readonly side: Side }
  | { readonly type: 'timer'; readonly timer: TimerName };

/** How a session ended; `keepsRoutes` is the verdict of RFC 4724 and 8538 for the receiving side. */
export interface SessionEnd {
  readonly cause:
    | 'connection-lost'
    | 'notification-received'
    | 'notification-sent'
    | 'stopped'
    | 'abandoned';
  readonly detail: string;
  readonly keepsRoutes: boolean;
}

export interface OutgoingNotification {
  readonly code: number;
  readonly subcode: number;
  readonly data?: Uint8Array;
  readonly shutdownCommunication?: string;
}

export type SessionAction =
  | { readonly do: 'connect' }
  | { readonly do: 'cancel-connect' }
  | { readonly do: 'refuse-accepted' }
  | { readonly do: 'send-open'; readonly side: Side }
  | { readonly do: 'send-keepalive'; readonly side: Side }
  /** Send it, end our half, read on for a moment so that it is not lost to a reset, close. */
  | {
      readonly do: 'notify-and-close';
      readonly side: Side;
      readonly notification: OutgoingNotification;
    }
  | { readonly do: 'close'; readonly side: Side }
  | { readonly do: 'start-timer'; readonly timer: TimerName; readonly ms: number }
  | { readonly do: 'stop-timer'; readonly timer: TimerName }
  /** From now on the side is read and written with what was agreed. */
  | { readonly do: 'agree'; readonly side: Side; readonly negotiated: Negotiated }
  | { readonly do: 'up'; readonly side: Side; readonly negotiated: Negotiated }
  | { readonly do: 'deliver-update'; readonly update: UpdateMessage }
  | { readonly do: 'deliver-refresh'; readonly refresh: RouteRefreshMessage }
  | { readonly do: 'down'; readonly end: SessionEnd }
  /** An attempt that never came up; kept as the peer's last error. */
  | { readonly do: 'failed'; readonly detail: string }
  | { readonly do: 'state'; readonly from: SessionState; readonly to: SessionState };
