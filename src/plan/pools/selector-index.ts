import { type LabelSelector, type Labels, selects } from '../../model/label-selector.ts';

/** A pool by its selector. */
interface Selecting {
  readonly pool: { readonly selector: LabelSelector | undefined };
}

/**
 * Selectors by one label that they demand: whoever asks which of ten thousand select a node looks at
 * those that demand a label the node has, and at those that demand none. Each group is kept in order.
 */
export class SelectorIndex<T extends Selecting> {
  /** Under `key=value`, or under nothing. */
  readonly #groups = new Map<string, T[]>();
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  /** Under which labels it is kept; `remove` wants to know. */
  add(one: T): readonly string[] {
    const labels = this.#rarest(demands(one.pool.selector));
    for (const label of labels) {
      const group = this.#groups.get(label) ?? [];
      group.splice(placeOf(group, one, this.#compare), 0, one);
      this.#groups.set(label, group);
    }
    return labels;
  }

  remove(one: T, labels: readonly string[]): void {
    for (const label of labels) {
      const group = this.#groups.get(label) ?? [];
      const at = placeOf(group, one, this.#compare);
      if (group[at] === one) group.splice(at, 1);
      if (group.length === 0) this.#groups.delete(label);
    }
  }

  /** Those that select a node with these labels, best first. */
  selecting(labels: Labels): T[] {
    const found: T[] = [];
    let groups = 0;
    const look = (label: string) => {
      const before = found.length;
      for (const one of this.#groups.get(label) ?? []) {
        if (selects(one.pool.selector, labels)) found.push(one);
      }
      if (found.length > before) groups++;
    };
    look('');
    for (const [key, value] of Object.entries(labels)) look(`${key}=${value}`);
    return groups > 1 ? found.sort(this.#compare) : found;
  }

  /** The demand that the fewest others share. */
  #rarest(all: ReadonlyArray<readonly string[]>): readonly string[] {
    let best: readonly string[] = [''];
    let fewest = Number.POSITIVE_INFINITY;
    for (const labels of all) {
      const shared = labels.reduce((sum, label) => sum + (this.#groups.get(label)?.length ?? 0), 0);
      if (shared >= fewest) continue;
      best = labels;
      fewest = shared;
    }
    return best;
  }
}

/** Of each list a selected node has one label. */
function demands(selector: LabelSelector | undefined): string[][] {
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => [
    `${key}=${value}`,
  ]);
  const oneOf = (selector?.matchExpressions ?? []).flatMap(({ key, operator, values = [] }) =>
    operator === 'In' ? [[...new Set(values)].map((value) => `${key}=${value}`)] : [],
  );
  return [...labels, ...oneOf];
}

/** Where it stands in a sorted list, or where it would. */
export function placeOf<T>(sorted: readonly T[], one: T, compare: (a: T, b: T) => number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(sorted[middle]!, one) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
