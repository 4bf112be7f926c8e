import { ProtobufFields } from '../../base/protobuf-fields.ts';
import { ApiError } from '../api-error.ts';
import type { StoredObject } from '../resource.ts';
import { errorOfStatus, type WatchEvent, type WatchEventType } from '../watch-lines.ts';
import { type Decode, decodeStatus, openEnvelope } from './envelope.ts';

/** Longer than any object the API server keeps (1.5 MiB); what says more is no frame. */
const longestFrame = 16 << 20;
const eventTypes = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

/**
 * A watch in protobuf, as WatchLines is for JSON: four bytes of length, then the
 * event. A frame cut off by the end of the stream is dropped.
 */
export class WatchFrames<Raw extends StoredObject> {
  readonly #request: string;
  readonly #decode: Decode<Raw>;
  readonly #onEvent: (event: WatchEvent) => void;
  #rest: Buffer[] = [];
  #restLength = 0;
  /** How many bytes must be there before it is worth looking again. */
  #needed = 4;

  constructor(request: string, decode: Decode<Raw>, onEvent: (event: WatchEvent) => void) {
    this.#request = request;
    this.#decode = decode;
    this.#onEvent = onEvent;
  }

  push(piece: Buffer): void {
    this.#rest.push(piece);
    this.#restLength += piece.length;
    if (this.#restLength < this.#needed) return;
    const bytes = this.#rest.length === 1 ? piece : Buffer.concat(this.#rest);
    let at = 0;
    for (;;) {
      this.#needed = 4;
      if (bytes.length - at < 4) break;
      const length = bytes.readUInt32BE(at);
      if (length > longestFrame) throw this.#unreadable(`a frame of ${length} bytes`);
      this.#needed = 4 + length;
      if (bytes.length - at < this.#needed) break;
      this.#frame(bytes.subarray(at + 4, at + this.#needed));
      at += this.#needed;
    }
    const rest = bytes.subarray(at);
    this.#rest = rest.length === 0 ? [] : [Buffer.from(rest)];
    this.#restLength = rest.length;
  }

  #frame(bytes: Buffer): void {
    let event: { type: string; object: Buffer };
    let object: unknown;
    try {
      event = readEvent(bytes);
      const { fields } = openEnvelope(event.object);
      object = event.type === 'ERROR' ? decodeStatus(fields) : this.#decode(fields);
    } catch (error) {
      throw this.#unreadable(error instanceof Error ? error.message : String(error));
    }
    if (event.type === 'ERROR') throw errorOfStatus(this.#request, object);
    if (!eventTypes.has(event.type)) throw this.#unreadable(`an event of type ${event.type}`);
    this.#onEvent({ type: event.type as WatchEventType, object: object as Raw });
  }

  #unreadable(what: string): ApiError {
    const detail = `the watch sent what is no event: ${what}`;
    return new ApiError({ request: this.#request, status: 0, detail });
  }
}

/** metav1.WatchEvent: its type, and the envelope of its object (runtime.RawExtension). */
function readEvent(bytes: Buffer): { type: string; object: Buffer } {
  const fields = new ProtobufFields(bytes);
  let type = '';
  let object: Buffer = Buffer.alloc(0);
  while (fields.next()) {
    if (fields.number === 1) type = fields.text();
    else if (fields.number === 2) {
      const extension = fields.inside();
      while (extension.next()) {
        if (extension.number === 1) object = bytes.subarray(extension.start, extension.end);
      }
    }
  }
  return { type, object };
}
