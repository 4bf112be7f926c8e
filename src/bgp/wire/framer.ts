import type { WireError } from './error.ts';
import { checkHeader, headerLength, messageLength } from './header.ts';
import { MessageCutter } from './message-cutter.ts';
import type { SessionContext } from './session-context.ts';

/**
 * Cuts a stream into BGP messages.
 *
 *   framer.push(chunk);
 *   for (let m = framer.next(session); m !== undefined; m = framer.next(session)) …
 *
 * The context is asked for each message because it changes between two of them:
 * the OPEN decides how long the one after it may be.
 */
export class Framer {
  readonly #cutter = new MessageCutter<WireError>(headerLength);

  push(chunk: Uint8Array): void {
    this.#cutter.push(chunk);
  }

  /** The next whole message, undefined if more octets are needed; an error is final. */
  next(session: SessionContext): Uint8Array | WireError | undefined {
    return this.#cutter.next(
      (bytes, at) => checkHeader(bytes, at, session) ?? messageLength(bytes, at),
    );
  }

  /** Octets held back for a message that is not complete. */
  get pendingLength(): number {
    return this.#cutter.pendingLength;
  }
}
