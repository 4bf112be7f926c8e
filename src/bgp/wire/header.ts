import { errorCode, headerError, WireError } from './error.ts';
import { readU16 } from './octets.ts';
import type { SessionContext } from './session-context.ts';

export const headerLength = 19;
export const classicMaxLength = 4096;
export const extendedMaxLength = 65535;

export const messageType = {
  open: 1,
  update: 2,
  notification: 3,
  keepalive: 4,
  routeRefresh: 5,
} as const;

/** Shortest legal length of each message type; index is the type (RFC 4271 §6.1, RFC 2918 §3). */
const minLength = [0, 29, 23, 21, 19, 23] as const;

/**
 * Everything that can be said about a message from its first 19 octets, in the
 * order of RFC 4271 §6.1: marker, length, type.
 */
export function checkHeader(
  bytes: Uint8Array,
  at: number,
  session: SessionContext,
): WireError | undefined {
  const type = bytes[at + 18]!;
  // RFC 4271 §6.4: an error in a NOTIFICATION is for the log only.
  const quiet = type === messageType.notification;
  for (let octet = at; octet < at + 16; octet++) {
    if (bytes[octet] !== 0xff) {
      return headerFault(headerError.notSynchronized, 'the marker is not all ones', false);
    }
  }
  const length = messageLength(bytes, at);
  const lengthField = bytes.subarray(at + 16, at + 18);
  if (length < headerLength || length > maxLength(type, session)) {
    return headerFault(headerError.badLength, `message length ${length}`, quiet, lengthField);
  }
  const least = minLength[type];
  if (type === 0 || least === undefined) {
    const typeField = bytes.subarray(at + 18, at + 19);
    return headerFault(headerError.badType, `message type ${type}`, false, typeField);
  }
  if (length < least || (type === messageType.keepalive && length !== least)) {
    const detail = `length ${length} for a message of type ${type}`;
    return headerFault(headerError.badLength, detail, quiet, lengthField);
  }
  return undefined;
}

/** RFC 8654 §4: OPEN and KEEPALIVE keep the old limit. */
function maxLength(type: number, session: SessionContext): number {
  const extended =
    session.extendedMessage && type !== messageType.open && type !== messageType.keepalive;
  return extended ? extendedMaxLength : classicMaxLength;
}

export function messageLength(bytes: Uint8Array, at: number): number {
  return readU16(bytes, at + 16);
}

/** Fills in marker, length and type of a message of `bytes.length` octets. */
export function writeHeader(bytes: Uint8Array, type: number): void {
  bytes.fill(0xff, 0, 16);
  bytes[16] = bytes.length >>> 8;
  bytes[17] = bytes.length & 0xff;
  bytes[18] = type;
}

function headerFault(
  subcode: number,
  detail: string,
  quiet: boolean,
  data?: Uint8Array,
): WireError {
  return new WireError('session-reset', {
    code: errorCode.header,
    subcode,
    detail,
    quiet,
    // The data outlives the receive buffer it points into.
    ...(data === undefined ? {} : { data: new Uint8Array(data) }),
  });
}
