import { isMap, isScalar, isSeq, LineCounter } from 'yaml';
import { readYamlDocuments } from '../base/read-yaml.ts';

/** Where an object stands: the file, its text, the document in it, the way down to it. */
export interface ManifestPlace {
  file: string;
  text: string;
  /** Counted from 0. */
  document: number;
  path: ReadonlyArray<string | number>;
}

/** Of what was read before. */
const limits = { tokens: Number.POSITIVE_INFINITY, remedy: '' };
/** Beyond this a second look at the file, only to find a line, would take too long. */
const longestText = 1_000_000;

/**
 * `racks.yaml:14 (document 2)`. The line is looked for only when it is needed,
 * by reading the file once more with a parser that remembers positions; JSON is
 * YAML too. `clause` is a problem that begins with a field's path.
 */
export function where(place: ManifestPlace, clause = ''): string {
  const { file, document, path } = place;
  const item = path.filter((step) => typeof step === 'number').map((at) => `item ${at + 1}`);
  const line = lineOf(place, [...path, ...fieldPath(clause)]);
  const parts = [`document ${document + 1}`, ...item].join(', ');
  return `${file}${line === undefined ? '' : `:${line}`} (${parts})`;
}

/** `spec.cidrs[1] is …` leads to spec, cidrs, 1; a clause without a path leads nowhere. */
function fieldPath(clause: string): Array<string | number> {
  const [head = ''] = clause.split(/ (?![^["]*"\])/, 1);
  if (!/^(apiVersion|kind|metadata|spec|status)\b/.test(head)) return [];
  return [...head.matchAll(/\["([^"]*)"\]|\[(\d+)\]|([^.[\]]+)/g)].map(([, key, at, name]) =>
    at === undefined ? (key ?? name ?? '') : Number(at),
  );
}

/** The line of the deepest step of the path that is there. */
function lineOf(place: ManifestPlace, path: ReadonlyArray<string | number>): number | undefined {
  if (place.text.length > longestText) return undefined;
  const lines = new LineCounter();
  let node: unknown;
  let at = 0;
  for (const { document } of readYamlDocuments(place.text, lines, limits)) {
    if (at++ < place.document) continue;
    node = document.contents;
    break;
  }
  let start = startOf(node);
  for (const step of path) {
    let key: unknown;
    if (isMap(node)) {
      const pair = node.items.find(({ key: name }) => isScalar(name) && name.value === step);
      key = pair?.key;
      node = pair?.value;
    } else if (isSeq(node)) {
      node = node.items[Number(step)];
      key = node;
    } else break;
    const next = startOf(key);
    if (next === undefined) break;
    start = next;
  }
  return start === undefined ? undefined : lines.linePos(start).line;
}

function startOf(node: unknown): number | undefined {
  const range = (node as { range?: [number, number, number] | null } | undefined)?.range;
  return range?.[0];
}
