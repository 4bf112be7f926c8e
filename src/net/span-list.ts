/** Spans of addresses with owners, sorted, so that what overlaps one is found without looking at all. */
import type { Family } from './family.ts';

/** A range with its ends as numbers, which is what searching in it takes. */
export interface Span {
  family: Family;
  first: bigint;
  last: bigint;
  text: string;
}

export interface OwnedSpan<Owner> {
  span: Span;
  owner: Owner;
}

/** Spans of which no two overlap: the ranges of pools that may serve. */
export class DisjointSpans<Owner> {
  readonly #sorted: Record<Family, Array<OwnedSpan<Owner>>> = { ipv4: [], ipv6: [] };

  /** All spans of one owner; those that overlap each other are joined. */
  add(spans: readonly Span[], owner: Owner): void {
    for (const span of joined(spans)) {
      const list = this.#sorted[span.family];
      const at = firstPlace(list, (other) => other.span.first > span.first);
      list.splice(at, 0, { span, owner });
    }
  }

  /** The lowest that overlaps this one. */
  lowest(one: Span): OwnedSpan<Owner> | undefined {
    const list = this.#sorted[one.family];
    const found = list[firstPlace(list, ({ span }) => span.last >= one.first)];
    return found !== undefined && found.span.first <= one.last ? found : undefined;
  }
}

/** Spans that may lie in each other, as networks do. Built once. */
export class NestedSpans<Owner> {
  readonly #sorted: Record<Family, Array<OwnedSpan<Owner>>> = { ipv4: [], ipv6: [] };
  /** The highest end of all up to each place: below it nothing reaches further. */
  readonly #reach: Record<Family, bigint[]> = { ipv4: [], ipv6: [] };

  constructor(all: readonly OwnedSpan<Owner>[]) {
    for (const one of [...all].sort((a, b) => compare(a.span.first, b.span.first))) {
      const { family, last } = one.span;
      this.#sorted[family].push(one);
      const before = this.#reach[family].at(-1);
      this.#reach[family].push(before !== undefined && before > last ? before : last);
    }
  }

  /** All that overlap this one, in no order. */
  overlapping(one: Span): Array<OwnedSpan<Owner>> {
    const found: Array<OwnedSpan<Owner>> = [];
    const list = this.#sorted[one.family];
    const reach = this.#reach[one.family];
    for (let at = firstPlace(list, ({ span }) => span.first > one.last) - 1; at >= 0; at--) {
      if (reach[at]! < one.first) break;
      if (list[at]!.span.last >= one.first) found.push(list[at]!);
    }
    return found;
  }
}

const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

/** Those that overlap each other as one; they keep the text of the lowest. */
export function joined(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of [...spans].sort((a, b) => compare(a.first, b.first))) {
    const at = result.findLastIndex(({ family }) => family === span.family);
    const before = result[at];
    if (before === undefined || before.last < span.first) result.push(span);
    else if (before.last < span.last) result[at] = { ...before, last: span.last };
  }
  return result;
}

/** The first place from which on it is so. */
export function firstPlace<T>(sorted: readonly T[], isSo: (one: T) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isSo(sorted[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
