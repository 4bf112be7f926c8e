/**
 * Cuts a stream of octets, split anywhere, into messages that carry their length in a
 * header of fixed size. A message that lies whole in one chunk is handed out as a view
 * of it; only the one cut by a chunk boundary is copied, once. The header is judged as
 * soon as it is complete, so that nothing more is gathered for one that is wrong. A
 * fault is final: without lengths nobody knows where the next message begins.
 */
export class MessageCutter<Fault extends object | string> {
  readonly #headerLength: number;
  #chunk: Uint8Array = new Uint8Array(0);
  #at = 0;
  /** Start of a message whose end has not arrived. */
  #partial: Uint8Array = new Uint8Array(0);
  #partialLength = 0;
  #fault: Fault | undefined;

  constructor(headerLength: number) {
    this.#headerLength = headerLength;
  }

  push(chunk: Uint8Array): void {
    // A Buffer's slice and subarray differ from a Uint8Array's; see only the latter.
    const fresh = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    // There is a rest where the caller stopped before `next` ran dry.
    const rest = this.#chunk.subarray(this.#at);
    this.#chunk = rest.length === 0 ? fresh : new Uint8Array(Buffer.concat([rest, fresh]));
    this.#at = 0;
  }

  /** The next whole message, undefined if more octets are needed. `measure` reads a header. */
  next(measure: (bytes: Uint8Array, at: number) => number | Fault): Uint8Array | Fault | undefined {
    if (this.#fault !== undefined) return this.#fault;
    if (this.#partialLength === 0) {
      const available = this.#chunk.length - this.#at;
      if (available === 0) return undefined;
      if (available >= this.#headerLength) {
        const length = measure(this.#chunk, this.#at);
        if (typeof length !== 'number') return this.#break(length);
        if (available >= length) {
          this.#at += length;
          return this.#chunk.subarray(this.#at - length, this.#at);
        }
      }
    }
    if (!this.#fillTo(this.#headerLength)) return undefined;
    const length = measure(this.#partial, 0);
    if (typeof length !== 'number') return this.#break(length);
    if (!this.#fillTo(length)) return undefined;
    const message = this.#partial.subarray(0, length);
    this.#partial = new Uint8Array(0);
    this.#partialLength = 0;
    return message;
  }

  /** Octets held back for a message that is not complete. */
  get pendingLength(): number {
    return this.#partialLength + this.#chunk.length - this.#at;
  }

  #fillTo(length: number): boolean {
    if (this.#partial.length < length) {
      const larger = new Uint8Array(length);
      larger.set(this.#partial.subarray(0, this.#partialLength));
      this.#partial = larger;
    }
    const wanted = Math.max(length - this.#partialLength, 0);
    const taken = Math.min(wanted, this.#chunk.length - this.#at);
    this.#partial.set(this.#chunk.subarray(this.#at, this.#at + taken), this.#partialLength);
    this.#partialLength += taken;
    this.#at += taken;
    return this.#partialLength >= length;
  }

  #break(fault: Fault): Fault {
    this.#fault = fault;
    this.#chunk = this.#partial = new Uint8Array(0);
    this.#at = this.#partialLength = 0;
    return fault;
  }
}
