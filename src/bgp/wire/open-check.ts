import { errorCode, openError, WireError } from './error.ts';
import { type OpenMessage, openAsn } from './open.ts';

/** What a session expects of the peer's OPEN. */
export interface OpenExpectation {
  readonly peerAsn: number;
  readonly localAsn: number;
  readonly localRouterId: string;
}

/** What is wrong with an OPEN, given whom we expect; undefined when it is acceptable. */
export function refuseOpen(open: OpenMessage, expected: OpenExpectation): WireError | undefined {
  const asn = openAsn(open);
  if (asn !== expected.peerAsn) {
    return refuse(
      openError.badPeerAs,
      `the peer's OPEN has AS ${asn}, expected ${expected.peerAsn}`,
    );
  }
  // RFC 6286 §2.2: identifiers need to differ only inside one AS.
  if (asn === expected.localAsn && open.routerId === expected.localRouterId) {
    return refuse(openError.badIdentifier, `the peer's identifier ${open.routerId} is our own`);
  }
  return undefined;
}

function refuse(subcode: number, detail: string): WireError {
  return new WireError('session-reset', { code: errorCode.open, subcode, detail });
}
