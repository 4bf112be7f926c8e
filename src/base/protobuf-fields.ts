/**
 * Protocol buffers as they lie on the wire, read field by field. A field that
 * nobody wants is stepped over by its length, which is the point: of a Node's
 * kilobytes the images and heartbeats are never looked at.
 */
export class ProtobufFields {
  readonly bytes: Buffer;
  #at: number;
  readonly #end: number;
  /** Of the field that `next` came to: its number, and where its bytes are. */
  number = 0;
  start = 0;
  end = 0;
  /** Of a varint. */
  value = 0;
  /** 0 a varint, 1 eight bytes, 2 bytes with their length, 5 four bytes. */
  wireType = 0;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Goes to the next field; false at the end. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.#varint();
    this.number = tag >>> 3;
    this.start = this.#at;
    this.wireType = tag & 7;
    switch (this.wireType) {
      case 0:
        this.value = this.#varint();
        break;
      case 1:
        this.#at += 8;
        break;
      case 2: {
        const length = this.#varint();
        this.start = this.#at;
        this.#at += length;
        break;
      }
      case 5:
        this.#at += 4;
        break;
      default:
        throw new Error(`protobuf: field ${this.number} is of wire type ${this.wireType}`);
    }
    this.end = this.#at;
    if (this.#at > this.#end) throw new Error(`protobuf: field ${this.number} is cut off`);
    return true;
  }

  text(): string {
    return this.bytes.toString('utf8', this.start, this.end);
  }

  /** A varint as the signed number that int32 and int64 mean by it. */
  signed(): number {
    if (this.value <= Number.MAX_SAFE_INTEGER) return this.value;
    let value = 0n;
    for (let at = this.start; at < this.end; at += 1) {
      value |= BigInt((this.bytes[at] as number) & 0x7f) << BigInt(7 * (at - this.start));
    }
    return Number(BigInt.asIntN(64, value));
  }

  /** The fields of the message inside the current field. */
  inside(): ProtobufFields {
    return new ProtobufFields(this.bytes, this.start, this.end);
  }

  /** Beyond 2^53 it loses digits; the numbers read here are times, counts and codes. */
  #varint(): number {
    let value = 0;
    let scale = 1;
    for (let n = 0; n < 10; n += 1) {
      const byte = this.bytes[this.#at++];
      if (byte === undefined || this.#at > this.#end) throw new Error('protobuf: cut off');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new Error('protobuf: a number without end');
  }
}

/** `map<string, string>`, one entry after another. */
export function addEntry(fields: ProtobufFields, map: Record<string, string>): void {
  const entry = fields.inside();
  let key = '';
  let value = '';
  while (entry.next()) {
    if (entry.number === 1) key = entry.text();
    else if (entry.number === 2) value = entry.text();
  }
  map[key] = value;
}
