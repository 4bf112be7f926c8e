import { errorCode } from './error.ts';
import { headerLength, messageType, writeHeader } from './header.ts';

export interface NotificationMessage {
  readonly type: 'notification';
  readonly code: number;
  readonly subcode: number;
  readonly data: Uint8Array;
  /** The words of the other operator (RFC 9003), on a shutdown or reset that has some. */
  readonly shutdownCommunication?: string;
}

export const ceaseSubcode = {
  maxPrefixes: 1,
  adminShutdown: 2,
  deconfigured: 3,
  adminReset: 4,
  rejected: 5,
  configChange: 6,
  collision: 7,
  outOfResources: 8,
  hardReset: 9,
  bfdDown: 10,
} as const;

const noData = new Uint8Array(0);

export function decodeNotification(bytes: Uint8Array): NotificationMessage {
  const code = bytes[headerLength]!;
  const subcode = bytes[headerLength + 1]!;
  const data = bytes.length > 21 ? new Uint8Array(bytes.subarray(21)) : noData;
  const text = carriesWords(code, subcode) ? readWords(data) : undefined;
  return {
    type: 'notification',
    code,
    subcode,
    data,
    ...(text === undefined ? {} : { shutdownCommunication: text }),
  };
}

export function encodeNotification(notification: {
  readonly code: number;
  readonly subcode: number;
  readonly data?: Uint8Array;
  readonly shutdownCommunication?: string;
}): Uint8Array {
  const data = notification.data ?? wordsData(notification.shutdownCommunication);
  // RFC 4271 §4.1: what does not fit is not worth a longer message.
  const kept = data.subarray(0, 4096 - 21);
  const bytes = new Uint8Array(21 + kept.length);
  writeHeader(bytes, messageType.notification);
  bytes[19] = notification.code;
  bytes[20] = notification.subcode;
  bytes.set(kept, 21);
  return bytes;
}

/** RFC 9003 §2: only Administrative Shutdown and Administrative Reset carry words. */
function carriesWords(code: number, subcode: number): boolean {
  return (
    code === errorCode.cease &&
    (subcode === ceaseSubcode.adminShutdown || subcode === ceaseSubcode.adminReset)
  );
}

/** RFC 9003 §2: a length octet, then UTF-8. Words that break that are only data. */
function readWords(data: Uint8Array): string | undefined {
  const length = data[0];
  if (length === undefined || length === 0 || length > data.length - 1) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(data.subarray(1, 1 + length));
  } catch {
    return undefined; // not UTF-8: the data is still there for the log
  }
}

/** At most 255 octets, cut between characters. */
function wordsData(text: string | undefined): Uint8Array {
  if (text === undefined || text === '') return noData;
  const octets = new Uint8Array(255);
  const { written } = new TextEncoder().encodeInto(text, octets);
  const data = new Uint8Array(1 + written);
  data[0] = written;
  data.set(octets.subarray(0, written), 1);
  return data;
}
