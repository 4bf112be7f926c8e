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

  /**
   * Those that select a node with these labels, best first, and each looked at only when it is asked for:
   * of ten thousand that select everybody a node takes the first. Nothing may be added or removed meanwhile.
   */
  *selecting(labels: Labels): Generator<T, void> {
    const keys = ['', ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)];
    const groups = keys.flatMap((key) => {
      const ahead = this.#groups.get(key);
      return ahead === undefined ? [] : [{ ahead, at: 0 }];
    });
    for (;;) {
      let best: { ahead: readonly T[]; at: number } | undefined;
      for (const group of groups) {
        const one = nextIn(group, labels);
        if (one === undefined) continue;
        if (best === undefined || this.#compare(one, best.ahead[best.at]!) < 0) best = group;
      }
      if (best === undefined) return;
      yield best.ahead[best.at++]!;
    }
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

/** The next that selects the node, behind those that do not. */
function nextIn<T extends Selecting>(
  group: { ahead: readonly T[]; at: number },
  labels: Labels,
): T | undefined {
  const { ahead } = group;
  while (group.at < ahead.length && !selects(ahead[group.at]!.pool.selector, labels)) group.at++;
  return ahead[group.at];
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
