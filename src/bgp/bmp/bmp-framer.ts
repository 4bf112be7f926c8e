import { readU32 } from '../wire/octets.ts';
import { bmpHeaderLength, bmpVersion } from './bmp-message.ts';

/**
 * The longest message a router has reason to send: Peer Up with two extended
 * OPENs is 131 kB. What claims more is garbage, and must not make us gather it.
 */
const maxLength = 1 << 20;

/** Cuts a stream into BMP messages. A fault is final: without lengths there is no way back in. */
export class BmpFramer {
  #chunk: Uint8Array = new Uint8Array(0);
  #at = 0;
  #partial: Uint8Array = new Uint8Array(0);
  #partialLength = 0;
  #fault: string | undefined;

  push(chunk: Uint8Array): void {
    const fresh = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const rest = this.#chunk.subarray(this.#at);
    this.#chunk = rest.length === 0 ? fresh : new Uint8Array(Buffer.concat([rest, fresh]));
    this.#at = 0;
  }

  /** The next whole message, a fault as a string, or undefined if more octets are needed. */
  next(): Uint8Array | string | undefined {
    if (this.#fault !== undefined) return this.#fault;
    if (this.#partialLength === 0) {
      const whole = this.#wholeInChunk();
      if (whole !== undefined) return whole;
      if (this.#at === this.#chunk.length) return undefined;
    }
    return this.#gather();
  }

  /** The common case, without a copy. */
  #wholeInChunk(): Uint8Array | string | undefined {
    const available = this.#chunk.length - this.#at;
    if (available < bmpHeaderLength) return undefined;
    const length = this.#lengthAt(this.#chunk, this.#at);
    if (typeof length === 'string') return length;
    if (available < length) return undefined;
    this.#at += length;
    return this.#chunk.subarray(this.#at - length, this.#at);
  }

  #gather(): Uint8Array | string | undefined {
    if (!this.#fillTo(bmpHeaderLength)) return undefined;
    const length = this.#lengthAt(this.#partial, 0);
    if (typeof length === 'string') return length;
    if (!this.#fillTo(length)) return undefined;
    const message = this.#partial;
    this.#partial = new Uint8Array(0);
    this.#partialLength = 0;
    return message;
  }

  #fillTo(length: number): boolean {
    if (this.#partial.length < length) {
      const larger = new Uint8Array(length);
      larger.set(this.#partial.subarray(0, this.#partialLength));
      this.#partial = larger;
    }
    const taken = Math.min(length - this.#partialLength, this.#chunk.length - this.#at);
    if (taken > 0) {
      this.#partial.set(this.#chunk.subarray(this.#at, this.#at + taken), this.#partialLength);
      this.#partialLength += taken;
      this.#at += taken;
    }
    return this.#partialLength >= length;
  }

  #lengthAt(bytes: Uint8Array, at: number): number | string {
    const version = bytes[at]!;
    const length = readU32(bytes, at + 1);
    if (version !== bmpVersion) return this.#break(`BMP version ${version}`);
    if (length < bmpHeaderLength || length > maxLength) {
      return this.#break(`BMP message length ${length}`);
    }
    return length;
  }

  #break(fault: string): string {
    this.#fault = fault;
    this.#chunk = this.#partial = new Uint8Array(0);
    this.#at = this.#partialLength = 0;
    return fault;
  }
}
