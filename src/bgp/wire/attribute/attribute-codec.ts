import type { ErrorAction } from '../error.ts';
import type { SessionContext } from '../session-context.ts';
import type { MutableAttributes, PathAttributes } from './path-attributes.ts';

/** Attribute flag bits (RFC 4271 §4.3). */
export const attributeFlag = {
  optional: 0x80,
  transitive: 0x40,
  partial: 0x20,
  extendedLength: 0x10,
} as const;

export const wellKnown = attributeFlag.transitive;
export const optionalTransitive = attributeFlag.optional | attributeFlag.transitive;
export const optionalNonTransitive = attributeFlag.optional;

/** What a decoder found wrong; the list decoder adds type and octets. */
interface AttributeFault {
  readonly action: ErrorAction;
  readonly subcode: number;
  readonly detail: string;
}

/** One row of the attribute table. */
export interface AttributeCodec {
  readonly type: number;
  readonly name: string;
  /** The Optional and Transitive bits its specification demands. */
  readonly flags: number;
  /** Reads the value into `into`, or says what is wrong with it. */
  decode(
    value: Uint8Array,
    session: SessionContext,
    into: MutableAttributes,
  ): AttributeFault | undefined;
  /** The value to send, undefined where there is none to send in this session. */
  encode(from: PathAttributes, session: SessionContext): Uint8Array | undefined;
}

export function withdraw(subcode: number, detail: string): AttributeFault {
  return { action: 'treat-as-withdraw', subcode, detail };
}

export function discard(subcode: number, detail: string): AttributeFault {
  return { action: 'attribute-discard', subcode, detail };
}

export function u32Bytes(...values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [index, value] of values.entries()) view.setUint32(index * 4, value);
  return bytes;
}
