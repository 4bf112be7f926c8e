import { addressOctets } from './address-text.ts';
import { type AfiSafi, afiIpv4, ipv4Unicast, sameFamily } from './afi-safi.ts';
import { attributeFlag, optionalNonTransitive } from './attribute/attribute-codec.ts';
import { mpReachType, mpUnreachType } from './attribute/multiprotocol.ts';
import type { PathAttributes } from './attribute/path-attributes.ts';
import { attributeTable } from './attribute/table.ts';
import { classicMaxLength, extendedMaxLength, messageType, writeHeader } from './header.ts';
import type { Nlri } from './nlri.ts';
import type { SessionContext } from './session-context.ts';

/** Header, withdrawn length, attribute length. */
const fixedLength = 23;

/** Routes that share everything but their prefix, all of one family. */
interface AnnounceGroup {
  readonly prefixes: readonly Nlri[];
  readonly attributes: PathAttributes;
  /** One address, or an IPv6 global and a link-local one (RFC 2545 §3). */
  readonly nextHops: readonly string[];
}

/**
 * As few UPDATEs as fit. IPv4 goes into the classic field, which every speaker
 * reads; MP_REACH_NLRI carries IPv6, and IPv4 with an IPv6 next hop (RFC 8950).
 * MP_REACH_NLRI comes first (RFC 7606 §5.1), and no UPDATE both announces and
 * withdraws.
 */
export function encodeAnnounce(group: AnnounceGroup, session: SessionContext): Uint8Array[] {
  const first = group.prefixes[0];
  if (first === undefined) return [];
  const nextHop = nextHopBytes(group.nextHops);
  const classic = first.afi === afiIpv4 && nextHop.length === 4;
  const nextHopText = group.nextHops[0]!;
  const attributes = encodeAttributes(
    classic ? { ...group.attributes, nextHop: nextHopText } : withoutNextHop(group.attributes),
    session,
  );
  const addPath = first.afi === afiIpv4 ? session.addPathIpv4 : session.addPathIpv6;
  if (classic) {
    const before = new Uint8Array(4 + attributes.length);
    before[2] = attributes.length >>> 8;
    before[3] = attributes.length & 0xff;
    before.set(attributes, 4);
    return pack(group.prefixes, { before, after: noBytes, patch: keepLengths }, addPath, session);
  }
  // withdrawn length 0, attribute length, MP_REACH header, family, next hop, reserved octet
  const before = new Uint8Array(4 + 4 + 4 + nextHop.length + 1);
  before.set([attributeFlag.optional | attributeFlag.extendedLength, mpReachType], 4);
  before.set([first.afi >>> 8, first.afi, 1, nextHop.length], 8);
  before.set(nextHop, 12);
  return pack(group.prefixes, { before, after: attributes, patch: patchMp }, addPath, session);
}

/** Withdrawals in as few UPDATEs as fit; IPv4 in the classic field unless asked otherwise. */
export function encodeWithdraw(
  prefixes: readonly Nlri[],
  session: SessionContext,
  options: { readonly multiprotocol?: boolean } = {},
): Uint8Array[] {
  const first = prefixes[0];
  if (first === undefined) return [];
  const addPath = first.afi === afiIpv4 ? session.addPathIpv4 : session.addPathIpv6;
  if (first.afi === afiIpv4 && options.multiprotocol !== true) {
    const frame = { before: new Uint8Array(2), after: new Uint8Array(2), patch: patchWithdrawn };
    return pack(prefixes, frame, addPath, session);
  }
  const before = new Uint8Array(4 + 4 + 3);
  before.set([attributeFlag.optional | attributeFlag.extendedLength, mpUnreachType], 4);
  before.set([first.afi >>> 8, first.afi, 1], 8);
  return pack(prefixes, { before, after: noBytes, patch: patchMp }, addPath, session);
}

