import { updateError } from '../error.ts';
import { type AttributeCodec, wellKnown, withdraw } from './attribute-codec.ts';
import type { Origin } from './path-attributes.ts';

const origins: readonly Origin[] = ['igp', 'egp', 'incomplete'];

/** ORIGIN (RFC 4271 §5.1.1). */
export const originCodec: AttributeCodec = {
  type: 1,
  name: 'ORIGIN',
  flags: wellKnown,
  decode(value, _session, into) {
    // RFC 7606 §7.1
    if (value.length !== 1) return withdraw(updateError.attributeLength, `length ${value.length}`);
    const origin = origins[value[0]!];
    if (origin === undefined) return withdraw(updateError.invalidOrigin, `value ${value[0]}`);
    into.origin = origin;
    return undefined;
  },
  encode: ({ origin }) =>
    origin === undefined ? undefined : new Uint8Array([origins.indexOf(origin)]),
};
