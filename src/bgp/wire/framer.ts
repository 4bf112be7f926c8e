import type { WireError } from './error.ts';
import { checkHeader, headerLength, messageLength } from './header.ts';
import type { SessionContext } from './session-context.ts';

/**
 * Cuts a stream of octets, split anywhere, into messages. A message that lies
 * whole in one chunk is handed out as a view of it; only the one cut by a chunk
 * boundary is copied, once. The header is judged as soon as it is complete, so
 * that garbage is refused at its 19th octet and nothing more is gathered.
 *
 *   framer.push(chunk);
 *   for (let m = framer.next(session); m !== undefined; m = framer.next(session)) …
 *
 * The context is asked for each message because it changes between two of them:
 * the OPEN decides how long the one after it may be.
 */
export class Framer {
  #chunk: Uint8Array = new Uint8Array(0);
  #at = 0;
  /** Start of a message whose end has not arrived. */
  #partial: Uint8Array = new Uint8Array(0);
  #partialLength = 0;
  #broken: WireError | undefined;

  push(chunk: Uint8Array): void {
    // A Buffer's slice and subarray differ from a Uint8Array's; see only the latter.
    const fresh = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const rest = this.#chunk.length - this.#at;
    if (rest === 0) {
      this.#chunk = fresh;
    } else {
      // The caller stopped before `next` ran dry.
      const joined = new Uint8Array(rest + fresh.length);
      joined.set(this.#chunk.subarray(this.#at));
      joined.set(fresh, rest);
      this.#chunk = joined;
    }
    this.#at = 0;
  }

  /** The next whole message, undefined if more octets are needed; an error is final. */
  next(session: SessionContext): Uint8Array | WireError | undefined {
    if (this.#broken !== undefined) return this.#broken;
    return this.#partialLength > 0 ? this.#finishPartial(session) : this.#nextInChunk(session);
  }

  /** Octets held back for a message that is not complete. */
  get pendingLength(): number {
    return this.#partialLength + this.#chunk.length - this.#at;
  }

  #nextInChunk(session: SessionContext): Uint8Array | WireError | undefined {
    const available = this.#chunk.length - this.#at;
    if (available === 0) return undefined;
    if (available < headerLength) return this.#stash(headerLength);
    const error = checkHeader(this.#chunk, this.#at, session);
    if (error !== undefined) return this.#break(error);
    const length = messageLength(this.#chunk, this.#at);
    if (available < length) return this.#stash(length);
    const message = this.#chunk.subarray(this.#at, this.#at + length);
    this.#at += length;
    return message;
  }

  #finishPartial(session: SessionContext): Uint8Array | WireError | undefined {
    if (!this.#fillTo(headerLength)) return undefined;
    const error = checkHeader(this.#partial, 0, session);
    if (error !== undefined) return this.#break(error);
    const length = messageLength(this.#partial, 0);
    if (!this.#fillTo(length)) return undefined;
    const message = this.#partial.subarray(0, length);
    this.#partial = new Uint8Array(0);
    this.#partialLength = 0;
    return message;
  }

  /** Moves the rest of the chunk, the start of a message of `length` octets, aside. */
  #stash(length: number): undefined {
    this.#partial = new Uint8Array(length);
    this.#fillTo(length);
    return undefined;
  }

  #fillTo(length: number): boolean {
    if (this.#partial.length < length) {
      const larger = new Uint8Array(length);
      larger.set(this.#partial.subarray(0, this.#partialLength));
      this.#partial = larger;
    }
    const wanted = length - this.#partialLength;
    const taken = Math.min(Math.max(wanted, 0), this.#chunk.length - this.#at);
    this.#partial.set(this.#chunk.subarray(this.#at, this.#at + taken), this.#partialLength);
    this.#partialLength += taken;
    this.#at += taken;
    return this.#partialLength >= length;
  }

  #break(error: WireError): WireError {
    this.#broken = error;
    this.#chunk = this.#partial = new Uint8Array(0);
    this.#at = this.#partialLength = 0;
    return error;
  }
}
