import type { AfiSafi } from './afi-safi.ts';
import { errorCode, openError, WireError } from './error.ts';
import { readU16, readU32, u16, u32 } from './octets.ts';

/**
 * Capabilities (RFC 5492). Those with a name are understood; any other is
 * carried as octets and never refused. One whose own length is wrong is: a peer
 * that cannot encode what it can do cannot be negotiated with.
 */
export type Capability =
  | { readonly name: 'multiprotocol'; readonly afi: number; readonly safi: number }
  | { readonly name: 'route-refresh' }
  | { readonly name: 'route-refresh-cisco' }
  | { readonly name: 'enhanced-route-refresh' }
  | { readonly name: 'extended-message' }
  | { readonly name: 'as4'; readonly asn: number }
  | { readonly name: 'role'; readonly role: number }
  | {
      readonly name: 'extended-next-hop';
      readonly families: readonly (AfiSafi & { readonly nextHopAfi: number })[];
    }
  | {
      readonly name: 'graceful-restart';
      /** R-bit: the speaker has restarted (RFC 4724 §3). */
      readonly restart: boolean;
      /** N-bit: NOTIFICATION and hold expiry are graceful too (RFC 8538 §2). */
      readonly notification: boolean;
      readonly timeSeconds: number;
      /** F-bit per family: forwarding state was kept. */
      readonly families: readonly (AfiSafi & { readonly forwarding: boolean })[];
    }
  | {
      readonly name: 'add-path';
      /** 1 receive, 2 send, 3 both (RFC 7911 §4). */
      readonly families: readonly (AfiSafi & { readonly mode: number })[];
    }
  | { readonly name: 'fqdn'; readonly host: string; readonly domain: string }
  | { readonly name: 'software-version'; readonly version: string }
  | { readonly name: 'unknown'; readonly code: number; readonly raw: Uint8Array };

type Name = Capability['name'];
type Named<N extends Name> = Extract<Capability, { name: N }>;

