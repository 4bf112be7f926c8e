/**
 * What is wrong with a message, as a value: which NOTIFICATION it becomes
 * (RFC 4271 §4.5) and how hard RFC 7606 §2 hits. It is no `Error`: a hostile
 * peer can cause millions of these, and a stack trace for each helps nobody.
 *
 * RFC 7606 also knows "AFI/SAFI disable" as an alternative to a session reset
 * where NLRI of a multiprotocol attribute cannot be read. We always take the
 * reset: a family that silently stays dead is the kind of fault nobody sees.
 */
export type ErrorAction = 'attribute-discard' | 'treat-as-withdraw' | 'session-reset';

const noData = new Uint8Array(0);

export interface WireErrorFields {
  readonly code: number;
  readonly subcode: number;
  readonly detail: string;
  readonly data?: Uint8Array;
  readonly attribute?: number;
  readonly quiet?: boolean;
}

export class WireError {
  readonly action: ErrorAction;
  readonly code: number;
  readonly subcode: number;
  /** The Data field of the NOTIFICATION. */
  readonly data: Uint8Array;
  /** A sentence for the log and for `bgp decode`. */
  readonly detail: string;
  /** The path attribute at fault, when one is. */
  readonly attribute: number | undefined;
  /** RFC 4271 §6.4: a broken NOTIFICATION ends the session but is never answered with one. */
  readonly quiet: boolean;

  constructor(action: ErrorAction, fields: WireErrorFields) {
    this.action = action;
    this.code = fields.code;
    this.subcode = fields.subcode;
    this.data = fields.data ?? noData;
    this.detail = fields.detail;
    this.attribute = fields.attribute;
    this.quiet = fields.quiet ?? false;
  }

  /** The same fault, ending the session (RFC 7606 §5.2: no NLRI to withdraw instead). */
  asReset(detail: string): WireError {
    return new WireError('session-reset', {
      code: this.code,
      subcode: this.subcode,
      data: this.data,
      detail: `${this.detail}; ${detail}`,
      ...(this.attribute === undefined ? {} : { attribute: this.attribute }),
    });
  }
}

/** RFC 4271 §6.1. */
export const headerError = {
  notSynchronized: 1,
  badLength: 2,
  badType: 3,
} as const;

/** RFC 4271 §6.2, RFC 5492 §5. */
export const openError = {
  unspecific: 0,
  unsupportedVersion: 1,
  badPeerAs: 2,
  badIdentifier: 3,
  unsupportedParameter: 4,
  unacceptableHoldTime: 6,
  unsupportedCapability: 7,
} as const;

/** RFC 4271 §6.3. */
export const updateError = {
  malformedAttributeList: 1,
  unrecognizedWellKnown: 2,
  missingWellKnown: 3,
  attributeFlags: 4,
  attributeLength: 5,
  invalidOrigin: 6,
  invalidNextHop: 8,
  optionalAttribute: 9,
  invalidNetworkField: 10,
  malformedAsPath: 11,
} as const;

export const errorCode = {
  header: 1,
  open: 2,
  update: 3,
  holdTimerExpired: 4,
  fsm: 5,
  cease: 6,
  routeRefresh: 7,
  /** RFC 9687 §3. */
  sendHoldTimerExpired: 8,
} as const;
