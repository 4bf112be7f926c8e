/** Big-endian numbers in octets. */
export function readU16(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

export function readU32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
  );
}

export function readU64(bytes: Uint8Array, at: number): bigint {
  return (BigInt(readU32(bytes, at)) << 32n) | BigInt(readU32(bytes, at + 4));
}

export function u16(value: number): number[] {
  return [(value >>> 8) & 0xff, value & 0xff];
}

export function u32(value: number): number[] {
  return [...u16(value >>> 16), ...u16(value)];
}