interface CapabilityCodec<N extends Name> {
  readonly code: number;
  /** undefined: the value is not of this capability's form. */
  decode(value: Uint8Array): Named<N> | undefined;
  encode(capability: Named<N>): readonly number[];
  /** Free text nobody depends on: where it is malformed it is carried raw, not refused. */
  readonly cosmetic?: true;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A capability that is its own whole meaning; some peers pad it, and that is harmless. */
function flag<N extends 'route-refresh' | 'route-refresh-cisco'>(name: N, code: number) {
  return { code, decode: () => ({ name }), encode: () => [] };
}

/** The tuples of a value from `start` on, `size` octets each; undefined if they do not fit. */
function tuples<T>(
  value: Uint8Array,
  start: number,
  size: number,
  read: (at: number) => T,
): T[] | undefined {
  if (value.length < start || (value.length - start) % size !== 0) return undefined;
  const list: T[] = [];
  for (let at = start; at < value.length; at += size) list.push(read(at));
  return list;
}

const codecs: { readonly [N in Exclude<Name, 'unknown'>]: CapabilityCodec<N> } = {
  multiprotocol: {
    code: 1, // RFC 4760 §8
    decode: (value) =>
      value.length === 4
        ? { name: 'multiprotocol', afi: readU16(value, 0), safi: value[3]! }
        : undefined,
    encode: ({ afi, safi }) => [...u16(afi), 0, safi],
  },
  'route-refresh': flag('route-refresh', 2),
  'route-refresh-cisco': flag('route-refresh-cisco', 128),
  'enhanced-route-refresh': {
    code: 70, // RFC 7313 §3.1
    decode: () => ({ name: 'enhanced-route-refresh' }),
    encode: () => [],
  },
  'extended-message': {
    code: 6, // RFC 8654 §3
    decode: () => ({ name: 'extended-message' }),
    encode: () => [],
  },
  as4: {
    code: 65, // RFC 6793 §3
    decode: (value) => (value.length === 4 ? { name: 'as4', asn: readU32(value, 0) } : undefined),
    encode: ({ asn }) => u32(asn),
  },
  role: {
    code: 9, // RFC 9234 §4.1
    decode: (value) => (value.length === 1 ? { name: 'role', role: value[0]! } : undefined),
    encode: ({ role }) => [role],
  },
  'extended-next-hop': {
    code: 5, // RFC 8950 §4
    decode(value) {
      const families = tuples(value, 0, 6, (at) => ({
        afi: readU16(value, at),
        safi: readU16(value, at + 2),
        nextHopAfi: readU16(value, at + 4),
      }));
      return families && { name: 'extended-next-hop', families };
    },
    encode: ({ families }) =>
      families.flatMap((f) => [...u16(f.afi), ...u16(f.safi), ...u16(f.nextHopAfi)]),
  },
  'graceful-restart': {
    code: 64, // RFC 4724 §3
    decode(value) {
      const families = tuples(value, 2, 4, (at) => ({
        afi: readU16(value, at),
        safi: value[at + 2]!,
        forwarding: (value[at + 3]! & 0x80) !== 0,
      }));
      if (families === undefined) return undefined;
      return {
        name: 'graceful-restart',
        restart: (value[0]! & 0x80) !== 0,
        notification: (value[0]! & 0x40) !== 0,
        timeSeconds: readU16(value, 0) & 0x0fff,
        families,
      };
    },
    encode: ({ restart, notification, timeSeconds, families }) => [
      ...u16((restart ? 0x8000 : 0) | (notification ? 0x4000 : 0) | (timeSeconds & 0x0fff)),
      ...families.flatMap((f) => [...u16(f.afi), f.safi, f.forwarding ? 0x80 : 0]),
    ],
  },
  'add-path': {
    code: 69, // RFC 7911 §4
    decode(value) {
      const families = tuples(value, 0, 4, (at) => ({
        afi: readU16(value, at),
        safi: value[at + 2]!,
        mode: value[at + 3]!,
      }));
      return families && { name: 'add-path', families };
    },
    encode: ({ families }) => families.flatMap((f) => [...u16(f.afi), f.safi, f.mode]),
  },
  fqdn: {
    code: 73, // draft-walton-bgp-hostname-capability
    cosmetic: true,
    decode(value) {
      const host = countedText(value, 0);
      const domain = host && countedText(value, host.end);
      if (domain === undefined || domain.end !== value.length) return undefined;
      return { name: 'fqdn', host: host!.text, domain: domain.text };
    },
    encode: ({ host, domain }) => [...countedOctets(host), ...countedOctets(domain)],
  },
  'software-version': {
    code: 75, // draft-abraitis-bgp-version-capability
    cosmetic: true,
    decode(value) {
      const version = countedText(value, 0);
      if (version === undefined || version.end !== value.length) return undefined;
      return { name: 'software-version', version: version.text };
    },
    encode: ({ version }) => countedOctets(version),
  },
};

const codecByCode = new Map<number, CapabilityCodec<Name>>(
  Object.values(codecs).map((codec) => [codec.code, codec as CapabilityCodec<Name>]),
);

function countedText(value: Uint8Array, at: number): { text: string; end: number } | undefined {
  const end = at + 1 + (value[at] ?? 0);
  if (at >= value.length || end > value.length) return undefined;
  try {
    return { text: utf8.decode(value.subarray(at + 1, end)), end };
  } catch {
    return undefined; // not UTF-8: carried raw
  }
}

function countedOctets(text: string): number[] {
  const octets = [...new TextEncoder().encode(text)].slice(0, 64);
  return [octets.length, ...octets];
}

export function capabilityCode(capability: Capability): number {
  return capability.name === 'unknown' ? capability.code : codecs[capability.name].code;
}

/** Reads the capabilities of one optional parameter, appending to `into`. */
export function decodeCapabilities(value: Uint8Array, into: Capability[]): WireError | undefined {
  let at = 0;
  while (at < value.length) {
    if (at + 2 > value.length) return malformed('a capability header is cut off');
    const code = value[at]!;
    const end = at + 2 + value[at + 1]!;
    if (end > value.length) return malformed(`capability ${code} overruns its parameter`);
    const data = value.subarray(at + 2, end);
    const codec = codecByCode.get(code);
    const decoded = codec?.decode(data);
    if (decoded !== undefined) into.push(decoded);
    else if (codec === undefined || codec.cosmetic) {
      // RFC 5492 §3: an unknown capability is ignored, not refused.
      into.push({ name: 'unknown', code, raw: new Uint8Array(data) });
    } else return malformed(`capability ${code} has a bad length of ${data.length}`);
    at = end;
  }
  return undefined;
}

export function encodeCapability(capability: Capability): number[] {
  if (capability.name === 'unknown') {
    return [capability.code, capability.raw.length, ...capability.raw];
  }
  const codec = codecs[capability.name] as CapabilityCodec<Name>;
  const value = codec.encode(capability);
  return [codec.code, value.length, ...value];
}

function malformed(detail: string): WireError {
  return new WireError('session-reset', {
    code: errorCode.open,
    subcode: openError.unspecific,
    detail,
  });
}
