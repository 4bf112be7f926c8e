import { MessageCutter } from '../wire/message-cutter.ts';
import { readU32 } from '../wire/octets.ts';
import { bmpHeaderLength, bmpVersion } from './bmp-message.ts';

/**
 * The longest message a router has reason to send: Peer Up with two extended
 * OPENs is 131 kB. What claims more is garbage, and must not make us gather it.
 */
const maxLength = 1 << 20;

/** Cuts a stream into BMP messages. */
export class BmpFramer {
  readonly #cutter = new MessageCutter<string>(bmpHeaderLength);

  push(chunk: Uint8Array): void {
    this.#cutter.push(chunk);
  }

  /** The next whole message, a fault as a string, or undefined if more octets are needed. */
  next(): Uint8Array | string | undefined {
    return this.#cutter.next(lengthAt);
  }
}

function lengthAt(bytes: Uint8Array, at: number): number | string {
  const version = bytes[at]!;
  if (version !== bmpVersion) return `BMP version ${version}`;
  const length = readU32(bytes, at + 1);
  return length < bmpHeaderLength || length > maxLength ? `BMP message length ${length}` : length;
}
