import type { Prefix } from './prefix.ts';

/**
 * Some blocks of either family, disjoint and sorted: what lay inside another
 * one is dropped, everything else stays as it was given, so that a refusal can
 * name the block its reader wrote. Built once and immutable. For claims that
 * come and go, with owners, there is ClaimIndex; this is for the ranges of a
 * configuration.
 */
export class PrefixSet {
  readonly prefixes: readonly Prefix[];
  /** The same addresses in the fewest blocks: neighbouring halves merged. */
  readonly merged: readonly Prefix[];

  private constructor(sorted: Iterable<Prefix>) {
    const prefixes: Prefix[] = [];
    const merged: Prefix[] = [];
    for (const prefix of sorted) {
      if (prefixes.at(-1)?.contains(prefix)) continue;
      prefixes.push(prefix);
      merged.push(prefix);
      mergeHalves(merged);
    }
    this.prefixes = prefixes;
    this.merged = merged;
  }

  static of(prefixes: Iterable<Prefix>): PrefixSet {
    return new PrefixSet([...prefixes].sort((a, b) => a.compare(b)));
  }

  /** Is this very block one of the set's own? */
  has(prefix: Prefix): boolean {
    return lastUpTo(this.prefixes, prefix)?.equals(prefix) ?? false;
  }

  /** Does every address of `prefix` lie in the set, be it in several blocks of it? */
  covers(prefix: Prefix): boolean {
    return lastUpTo(this.merged, prefix)?.contains(prefix) ?? false;
  }

  /** The lowest block of the set that has an address in common with `prefix`. */
  overlapping(prefix: Prefix): Prefix | undefined {
    const at = indexUpTo(this.prefixes, prefix);
    return this.prefixes.slice(Math.max(at, 0), at + 2).find((own) => own.overlaps(prefix));
  }

  /** What is left of the set when every address of `prefix` is taken out. */
  subtract(prefix: Prefix): PrefixSet {
    const rest: Prefix[] = [];
    for (const own of this.prefixes) {
      if (prefix.contains(own)) continue;
      if (!own.contains(prefix)) rest.push(own);
      else rest.push(...around(own, prefix));
    }
    return new PrefixSet(rest);
  }
}

/** The position of the last of the sorted blocks that does not come after `prefix`, or -1. */
function indexUpTo(sorted: readonly Prefix[], prefix: Prefix): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]!.compare(prefix) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function lastUpTo(sorted: readonly Prefix[], prefix: Prefix): Prefix | undefined {
  return sorted[indexUpTo(sorted, prefix)];
}

/** While the last two are the two halves of one block, put that block in their place. */
function mergeHalves(prefixes: Prefix[]): void {
  for (;;) {
    const upper = prefixes.at(-1);
    const lower = prefixes.at(-2);
    if (!upper || !lower || upper.length !== lower.length || upper.length === 0) return;
    const whole = lower.parent(lower.length - 1);
    if (!whole.contains(upper)) return;
    prefixes.splice(-2, 2, whole);
  }
}

/** The blocks that `outer` consists of apart from `inner`, which lies in it, in order. */
function around(outer: Prefix, inner: Prefix): Prefix[] {
  const before: Prefix[] = [];
  const after: Prefix[] = [];
  for (let length = outer.length + 1; length <= inner.length; length++) {
    const parent = inner.parent(length - 1);
    const lower = parent.subPrefix(length, 0);
    if (lower.contains(inner)) after.unshift(parent.subPrefix(length, 1));
    else before.push(lower);
  }
  return [...before, ...after];
}
