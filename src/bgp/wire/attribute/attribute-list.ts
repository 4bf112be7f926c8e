import { errorCode, updateError, WireError, type WireErrorFields } from '../error.ts';
import { readU16 } from '../octets.ts';
import type { SessionContext } from '../session-context.ts';
import { as4IsCurrent } from './aggregate.ts';
import { mergeAs4Path } from './as-path.ts';
import { attributeFlag } from './attribute-codec.ts';
import {
  decodeMpReach,
  decodeMpUnreach,
  type MpReach,
  type MpUnreach,
  mpReachType,
  mpUnreachType,
} from './multiprotocol.ts';
import { nextHopType } from './next-hop.ts';
import type { MutableAttributes, PathAttributes, RawAttribute } from './path-attributes.ts';
import { attributeCodec } from './table.ts';

/** The path attribute field of an UPDATE, read. */
export interface AttributeList {
  readonly attributes: PathAttributes;
  readonly mpReach?: MpReach;
  readonly mpUnreach?: MpUnreach;
  /** Attributes of any kind other than MP_UNREACH_NLRI (RFC 7606 §5.2 asks). */
  readonly describesRoutes: boolean;
  readonly errors: readonly WireError[];
  /** The octets without MP attributes: equal keys are equal attributes. */
  readonly key: string;
}

const conflictBits = attributeFlag.optional | attributeFlag.transitive;

/** `hasIpv4Nlri`: the UPDATE announces routes in its classic NLRI field. */
export function decodeAttributeList(
  bytes: Uint8Array,
  start: number,
  end: number,
  session: SessionContext,
  hasIpv4Nlri: boolean,
): AttributeList | WireError {
  return new ListDecoder(bytes, start, end, session, hasIpv4Nlri).run();
}

/** One pass over the field. A class only because a pass has a dozen variables. */
class ListDecoder {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #session: SessionContext;
  readonly #hasIpv4Nlri: boolean;
  readonly #attributes: MutableAttributes = {};
  readonly #other: RawAttribute[] = [];
  readonly #errors: WireError[] = [];
  readonly #seen = new Uint8Array(32);
  #at: number;
  #mpReach: MpReach | undefined;
  #mpUnreach: MpUnreach | undefined;
  #describesRoutes = false;
  #key = '';
  #keyFrom: number;

  constructor(
    bytes: Uint8Array,
    start: number,
    end: number,
    session: SessionContext,
    hasIpv4Nlri: boolean,
  ) {
    this.#bytes = bytes;
    this.#at = start;
    this.#keyFrom = start;
    this.#end = end;
    this.#session = session;
    this.#hasIpv4Nlri = hasIpv4Nlri;
  }

