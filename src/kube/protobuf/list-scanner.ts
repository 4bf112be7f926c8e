import { ProtobufFields } from '../../base/protobuf-fields.ts';
import type { ListHead } from '../list-scanner.ts';
import { type Decode, hasMagic, magicLength } from './envelope.ts';

/**
 * A list in protobuf, object by object as the bytes come in, as ListScanner does
 * for JSON: an envelope, in it the list's metadata, and then its items.
 */
export class ProtobufListScanner<Raw> {
  readonly #decode: Decode<Raw>;
  readonly #onHead: (head: ListHead) => void;
  readonly #onItem: (item: Raw) => void;
  /** Bytes of a field whose end has not come. */
  #rest: Buffer | undefined;
  #hasBegun = false;
  /** What is left of the list inside the envelope; undefined outside. */
  #left: number | undefined;
  #hasEnded = false;
  #head: ListHead | undefined;

  constructor(decode: Decode<Raw>, onHead: (head: ListHead) => void, onItem: (item: Raw) => void) {
    this.#decode = decode;
    this.#onHead = onHead;
    this.#onItem = onItem;
  }

  push(piece: Buffer): void {
    const bytes = this.#rest === undefined ? piece : Buffer.concat([this.#rest, piece]);
    let at = 0;
    if (!this.#hasBegun) {
      if (bytes.length < magicLength) {
        this.#rest = bytes;
        return;
      }
      if (!hasMagic(bytes)) throw new Error('protobuf: the list does not begin as Kubernetes does');
      this.#hasBegun = true;
      at = magicLength;
    }
    for (;;) {
      const field = readHeader(bytes, at);
      if (field === undefined) break;
      if (this.#left === undefined && field.number === 2) {
        // The list itself: go in, whatever its length.
        this.#left = field.length;
        at = field.start;
        this.#leaveIfDone();
        continue;
      }
      const end = field.start + field.length;
      if (end > bytes.length) break;
      if (this.#left !== undefined) {
        this.#take(field.number, new ProtobufFields(bytes, field.start, end));
        this.#left -= end - at;
        this.#leaveIfDone();
      }
      at = end;
    }
    // A copy: a slice would keep the whole piece in memory.
    this.#rest = at === bytes.length ? undefined : Buffer.from(bytes.subarray(at));
  }

  /** Undefined when the bytes were no whole list. */
  finish(): ListHead | undefined {
    return this.#hasEnded && this.#rest === undefined ? this.#head : undefined;
  }

  #leaveIfDone(): void {
    if (this.#left !== 0) return;
    this.#left = undefined;
    this.#hasEnded = true;
  }

  #take(number: number, fields: ProtobufFields): void {
    if (number === 1) {
      this.#head = readHead(fields);
      this.#onHead(this.#head);
    } else if (number === 2) {
      if (this.#head === undefined) throw new Error('protobuf: the items come before the head');
      this.#onItem(this.#decode(fields));
    }
  }
}

/** Tag and length of a length-delimited field; undefined if they have not come whole. */
function readHeader(
  bytes: Buffer,
  at: number,
): { number: number; start: number; length: number } | undefined {
  const tag = bytes[at];
  if (tag === undefined) return undefined;
  if ((tag & 7) !== 2 || tag >= 0x80) throw new Error(`protobuf: a list with the tag ${tag}`);
  let length = 0;
  for (let n = 1; n <= 5; n += 1) {
    const byte = bytes[at + n];
    if (byte === undefined) return undefined;
    length += (byte & 0x7f) * 128 ** (n - 1);
    if (byte < 0x80) return { number: tag >>> 3, start: at + n + 1, length };
  }
  throw new Error('protobuf: a length without end');
}

function readHead(fields: ProtobufFields): ListHead {
  const head: ListHead = { resourceVersion: '', continue: '', remaining: undefined };
  while (fields.next()) {
    if (fields.number === 2) head.resourceVersion = fields.text();
    else if (fields.number === 3) head.continue = fields.text();
    else if (fields.number === 4) head.remaining = fields.value;
  }
  return head;
}
