/**
 * What two speakers agreed on in their OPENs, as far as it changes the meaning
 * of bytes. One context per direction: add-path can differ between the two.
 */
export interface SessionContext {
  /** AS numbers in AS_PATH and AGGREGATOR have four octets (RFC 6793). */
  readonly as4: boolean;
  /** Both ends are in one AS: LOCAL_PREF and route reflection attributes count. */
  readonly ibgp: boolean;
  /** Messages but OPEN and KEEPALIVE may have 65,535 octets (RFC 8654). */
  readonly extendedMessage: boolean;
  /** ROUTE-REFRESH subtypes 1 and 2 are checked (RFC 7313). */
  readonly enhancedRouteRefresh: boolean;
  /** NLRI of IPv4 unicast carry a path identifier (RFC 7911). */
  readonly addPathIpv4: boolean;
  /** NLRI of IPv6 unicast carry a path identifier (RFC 7911). */
  readonly addPathIpv6: boolean;
  /**
   * A router's report of what is in its tables (BMP), not an advertisement to us: its
   * own routes have NEXT_HOP 0.0.0.0 there, and a wrong one is what an observer looks for.
   */
  readonly isReport?: true;
}

/** A modern eBGP session without add-path: what `bgp decode` assumes by default. */
export const defaultContext: SessionContext = {
  as4: true,
  ibgp: false,
  extendedMessage: false,
  enhancedRouteRefresh: true,
  addPathIpv4: false,
  addPathIpv6: false,
};

/** Before the OPENs have crossed nothing is agreed: plain RFC 4271. */
export const preOpenContext: SessionContext = {
  as4: false,
  ibgp: false,
  extendedMessage: false,
  enhancedRouteRefresh: false,
  addPathIpv4: false,
  addPathIpv6: false,
};
