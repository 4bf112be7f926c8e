import { dirname, posix } from 'node:path';
import { readImports } from './imports.ts';

/** Which of the given files each of them imports, for its types alone too. */
export function importGraph(
  files: ReadonlyArray<{ path: string; text: string }>,
): Map<string, string[]> {
  const paths = new Set(files.map(({ path }) => path));
  return new Map(
    files.map(({ path, text }) => [
      path,
      readImports(text)
        .flatMap(({ name }) => (name?.startsWith('.') ? [posix.join(dirname(path), name)] : []))
        .filter((target) => paths.has(target)),
    ]),
  );
}

/** Files that reach each other, each group in order of names. */
export function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const reach = new Map([...graph.keys()].map((path) => [path, reachableFrom(graph, path)]));
  const seen = new Set<string>();
  const cycles: string[][] = [];
  for (const [path, reached] of reach) {
    if (seen.has(path) || !reached.has(path)) continue;
    const cycle = [...reached].filter((other) => reach.get(other)?.has(path));
    for (const one of cycle) seen.add(one);
    cycles.push(cycle.sort());
  }
  return cycles;
}

function reachableFrom(graph: ReadonlyMap<string, readonly string[]>, start: string): Set<string> {
  const reached = new Set<string>();
  const next = [...(graph.get(start) ?? [])];
  for (let path = next.pop(); path !== undefined; path = next.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    next.push(...(graph.get(path) ?? []));
  }
  return reached;
}
