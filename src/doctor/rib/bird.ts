import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';

/**
 * BIRD's `show route [all|primary]`, which is text only. BIRD 2 puts the head of
 * a route on one line and its next hops on the lines below, further paths of the
 * same prefix begin with blanks:
 *
 *   10.5.112.0/24        unicast [master1 19:44:01.321] * (100) [AS64513i]
 *       via 10.4.94.32 on eth0
 *                        unicast [node1 19:44:02.001 from 10.4.94.23] (100) [AS64513i]
 *       via 10.4.94.23 on eth0
 *
 * BIRD 1 writes the next hop into the head: `10.5.112.0/24 via 10.4.94.32 on
 * eth0 [master1 …] * (100)`. `*` marks the route in use. `unreachable` is a route
 * whose next hop does not resolve: the router holds it and forwards nothing.
 */
const head =
  /^(?<prefix>[0-9a-fA-F.:]+\/\d+|\s+) *\s*(?<way>unicast|unreachable|blackhole|prohibit|via \S+|dev \S+)(?<on>[^[]*)\[(?<protocol>\S+) (?<rest>[^\]]*)\](?<marks>.*)$/;

export function looksLikeBird(text: string): boolean {
  return /^(\d{4}[- ])?(BIRD \S+ ready|Table \S+:$)/m.test(text) || firstRoute.test(text);
}

const firstRoute =
  /^\S+\/\d+\s+(via |unicast |unreachable |dev )[^\n]*\[\S+ [^\]\n]*\][^\n]*\(\d+/m;

interface BirdPath {
  prefix: string;
  isUsed: boolean;
  isLocal: boolean;
  from: string | undefined;
  nextHops: string[];
  /** `show route all` names it even where it does not resolve. */
  attribute: string | undefined;
}

export function readBird(text: string, builder: RibDumpBuilder): string {
  let path: BirdPath | undefined;
  let prefix = '';
  const flush = (): void => {
    if (path === undefined) return;
    const { attribute, nextHops, isUsed, isLocal, from } = path;
    if (nextHops.length === 0 && attribute === undefined && !isLocal && isUsed) {
      throw new DumpProblem(`the route ${path.prefix} has no next hop; the dump is cut short`);
    }
    const hops = nextHops.length > 0 ? nextHops : attribute === undefined ? [''] : [attribute];
    for (const hop of isLocal ? [''] : hops) builder.add(path.prefix, hop, isUsed, { from });
    path = undefined;
  };
  const lines = text.split('\n');
  if (lines.at(-1) !== '') {
    throw new DumpProblem(
      `the last line has no end: ${quote(lines.at(-1))}; the dump is cut short`,
    );
  }
  for (const [at, raw] of lines.entries()) {
    // `birdc -v`, and what comes straight from the socket, carry reply codes.
    const line = raw.replace(/^\d{4}[- ]/, '').trimEnd();
    if (line === '' || /^(BIRD .* ready\.|Access restricted|Table .*:)$/.test(line)) continue;
    const found = head.exec(line)?.groups;
    if (found !== undefined) {
      flush();
      if (found.prefix!.trim() !== '') prefix = found.prefix!;
      if (prefix === '')
        throw new DumpProblem(`line ${at + 1} is a path of no prefix: ${quote(line)}`);
      const via = /^via (\S+)/.exec(found.way!)?.[1];
      path = {
        prefix,
        isUsed: /^ ?\*/.test(found.marks!) && !/^(unreachable|blackhole|prohibit)/.test(found.way!),
        isLocal: /^(dev|blackhole|prohibit)/.test(found.way!),
        from: /\bfrom (\S+)/.exec(found.rest!)?.[1],
        nextHops: via === undefined ? [] : [via],
        attribute: undefined,
      };
      continue;
    }
    if (path === undefined || !/^\s/.test(line)) {
      throw new DumpProblem(`line ${at + 1} is no route of BIRD: ${quote(line)}`);
    }
    const via = /^\s+via (\S+)/.exec(line)?.[1];
    const hop = /^\s+BGP\.next_hop: (\S+)/.exec(line)?.[1];
    if (via !== undefined) path.nextHops.push(via);
    else if (/^\s+dev \S+/.test(line)) path.isLocal = true;
    if (hop !== undefined) path.attribute = hop;
  }
  flush();
  return 'BIRD';
}

function quote(line: string | undefined): string {
  return JSON.stringify((line ?? '').slice(0, 60));
}
