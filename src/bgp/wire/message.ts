/**
 * The BGP-4 codec: octets in, values out, and back. No socket, no timer, no
 * state: what two speakers agreed on comes in as a `SessionContext`.
 *
 *   stream ─▶ framer ─▶ header ─▶ decodeMessage ─┬▶ open ─▶ capability
 *                                                ├▶ update ─▶ attribute/*, nlri-run
 *                                                ├▶ notification
 *                                                └▶ route-refresh
 *   encodeOpen, encodeAnnounce, encodeWithdraw, encodeEndOfRib, … ─▶ Uint8Array
 *
 * Wrong input is judged, not thrown: `decodeMessage` answers with the message
 * or with a `WireError` that ends the session. An error that RFC 7606 lets a
 * session live through is listed in `update.errors`, and `update.treatAsWithdraw`
 * says that every prefix announced in that message must be taken as withdrawn.
 * No input makes anything here throw, loop, or take memory beyond the size of
 * the message; a fuzzer holds the codec to it.
 *
 * Path attributes are driven by the table in attribute/table.ts, one family of
 * attributes a file, decoder and encoder side by side. NLRI stay in their
 * octets until somebody visits them: a full table is a million of them.
 *
 * RFCs: 4271, 4760, 5492, 6793, 2918, 7313, 4724, 8538, 7606, 7607, 6286, 4486,
 * 9003, 1997, 4360, 8092, 4456, 8950, 7911, 8654, 9072.
 */
import type { WireError } from './error.ts';
import { errorCode, WireError as Fault, headerError } from './error.ts';
import { checkHeader, headerLength, messageLength, messageType, writeHeader } from './header.ts';
import { decodeNotification, type NotificationMessage } from './notification.ts';
import { decodeOpen, type OpenMessage } from './open.ts';
import { decodeRouteRefresh, type RouteRefreshMessage } from './route-refresh.ts';
import type { SessionContext } from './session-context.ts';
import { decodeUpdate, type UpdateMessage } from './update.ts';

export { type AfiSafi, ipv4Unicast, ipv6Unicast, sameFamily } from './afi-safi.ts';
export type {
  AsPath,
  AsSegment,
  LargeCommunity,
  Origin,
  PathAttributes,
} from './attribute/path-attributes.ts';
export type { Capability } from './capability.ts';
export { errorCode, headerError, openError, updateError, WireError } from './error.ts';
export { Framer } from './framer.ts';
export { Nlri } from './nlri.ts';
export { NlriRun } from './nlri-run.ts';
export { encodeNotification, type NotificationMessage } from './notification.ts';
export { encodeOpen, type OpenMessage, openAsn } from './open.ts';
export { type OpenExpectation, refuseOpen } from './open-check.ts';
export { encodeRouteRefresh, type RouteRefreshMessage } from './route-refresh.ts';
export { defaultContext, preOpenContext, type SessionContext } from './session-context.ts';
export type { UpdateMessage } from './update.ts';
export {
  encodeAnnounce,
  encodeEndOfRib,
  encodeWithdraw,
} from './update-encode.ts';

interface KeepaliveMessage {
  readonly type: 'keepalive';
}

export type BgpMessage =
  | OpenMessage
  | UpdateMessage
  | NotificationMessage
  | KeepaliveMessage
  | RouteRefreshMessage;

export type DecodeResult =
  | { readonly kind: 'message'; readonly message: BgpMessage }
  | { readonly kind: 'error'; readonly error: WireError };

const keepalive: KeepaliveMessage = { type: 'keepalive' };

/** Decodes one whole message, as the framer returns it. */
export function decodeMessage(bytes: Uint8Array, session: SessionContext): DecodeResult {
  if (bytes.length < headerLength) return { kind: 'error', error: tooShort(bytes.length) };
  const error = checkHeader(bytes, 0, session);
  if (error !== undefined) return { kind: 'error', error };
  if (messageLength(bytes, 0) !== bytes.length) {
    return { kind: 'error', error: wrongSize(bytes) };
  }
  const decoded = decodeBody(bytes, session);
  if (decoded instanceof Fault) return { kind: 'error', error: decoded };
  return { kind: 'message', message: decoded };
}

function decodeBody(bytes: Uint8Array, session: SessionContext): BgpMessage | WireError {
  switch (bytes[18]) {
    case messageType.open:
      return decodeOpen(bytes);
    case messageType.update:
      return decodeUpdate(bytes, session);
    case messageType.notification:
      return decodeNotification(bytes);
    case messageType.routeRefresh:
      return decodeRouteRefresh(bytes, session);
    default:
      return keepalive;
  }
}

const encodedKeepalive = new Uint8Array(headerLength);
writeHeader(encodedKeepalive, messageType.keepalive);

export function encodeKeepalive(): Uint8Array {
  return encodedKeepalive;
}

function tooShort(length: number): WireError {
  return new Fault('session-reset', {
    code: errorCode.header,
    subcode: headerError.badLength,
    detail: `${length} octets are less than a header`,
  });
}

/** Only a caller without the framer can get here: the length field contradicts the octets given. */
function wrongSize(bytes: Uint8Array): WireError {
  return new Fault('session-reset', {
    code: errorCode.header,
    subcode: headerError.badLength,
    data: new Uint8Array(bytes.subarray(16, 18)),
    detail: `the header says ${messageLength(bytes, 0)} octets, ${bytes.length} are here`,
  });
}
