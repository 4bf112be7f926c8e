/**
 * Netlink messages (RFC 3549): a header of 16 bytes, a struct, attributes.
 * `Request` is a message before it has a sequence number, with words for a
 * person, so that an answer that refuses it can say what was refused.
 */
import { NetlinkReader, NetlinkWriter } from './attributes.ts';

const NLM_F_REQUEST = 0x01;
const NLM_F_ACK = 0x04;
export const NLM_F_DUMP_INTR = 0x10;
const NLM_F_CAPPED = 0x100;
const NLM_F_ACK_TLVS = 0x200;
export const NLM_F_DUMP = 0x300;
export const NLM_F_REPLACE = 0x100;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;

export const NLMSG_ERROR = 2;
export const NLMSG_DONE = 3;

const headerLength = 16;
const NLMSGERR_ATTR_MSG = 1;

export interface Request {
  type: number;
  flags: number;
  /** The struct and the attributes. */
  body: Uint8Array;
  /** What it asks for: "add the route …". Only a refusal reads it. */
  readonly what: string;
}

export interface NetlinkMessage {
  type: number;
  flags: number;
  sequence: number;
  body: NetlinkReader;
}

export interface NetlinkRefusal {
  errno: number;
  /** The kernel's own sentence (extended ack), where it has one. */
  detail: string | undefined;
}

/** One for all: a thousand routes would leave half a megabyte of writers behind. */
const scratch = new NetlinkWriter();

export function request(
  type: number,
  flags: number,
  what: string | (() => string),
  fill: (writer: NetlinkWriter) => void,
): Request {
  scratch.clear();
  fill(scratch);
  const body = scratch.bytes();
  if (typeof what === 'string') return { type, flags, what, body };
  return {
    type,
    flags,
    body,
    get what() {
      return what();
    },
  };
}

/** The requests in one buffer; the first carries `sequence`, the others the numbers behind it. */
export function encodeRequests(requests: readonly Request[], sequence: number): Uint8Array {
  const writer = new NetlinkWriter();
  requests.forEach((each, index) => {
    // Refusals come without asking. One ack, on the last, says that all were worked on;
    // an ack for each would overflow the socket's buffer at some hundred routes.
    const isDump = (each.flags & NLM_F_DUMP) === NLM_F_DUMP && each.type % 4 === 2;
    const ack = index === requests.length - 1 && !isDump ? NLM_F_ACK : 0;
    writer
      .u32(headerLength + each.body.length)
      .u16(each.type)
      .u16(each.flags | NLM_F_REQUEST | ack)
      .u32((sequence + index) >>> 0)
      .u32(0)
      .raw(each.body)
      .pad();
  });
  return writer.bytes();
}

export function decodeMessages(bytes: Uint8Array): NetlinkMessage[] {
  const messages: NetlinkMessage[] = [];
  const reader = new NetlinkReader(bytes);
  let at = 0;
  while (at + headerLength <= bytes.length) {
    const length = reader.u32(at);
    if (length < headerLength || at + length > bytes.length) break;
    messages.push({
      type: reader.u16(at + 4),
      flags: reader.u16(at + 6),
      sequence: reader.u32(at + 8),
      body: new NetlinkReader(bytes.subarray(at + headerLength, at + length)),
    });
    at += (length + 3) & ~3;
  }
  return messages;
}

/** What an NLMSG_ERROR or the end of a dump says; undefined if it says success. */
export function refusalOf(message: NetlinkMessage): NetlinkRefusal | undefined {
  const { body, flags, type } = message;
  if (body.bytes.length < 4) return undefined;
  const errno = -body.i32(0);
  if (errno <= 0) return undefined;
  if ((flags & NLM_F_ACK_TLVS) === 0) return { errno, detail: undefined };
  // Before the attributes an error echoes our request: its header, or all of it if not capped.
  const echoed = () => ((flags & NLM_F_CAPPED) !== 0 ? headerLength : (body.u32(4) + 3) & ~3);
  const attributesAt = type === NLMSG_ERROR ? 4 + echoed() : 4;
  const detail = body.attrs(attributesAt).get(NLMSGERR_ATTR_MSG)?.text();
  return { errno, detail };
}
