import { errorCode, WireError } from './error.ts';
import { headerLength, messageType, writeHeader } from './header.ts';
import { readU16 } from './octets.ts';
import type { SessionContext } from './session-context.ts';

export interface RouteRefreshMessage {
  readonly type: 'route-refresh';
  readonly afi: number;
  readonly safi: number;
  /** 0 request, 1 beginning of refresh, 2 end of refresh (RFC 7313 §3.2). */
  readonly subtype: number;
}

export function decodeRouteRefresh(
  bytes: Uint8Array,
  session: SessionContext,
): RouteRefreshMessage | WireError {
  const subtype = bytes[headerLength + 2]!;
  // RFC 7313 §5: checked only where it was negotiated, and only for its own two
  // subtypes; a longer subtype 0 carries outbound route filters (RFC 5291).
  const marksRefresh = subtype === 1 || subtype === 2;
  if (session.enhancedRouteRefresh && marksRefresh && bytes.length !== 23) {
    return new WireError('session-reset', {
      code: errorCode.routeRefresh,
      subcode: 1,
      data: new Uint8Array(bytes),
      detail: `ROUTE-REFRESH subtype ${subtype} of ${bytes.length} octets`,
    });
  }
  return {
    type: 'route-refresh',
    afi: readU16(bytes, 19),
    safi: bytes[22]!,
    subtype,
  };
}

export function encodeRouteRefresh(refresh: Omit<RouteRefreshMessage, 'type'>): Uint8Array {
  const bytes = new Uint8Array(23);
  writeHeader(bytes, messageType.routeRefresh);
  bytes[19] = refresh.afi >>> 8;
  bytes[20] = refresh.afi & 0xff;
  bytes[21] = refresh.subtype;
  bytes[22] = refresh.safi;
  return bytes;
}
