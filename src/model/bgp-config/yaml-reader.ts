import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { readYamlDocument } from '../../base/read-yaml.ts';
import type { AliasTargets } from '../../base/yaml-nodes.ts';
import { yamlFault } from '../yaml-fault.ts';

/** So that only this file and the entry know whose nodes these are. */
export type YamlNode = Node;

/** One thing wrong with a configuration: where, what, and what would be right. */
export interface ConfigProblem {
  readonly line: number;
  /** The path of the key, such as `peers[0].peer-asn`. */
  readonly key: string;
  readonly sentence: string;
}

/** Reads one field. The node is `null` for a key without a value. */
export type FieldReader = (node: Node | null, path: string) => void;

/**
 * Reads YAML nodes into values and notes every problem with its line and key.
 * It goes on after a problem: somebody who corrects a file wants to see all of
 * them at once. What a caller gets after a problem is undefined.
 */
export class YamlReader {
  readonly problems: ConfigProblem[] = [];
  readonly #targets: AliasTargets;
  readonly #lines: LineCounter;
  /** Lines above the text when it lies inside another file. */
  readonly #linesAbove: number;

  constructor(targets: AliasTargets, lines: LineCounter, linesAbove: number) {
    this.#targets = targets;
    this.#lines = lines;
    this.#linesAbove = linesAbove;
  }

  problem(node: Node | null | undefined, key: string, sentence: string): undefined {
    this.problemAt(node?.range?.[0] ?? 0, key, sentence);
    return undefined;
  }

  problemAt(offset: number, key: string, sentence: string): void {
    const line = this.#lines.linePos(offset).line + this.#linesAbove;
    this.problems.push({ line, key, sentence });
  }

  /** Reads the fields of a mapping. Keys that `fields` does not have are problems. */
  mapping(
    given: Node | null,
    path: string,
    fields: { readonly [key: string]: FieldReader | string },
  ): boolean {
    const node = this.#resolve(given);
    if (!isMap(node)) {
      this.problem(given, path, `${path || 'the configuration'} must be a mapping of keys`);
      return false;
    }
    for (const [name, keyNode, value] of this.#pairs(node)) {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      const shown = field === undefined ? shownKey(name, value) : name;
      const key = path === '' ? shown : `${path}.${shown}`;
      if (typeof field === 'function') field(value ?? null, key);
      else this.problem(keyNode, key, field ?? unknownKey(shown, Object.keys(fields)));
    }
    return true;
  }

  /** Free keys with text values, such as labels. */
  texts(given: Node | null, path: string): Map<string, { text: string; node: Node | null }> {
    const found = new Map<string, { text: string; node: Node | null }>();
    const node = this.#resolve(given);
    if (isNothing(node)) return found;
    if (!isMap(node)) {
      this.problem(given, path, `${path} must be a mapping of keys to text`);
      return found;
    }
    for (const [name, , value] of this.#pairs(node)) {
      const text = this.text(value ?? null, `${path}.${name}`);
      if (text !== undefined) found.set(name, { text, node: value ?? null });
    }
    return found;
  }

  /** Each item of a list; a key without a value is an empty list. */
  list(given: Node | null, path: string, each: FieldReader): void {
    const node = this.#resolve(given);
    if (isNothing(node)) return;
    if (!isSeq(node)) {
      this.problem(given, path, `${path} must be a list`);
      return;
    }
    for (const [index, item] of node.items.entries()) {
      each((item as Node | null) ?? null, `${path}[${index}]`);
    }
  }

  /** Text. Numbers and the like count as they are written: `name: 1` is the text 1. */
  text(given: Node | null, path: string): string | undefined {
    const scalar = this.#scalar(given);
    if (scalar === undefined) return this.problem(given, path, `${path} must be text`);
    if (typeof scalar.value === 'string') return scalar.value;
    if (scalar.value === null) return this.problem(given, path, `${path} has no value`);
    return scalar.source ?? String(scalar.value);
  }

  integer(given: Node | null, path: string, low: number, high: number): number | undefined {
    const value = this.#scalar(given)?.value;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < low || value > high) {
      const is = value === undefined ? 'something else' : JSON.stringify(value);
      return this.problem(
        given,
        path,
        `${path} must be a whole number from ${low} to ${high}, and is ${is}`,
      );
    }
    return value;
  }

  boolean(given: Node | null, path: string): boolean | undefined {
    const scalar = this.#scalar(given);
    if (typeof scalar?.value === 'boolean') return scalar.value;
    // YAML 1.1, which MetalLB reads, has these words too.
    const word = scalar?.type === 'PLAIN' ? String(scalar.value).toLowerCase() : '';
    if (word === 'yes' || word === 'on') return true;
    if (word === 'no' || word === 'off') return false;
    return this.problem(given, path, `${path} must be true or false`);
  }

  #scalar(given: Node | null): Scalar | undefined {
    const node = this.#resolve(given);
    return isScalar(node) ? node : undefined;
  }

  #resolve(node: Node | null): Node | null {
    return isAlias(node) ? (this.#targets.get(node) ?? null) : node;
  }

  /** The pairs of a mapping, with what `<<` merges in underneath. */
  #pairs(map: YAMLMap): [name: string, key: Node | null, value: Node | null][] {
    const pairs = new Map<string, [string, Node | null, Node | null]>();
    const merged: YAMLMap[] = [];
    for (const { key, value } of map.items) {
      const keyNode = key as Node | null;
      const name = isScalar(keyNode) ? (keyNode.source ?? String(keyNode.value)) : String(keyNode);
      const valueNode = value as Node | null;
      if (name === '<<') {
        const from = this.#resolve(valueNode);
        const maps = isSeq(from) ? from.items.map((item) => this.#resolve(item as Node)) : [from];
        merged.push(...maps.filter((one): one is YAMLMap => isMap(one)));
      } else pairs.set(name, [name, keyNode, valueNode]);
    }
    for (const one of merged) {
      for (const pair of this.#pairs(one)) if (!pairs.has(pair[0])) pairs.set(pair[0], pair);
    }
    return [...pairs.values()];
  }
}

function isNothing(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

/** A key that is not known, if it was meant as one. Where a colon or a space is missing, a key holds a value, a password even. */
export function shownKey(name: string, value: Node | null): string {
  return !isNothing(value) && /^[A-Za-z][\w./-]{0,62}$/.test(name) ? name : '?';
}

function unknownKey(name: string, known: readonly string[]): string {
  return `unknown key "${name}"; known here are ${known.join(', ')}`;
}

/** A whole text, with a reader that has reported already what is no YAML. */
export function openYaml(
  text: string,
  linesAbove = 0,
): { document: Document; lines: LineCounter; reader: YamlReader } {
  const lines = new LineCounter();
  const { document, targets } = readYamlDocument(text, lines);
  const reader = new YamlReader(targets, lines, linesAbove);
  for (const error of document.errors) {
    reader.problemAt(error.pos[0], '', `not YAML: ${yamlFault(error)}`);
  }
  return { document, lines, reader };
}
