/**
 * The first few in order, without putting all in order: a table that shows a hundred
 * of sixty thousand rows is made anew every second.
 */
export function smallest<T>(
  items: Iterable<T>,
  count: number,
  compare: (a: T, b: T) => number,
): T[] {
  const found: T[] = [];
  for (const item of items) {
    const last = found[found.length - 1];
    if (found.length === count && last !== undefined && compare(item, last) >= 0) continue;
    let [from, to] = [0, found.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (compare(item, found[middle] as T) < 0) to = middle;
      else from = middle + 1;
    }
    found.splice(from, 0, item);
    if (found.length > count) found.pop();
  }
  return found;
}