/** RFC 4724 §2. */
export function encodeEndOfRib(family: AfiSafi): Uint8Array {
  const classic = sameFamily(family, ipv4Unicast);
  const bytes = new Uint8Array(classic ? fixedLength : fixedLength + 6);
  writeHeader(bytes, messageType.update);
  if (!classic) {
    const unreach = [optionalNonTransitive, mpUnreachType, 3];
    bytes.set([0, 6, ...unreach, family.afi >>> 8, family.afi & 0xff, family.safi], 21);
  }
  return bytes;
}

const noBytes = new Uint8Array(0);

/** The octets around the NLRI of an UPDATE, and how their length fields depend on it. */
interface Frame {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  patch(message: Uint8Array, frame: Frame, nlriLength: number): void;
}

function keepLengths(): void {}

function patchWithdrawn(message: Uint8Array, _frame: Frame, nlriLength: number): void {
  writeU16(message, 19, nlriLength);
}

function patchMp(message: Uint8Array, frame: Frame, nlriLength: number): void {
  const attribute = frame.before.length - 4 + nlriLength;
  writeU16(message, 21, attribute + frame.after.length);
  writeU16(message, 25, attribute - 4);
}

function pack(
  prefixes: readonly Nlri[],
  frame: Frame,
  addPath: boolean,
  session: SessionContext,
): Uint8Array[] {
  const { before, after } = frame;
  const limit = session.extendedMessage ? extendedMaxLength : classicMaxLength;
  const start = 19 + before.length;
  const end = limit - after.length;
  const buffer = new Uint8Array(limit);
  const messages: Uint8Array[] = [];
  let at = start;
  const flush = () => {
    const message = buffer.slice(0, at + after.length);
    writeHeader(message, messageType.update);
    message.set(before, 19);
    message.set(after, at);
    frame.patch(message, frame, at - start);
    messages.push(message);
    at = start;
  };
  for (const prefix of prefixes) {
    const length = prefix.wireLength(addPath);
    if (at + length > end) {
      if (at > start) flush();
      if (at + length > end) throw new RangeError('path attributes leave no room for a prefix');
    }
    prefix.write(buffer, at, addPath);
    at += length;
  }
  if (at > start) flush();
  return messages;
}

/** The attribute field without MP attributes, ascending by type (RFC 4271 §5). */
function encodeAttributes(from: PathAttributes, session: SessionContext): Uint8Array {
  const parts: { readonly type: number; readonly flags: number; readonly value: Uint8Array }[] = [];
  for (const codec of attributeTable) {
    const value = codec.encode(from, session);
    if (value !== undefined) parts.push({ type: codec.type, flags: codec.flags, value });
  }
  if (from.other !== undefined) {
    parts.push(...from.other);
    parts.sort((a, b) => a.type - b.type);
  }
  let length = 0;
  for (const { value } of parts) length += (value.length > 255 ? 4 : 3) + value.length;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const { type, flags, value } of parts) {
    const extended = value.length > 255;
    bytes[at++] =
      (flags & ~attributeFlag.extendedLength) | (extended ? attributeFlag.extendedLength : 0);
    bytes[at++] = type;
    if (extended) bytes[at++] = value.length >>> 8;
    bytes[at++] = value.length & 0xff;
    bytes.set(value, at);
    at += value.length;
  }
  return bytes;
}

function nextHopBytes(nextHops: readonly string[]): Uint8Array {
  const parts = nextHops.map((text) => {
    const octets = addressOctets(text);
    if (octets === undefined) throw new RangeError(`next hop ${text} is no address`);
    return octets;
  });
  if (parts.length === 0) throw new RangeError('an announcement needs a next hop');
  return parts.length === 1 ? parts[0]! : new Uint8Array(parts.flatMap((part) => [...part]));
}

function withoutNextHop({ nextHop: _, ...rest }: PathAttributes): PathAttributes {
  return rest;
}

function writeU16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value & 0xff;
}
