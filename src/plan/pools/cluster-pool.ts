import type { Pool } from '../../model/ip-pool.ts';
import { clusterPoolName } from '../../model/keys.ts';
import { unnameable } from '../../model/node-block.ts';
import { type Family, families, familyBits } from '../../net/family.ts';
import { type Prefix, parsePrefix, prefixProblem } from '../../net/prefix.ts';
import { specialRangeProblem } from '../../net/special-ranges.ts';

/** The flags of the cluster-pool modes, by Cilium's names. */
export interface ClusterPoolFlags {
  enableIpv4: boolean;
  enableIpv6: boolean;
  ipv4Cidrs: readonly string[];
  ipv4MaskSize: number;
  ipv6Cidrs: readonly string[];
  ipv6MaskSize: number;
  /** Ranges inside the CIDRs that are not handed out: the Service networks. */
  reserved: readonly Prefix[];
  cooldownSeconds: number;
  releaseByTimeSeconds?: number | undefined;
  maxBlocksPerNode?: number | undefined;
}

export type ReadClusterPool =
  | { kind: 'pool'; pool: Pool }
  | { kind: 'refused'; problems: string[] };

/** One pool for all nodes, out of flags. Every problem names the flag and the value. */
export function readClusterPool(flags: ClusterPoolFlags): ReadClusterPool {
  const problems: string[] = [];
  const cidrs: Prefix[] = [];
  const blockSize: Partial<Record<Family, number>> = {};
  for (const family of families) {
    const isOn = family === 'ipv4' ? flags.enableIpv4 : flags.enableIpv6;
    const texts = family === 'ipv4' ? flags.ipv4Cidrs : flags.ipv6Cidrs;
    const size = family === 'ipv4' ? flags.ipv4MaskSize : flags.ipv6MaskSize;
    const flag = `--cluster-pool-${family}-cidr`;
    if (!isOn) {
      if (texts.length > 0) {
        problems.push(`${flag}=${texts.join(',')} is given, but --enable-${family} is off`);
      }
      continue;
    }
    if (texts.length === 0) problems.push(`${flag} is missing, but --enable-${family} is on`);
    const own = readCidrs(texts, family, flag, problems);
    checkMask(own, size, family, problems);
    cidrs.push(...own);
    blockSize[family] = size;
  }
  if (!flags.enableIpv4 && !flags.enableIpv6) {
    problems.push('--enable-ipv4 and --enable-ipv6 are both off; at least one family must be on');
  }
  if (problems.length > 0) return { kind: 'refused', problems };
  return {
    kind: 'pool',
    pool: {
      name: clusterPoolName,
      uid: '',
      resourceVersion: '',
      generation: 0,
      createdMs: 0,
      cidrs,
      blockSize,
      selector: undefined,
      specificity: 0,
      priority: 0,
      reserved: flags.reserved.filter((range) => cidrs.some((cidr) => cidr.overlaps(range))),
      disabled: false,
      deleting: false,
      cooldownSeconds: flags.cooldownSeconds,
      ...(flags.releaseByTimeSeconds === undefined
        ? {}
        : { releaseByTimeSeconds: flags.releaseByTimeSeconds }),
      ...(flags.maxBlocksPerNode === undefined ? {} : { maxBlocksPerNode: flags.maxBlocksPerNode }),
      finalizers: [],
      status: undefined,
    },
  };
}

function readCidrs(
  texts: readonly string[],
  family: Family,
  flag: string,
  problems: string[],
): Prefix[] {
  const found: Prefix[] = [];
  for (const text of texts) {
    const problem = prefixProblem(text);
    const prefix = problem === undefined ? parsePrefix(text) : undefined;
    if (prefix === undefined) {
      problems.push(`${flag}: ${problem}`);
      continue;
    }
    if (prefix.family !== family) {
      problems.push(`${flag}=${text} is not an ${family === 'ipv4' ? 'IPv4' : 'IPv6'} CIDR`);
      continue;
    }
    const nameless = unnameable(prefix);
    if (nameless !== undefined) problems.push(`${flag}: ${nameless}`);
    const special = specialRangeProblem(prefix);
    if (special !== undefined) problems.push(`${flag}: ${special}`);
    const clash = found.find((other) => other.overlaps(prefix));
    if (clash !== undefined) problems.push(`${flag}: ${text} overlaps ${clash}`);
    found.push(prefix);
  }
  return found;
}

function checkMask(own: readonly Prefix[], size: number, family: Family, problems: string[]): void {
  const flag = `--cluster-pool-${family}-mask-size`;
  const bits = familyBits(family);
  if (!Number.isInteger(size) || size < 1 || size > bits) {
    problems.push(`${flag}=${size} is not within 1 to ${bits}`);
    return;
  }
  const narrow = own.find((cidr) => cidr.length > size);
  if (narrow !== undefined) {
    problems.push(`${flag}=${size} does not fit: ${narrow} is smaller than a /${size} block`);
  }
}
