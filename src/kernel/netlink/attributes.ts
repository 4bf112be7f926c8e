/**
 * Netlink's bytes: fixed structs and attributes (length, type, value, padded
 * to four), in the byte order of the machine; addresses and a few named fields
 * in network order. One writer, one reader; what the attributes mean is said
 * in the *-messages files.
 */
import { endianness } from 'node:os';
import { Address } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';

const isLittle = endianness() === 'LE';
const NLA_F_NESTED = 0x8000;
const NLA_TYPE_MASK = 0x3fff;

export const AF_UNSPEC = 0;
export const AF_INET = 2;
export const AF_BRIDGE = 7;
export const AF_INET6 = 10;

export function familyNumber(family: Family): number {
  return family === 'ipv4' ? AF_INET : AF_INET6;
}

export class NetlinkWriter {
  #bytes = new Uint8Array(512);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  u8(value: number): this {
    const at = this.#grow(1);
    this.#bytes[at] = value;
    return this;
  }

  u16(value: number): this {
    const at = this.#grow(2);
    this.#view.setUint16(at, value, isLittle);
    return this;
  }

  u32(value: number): this {
    const at = this.#grow(4);
    this.#view.setUint32(at, value >>> 0, isLittle);
    return this;
  }

  raw(bytes: Uint8Array): this {
    const at = this.#grow(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  /** Zeros up to the next multiple of four. */
  pad(): this {
    this.#grow(-this.length & 3);
    return this;
  }

  /** Overwrites a length that is known only at the end. */
  patchU16(at: number, value: number): void {
    this.#view.setUint16(at, value, isLittle);
  }

  attr(type: number, value: Uint8Array): this {
    return this.u16(4 + value.length)
      .u16(type)
      .raw(value)
      .pad();
  }

  attrU8(type: number, value: number): this {
    return this.u16(5).u16(type).u8(value).pad();
  }

  attrU16(type: number, value: number): this {
    return this.u16(6).u16(type).u16(value).pad();
  }

  /** Network byte order: UDP ports. */
  attrU16Net(type: number, value: number): this {
    return this.attr(type, Uint8Array.of(value >> 8, value & 255));
  }

  attrU32(type: number, value: number): this {
    return this.u16(8).u16(type).u32(value);
  }

  attrText(type: number, text: string): this {
    return this.attr(type, Buffer.from(`${text}\0`, 'utf8'));
  }

  attrAddress(type: number, address: Address): this {
    return this.attr(type, addressBytes(address));
  }

  nest(type: number, fill: (writer: this) => void): this {
    const at = this.length;
    this.u16(0).u16(type | NLA_F_NESTED);
    fill(this);
    this.patchU16(at, this.length - at);
    return this;
  }

  clear(): void {
    this.length = 0;
  }

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.length);
  }

  /** May move the bytes: ask for room first, then touch them. */
  #grow(by: number): number {
    const at = this.length;
    this.length += by;
    if (this.length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    // Bytes that nobody writes are zero, also after clear().
    this.#bytes.fill(0, at, this.length);
    return at;
  }
}

/** A stretch of a received message. Reads past its end throw RangeError, as DataView does. */
export class NetlinkReader {
  readonly bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u8(at: number): number {
    return this.#view.getUint8(at);
  }

  u16(at: number): number {
    return this.#view.getUint16(at, isLittle);
  }

  u16Net(at: number): number {
    return this.#view.getUint16(at, false);
  }

  u32(at: number): number {
    return this.#view.getUint32(at, isLittle);
  }

  i32(at: number): number {
    return this.#view.getInt32(at, isLittle);
  }

  text(): string {
    const end = this.bytes.indexOf(0);
    return Buffer.from(this.bytes.subarray(0, end < 0 ? undefined : end)).toString('utf8');
  }

  /** An address of the family its length says, or undefined. */
  address(from = 0): Address | undefined {
    const word = (index: number) => this.#view.getInt32(from + index * 4, false);
    switch (this.bytes.length - from) {
      case 4:
        return new Address('ipv4', word(0), 0, 0, 0);
      case 16:
        return new Address('ipv6', word(0), word(1), word(2), word(3));
      default:
        return undefined;
    }
  }

  /** The attributes from `at` on, by type; the last of a repeated type wins, as in the kernel. */
  attrs(at = 0): Map<number, NetlinkReader> {
    const found = new Map<number, NetlinkReader>();
    let offset = at;
    while (offset + 4 <= this.bytes.length) {
      const length = this.u16(offset);
      if (length < 4 || offset + length > this.bytes.length) break;
      found.set(
        this.u16(offset + 2) & NLA_TYPE_MASK,
        new NetlinkReader(this.bytes.subarray(offset + 4, offset + length)),
      );
      offset += (length + 3) & ~3;
    }
    return found;
  }
}

export function addressBytes(address: Address): Uint8Array {
  const view = new DataView(new ArrayBuffer(address.family === 'ipv4' ? 4 : 16));
  view.setInt32(0, address.w0);
  if (address.family === 'ipv6') {
    view.setInt32(4, address.w1);
    view.setInt32(8, address.w2);
    view.setInt32(12, address.w3);
  }
  return new Uint8Array(view.buffer);
}

export function macBytes(mac: string): Uint8Array {
  if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac)) {
    throw new RangeError(`"${mac}" is not a MAC address`);
  }
  return Uint8Array.from(mac.split(':'), (part) => Number.parseInt(part, 16));
}

export function macText(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(':');
}
