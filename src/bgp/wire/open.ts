import { formatIpv4Word, parseAddressText, readWord, writeWord } from './address-text.ts';
import { type Capability, decodeCapabilities, encodeCapability } from './capability.ts';
import { errorCode, openError, WireError } from './error.ts';
import { headerLength, messageType, writeHeader } from './header.ts';
import { readU16 } from './octets.ts';

export interface OpenMessage {
  readonly type: 'open';
  readonly version: number;
  /** The 2-octet field; 23456 stands for an AS above 65535. See `openAsn`. */
  readonly asn: number;
  readonly holdSeconds: number;
  readonly routerId: string;
  readonly capabilities: readonly Capability[];
  /** The optional parameters came in the long form of RFC 9072. */
  readonly extendedParameters?: true;
}

export const asTrans = 23456;
const capabilityParameter = 2;
const extendedMark = 255;

/** The AS number the peer really has: capability 65 wins over the 2-octet field (RFC 6793 §4.1). */
export function openAsn(open: OpenMessage): number {
  for (const capability of open.capabilities) {
    if (capability.name === 'as4') return capability.asn;
  }
  return open.asn;
}

/** Checks what can be judged without knowing the peer; `refuseOpen` does the rest. */
export function decodeOpen(bytes: Uint8Array): OpenMessage | WireError {
  const version = bytes[headerLength]!;
  if (version !== 4) {
    // RFC 4271 §6.2: the data is the largest version we speak.
    return fault(openError.unsupportedVersion, `version ${version}`, new Uint8Array([0, 4]));
  }
  const capabilities: Capability[] = [];
  const extendedParameters = decodeParameters(bytes, capabilities);
  if (extendedParameters instanceof WireError) return extendedParameters;
  const open: OpenMessage = {
    type: 'open',
    version,
    asn: readU16(bytes, 20),
    holdSeconds: readU16(bytes, 22),
    routerId: formatIpv4Word(readWord(bytes, 24)),
    capabilities,
    ...(extendedParameters ? { extendedParameters } : {}),
  };
  // RFC 7607 §2: AS 0 is nobody, in either field.
  if (open.asn === 0 || openAsn(open) === 0) return fault(openError.badPeerAs, 'AS 0');
  if (open.holdSeconds === 1 || open.holdSeconds === 2) {
    return fault(openError.unacceptableHoldTime, `hold time of ${open.holdSeconds} s`);
  }
  // RFC 6286 §2.2: any non-zero identifier will do.
  if (open.routerId === '0.0.0.0') return fault(openError.badIdentifier, 'BGP identifier 0');
  return open;
}

/** Reads all optional parameters; true if they came in the extended form. */
function decodeParameters(bytes: Uint8Array, into: Capability[]): boolean | WireError {
  let at = 29;
  let end = at + bytes[28]!;
  // RFC 9072 §2: type 255 first means extended lengths, whatever the short length says.
  const extended = bytes[28] !== 0 && bytes[29] === extendedMark;
  if (extended) {
    if (bytes.length < 32) return fault(openError.unspecific, 'optional parameters are cut off');
    end = 32 + readU16(bytes, 30);
    at = 32;
  }
  if (end !== bytes.length) {
    const detail = `optional parameters end at ${end}, the message at ${bytes.length}`;
    return fault(openError.unspecific, detail);
  }
  const lengthOctets = extended ? 2 : 1;
  while (at < end) {
    const start = at + 1 + lengthOctets;
    if (start > end) return fault(openError.unspecific, 'an optional parameter is cut off');
    const length = extended ? readU16(bytes, at + 1) : bytes[at + 1]!;
    const type = bytes[at]!;
    if (start + length > end) {
      return fault(openError.unspecific, `optional parameter ${type} runs past the end`);
    }
    if (type !== capabilityParameter) {
      return fault(openError.unsupportedParameter, `optional parameter ${type}`);
    }
    const error = decodeCapabilities(bytes.subarray(start, start + length), into);
    if (error !== undefined) return error;
    at = start + length;
  }
  return extended;
}

/**
 * One capability a parameter: the form every implementation reads,
 * including those that stop at the first capability of a parameter. The long
 * form of RFC 9072 only where the short one does not fit, or when asked for.
 */
export function encodeOpen(open: Omit<OpenMessage, 'type'>): Uint8Array {
  const capabilities = open.capabilities.map(encodeCapability);
  const shortLength = capabilities.reduce((sum, octets) => sum + 2 + octets.length, 0);
  const extended = open.extendedParameters === true || shortLength > 255;
  const bodyLength = extended ? 3 + shortLength + capabilities.length : shortLength;
  const bytes = new Uint8Array(29 + bodyLength);
  writeHeader(bytes, messageType.open);
  bytes[19] = open.version;
  const asn = open.asn > 0xffff ? asTrans : open.asn; // RFC 6793 §4.1
  bytes[20] = asn >>> 8;
  bytes[21] = asn & 0xff;
  bytes[22] = open.holdSeconds >>> 8;
  bytes[23] = open.holdSeconds & 0xff;
  writeWord(bytes, 24, parseAddressText(open.routerId)?.w0 ?? 0);
  let at = 29;
  bytes[28] = extended ? extendedMark : bodyLength;
  if (extended) {
    bytes[29] = extendedMark;
    bytes[30] = (bodyLength - 3) >>> 8;
    bytes[31] = (bodyLength - 3) & 0xff;
    at = 32;
  }
  for (const octets of capabilities) {
    bytes[at++] = capabilityParameter;
    if (extended) bytes[at++] = octets.length >>> 8;
    bytes[at++] = octets.length & 0xff;
    bytes.set(octets, at);
    at += octets.length;
  }
  return bytes;
}

function fault(subcode: number, detail: string, data?: Uint8Array): WireError {
  return new WireError('session-reset', {
    code: errorCode.open,
    subcode,
    detail,
    ...(data === undefined ? {} : { data }),
  });
}
