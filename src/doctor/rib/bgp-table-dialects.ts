/**
 * Who printed a BGP table of the form "Network  Next Hop  Metric LocPrf Weight Path". The
 * makers differ in the marks before a network and in what stands around the rows; the rows
 * themselves are read by `bgp-table`.
 */
export interface BgpDialect {
  name: string;
  /** Lines that only this maker prints. */
  signs: RegExp;
  /** The marks of a path that traffic takes; all of `needs`, and one of `best`. */
  best: RegExp;
  /** A mark that says that the best path is not installed. */
  notInstalled?: RegExp;
  /** Metric, preference and weight are always there, so the path is what follows them. */
  hasAllColumns?: true;
  /** "Displayed 3 routes", "Processed 3 prefixes": what is cut before it is seen to be cut. */
  endsWithTotal?: true;
}

const cisco = { best: /[>m=|]/, notInstalled: /r/ };

export const bgpDialects: readonly BgpDialect[] = [
  {
    name: 'Arista EOS',
    signs: /Route status codes: |^GP routing table information|AS Path Attributes: Or-ID/m,
    best: /[>e]/,
    notInstalled: /#/,
    hasAllColumns: true,
  },
  {
    name: 'Cisco NX-OS',
    signs: /Status: s-suppressed|Path type: i-internal|, address family IPv[46] Unicast/m,
    best: /[>|]/,
  },
  {
    name: 'Cisco IOS-XR',
    signs:
      /BGP generic scan interval|BGP main routing table version|N Nexthop-discard|^Processed \d+ prefixes, \d+ paths/m,
    ...cisco,
    endsWithTotal: true,
  },
  {
    name: 'Huawei VRP',
    // Its total stands below the legend; Comware's stands above it, or is written in small letters.
    signs: /BGP Local router ID is[\s\S]*Total Number of Routes/,
    best: />/,
  },
  { name: 'H3C Comware', signs: /Path\/Ogn/, best: />/ },
  {
    name: 'FRR',
    signs:
      /Default local pref \d+, local AS|Nexthop codes: @NNN|, vrf id \d|Displayed +\d+|No BGP prefixes displayed|R Removed/m,
    best: /[>=]/,
    notInstalled: /r/,
    endsWithTotal: true,
  },
  { name: 'Cisco IOS', signs: /BGP table version is|Status codes: s suppressed/, ...cisco },
];

/** What stands around the rows and says nothing about routes. */
const legend: readonly RegExp[] = [
  /^\s*(?:Route )?[Ss]tatus(?: codes)?:/,
  /^\s*Path type:/,
  /^\s*(?:Origin|Origin codes|RPKI (?:Origin )?[Vv]alidation codes|Nexthop codes|AS Path Attributes|Metric codes)\s*:/,
  // The legend's further lines: "s suppressed, S Stale", "h - history, i - internal".
  /^\s+(?:[\w>*#=|&%-]+ ?-? ?[\w -]+,\s*)*[\w>*#=|&%-]+ ?-? ?[A-Za-z][\w -]+,?$/,
  /^\s*Default local pref \d+, local AS \S+$/,
  /^\s*BGP (?:generic )?scan interval/,
  /^\s*(?:Non-stop routing is|BGP table state:|Table ID:|BGP main routing table version|BGP NSR|BGP table nexthop route policy:|Dampening |BGP is operating)/,
  /^\s*For address family: IPv[46] Unicast$/,
  /^\s*Address Family: IPv[46] Unicast$/,
  /^\s*-{5,}$/,
  /^\s*={5,}$/,
  /^\s*BGP (?:VRF|instance) .*$/,
  /^\s*State: Active$/,
  /^\s*VRF ID: \S+$/,
];

/** The longest line of a legend that any of them prints has about a hundred characters. */
export function isLegend(text: string): boolean {
  return text.length < 200 && legend.some((one) => one.test(text));
}