  run(): AttributeList | WireError {
    while (this.#at < this.#end) {
      const fatal = this.#next();
      if (fatal !== undefined) return fatal;
    }
    this.#closeKey(this.#end);
    this.#mergeAs4();
    if (this.#other.length > 0) this.#attributes.other = this.#other;
    return {
      attributes: this.#attributes,
      ...(this.#mpReach === undefined ? {} : { mpReach: this.#mpReach }),
      ...(this.#mpUnreach === undefined ? {} : { mpUnreach: this.#mpUnreach }),
      describesRoutes: this.#describesRoutes,
      errors: this.#errors,
      key: this.#key,
    };
  }

  /** Reads one attribute; an answer is an error that ends the session. */
  #next(): WireError | undefined {
    const bytes = this.#bytes;
    const start = this.#at;
    const flags = bytes[start]!;
    const type = bytes[start + 1]!;
    const extended = (flags & attributeFlag.extendedLength) !== 0;
    const valueStart = start + (extended ? 4 : 3);
    if (valueStart > this.#end) return this.#cutOff('an attribute header is cut off');
    const length = extended ? readU16(bytes, start + 2) : bytes[start + 2]!;
    const valueEnd = valueStart + length;
    if (type !== mpUnreachType) this.#describesRoutes = true;
    const isMp = type === mpReachType || type === mpUnreachType;
    if (valueEnd > this.#end) {
      // RFC 7606 §3(j): routes hidden in half an attribute cannot be withdrawn.
      if (isMp)
        return this.#fault(
          'session-reset',
          updateError.malformedAttributeList,
          type,
          'runs past the end',
        );
      return this.#cutOff(`attribute ${type} runs past the end of the attributes`, type);
    }
    this.#at = valueEnd;
    if ((this.#seen[type >> 3]! & (1 << (type & 7))) !== 0) return this.#repeated(type, isMp);
    this.#seen[type >> 3]! |= 1 << (type & 7);
    const value = bytes.subarray(valueStart, valueEnd);
    if (isMp) return this.#multiprotocol(type, flags, value, start);
    this.#ordinary(type, flags, value, start);
    return undefined;
  }

  #multiprotocol(
    type: number,
    flags: number,
    value: Uint8Array,
    start: number,
  ): WireError | undefined {
    // MP attributes are left out of the key: it names what routes share.
    this.#closeKey(start);
    this.#keyFrom = this.#at;
    // RFC 7606 §3(c): wrong flags cost the routes, and only if they can be read.
    if ((flags & conflictBits) !== attributeFlag.optional) {
      const detail = `flags 0x${flags.toString(16)}`;
      this.#errors.push(
        this.#fault('treat-as-withdraw', updateError.attributeFlags, type, detail, start),
      );
    }
    const decoded =
      type === mpReachType
        ? decodeMpReach(value, this.#session)
        : decodeMpUnreach(value, this.#session);
    if (decoded instanceof WireError) {
      return this.#fault('session-reset', decoded.subcode, type, decoded.detail, start);
    }
    if (type === mpReachType) this.#mpReach = decoded as MpReach;
    else this.#mpUnreach = decoded as MpUnreach;
    return undefined;
  }

  #ordinary(type: number, flags: number, value: Uint8Array, start: number): void {
    const codec = attributeCodec(type);
    if (codec === undefined) {
      this.#other.push({ flags, type, value: new Uint8Array(value) });
      // RFC 4271 §6.3 would reset. RFC 7606 asks for the mildest cure that is
      // safe: the routes can be located, so they are withdrawn.
      if ((flags & attributeFlag.optional) === 0) {
        const detail = 'unknown, but marked well-known';
        this.#errors.push(
          this.#fault('treat-as-withdraw', updateError.unrecognizedWellKnown, type, detail, start),
        );
      }
      return;
    }
    const fault =
      ((flags ^ codec.flags) & conflictBits) !== 0
        ? ({
            action: 'treat-as-withdraw', // RFC 7606 §3(c)
            subcode: updateError.attributeFlags,
            detail: `flags 0x${flags.toString(16)}`,
          } as const)
        : codec.decode(value, this.#session, this.#attributes);
    // RFC 4760 §3: a NEXT_HOP without IPv4 NLRI is ignored, whatever it says.
    const isIgnored = type === nextHopType && !this.#hasIpv4Nlri;
    if (fault !== undefined && !isIgnored) {
      const detail = `${codec.name}: ${fault.detail}`;
      this.#errors.push(this.#fault(fault.action, fault.subcode, type, detail, start));
    }
  }

  /** RFC 7606 §3(g): MP twice ends the session, of all others the first counts. */
  #repeated(type: number, isMp: boolean): WireError | undefined {
    const action = isMp ? 'session-reset' : 'attribute-discard';
    const detail = `attribute ${type} appears twice`;
    const error = this.#fault(action, updateError.malformedAttributeList, type, detail);
    if (isMp) return error;
    this.#errors.push(error);
    return undefined;
  }

  /** RFC 7606 §4: the total length still says where the NLRI begin. */
  #cutOff(detail: string, attribute?: number): undefined {
    this.#at = this.#end;
    // What was cut off may have been anything, routes included.
    this.#describesRoutes = true;
    this.#errors.push(
      new WireError('treat-as-withdraw', {
        code: errorCode.update,
        subcode: updateError.malformedAttributeList,
        detail,
        ...(attribute === undefined ? {} : { attribute }),
      }),
    );
    return undefined;
  }

  #closeKey(end: number): void {
    if (end <= this.#keyFrom) return;
    const part = this.#bytes.subarray(this.#keyFrom, end);
    this.#key += Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('latin1');
  }

  /** RFC 6793 §4.2.3. */
  #mergeAs4(): void {
    const into = this.#attributes;
    if (!as4IsCurrent(into, this.#session)) return;
    if (into.aggregator !== undefined && into.as4Aggregator !== undefined) {
      into.aggregator = into.as4Aggregator;
    }
    if (into.asPath !== undefined && into.as4Path !== undefined) {
      into.asPath = mergeAs4Path(into.asPath, into.as4Path);
    }
  }

  #fault(
    action: WireError['action'],
    subcode: number,
    attribute: number,
    detail: string,
    from?: number,
  ): WireError {
    const fields: WireErrorFields = { code: errorCode.update, subcode, attribute, detail };
    // RFC 4271 §6.3: the data is the attribute itself, except for these three.
    const bare =
      subcode === updateError.malformedAttributeList ||
      subcode === updateError.invalidNetworkField ||
      subcode === updateError.malformedAsPath;
    if (from === undefined || bare) return new WireError(action, fields);
    const data = new Uint8Array(this.#bytes.subarray(from, this.#at));
    return new WireError(action, { ...fields, data });
  }
}
