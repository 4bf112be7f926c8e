import { LineCounter } from 'yaml';
import { readYamlDocuments, type YamlLimits } from '../base/read-yaml.ts';
import type { KubeObject } from '../model/object.ts';
import { shown } from '../model/schema/schema-problems.ts';
import { yamlFault } from '../model/yaml-fault.ts';
import { type ManifestPlace, where } from './manifest-place.ts';

/** An object of a file, and where it stands. */
export interface PlacedObject {
  object: KubeObject;
  place: ManifestPlace;
}

export interface ReadManifest {
  objects: PlacedObject[];
  /** Sentences with the place in front; made only when printed, because finding a line costs. */
  problems: Array<() => string>;
}

/** 20,000 objects of 30 lines, read in some 8 s and, if they are one list, a GB of memory. */
export const manifestLimits: YamlLimits = {
  tokens: 5_000_000,
  remedy: '; save it as JSON (kubectl get -o json), which may be as long as it likes',
};

/**
 * The Kubernetes objects of one file: any number of YAML documents, or JSON,
 * with Lists of either form opened. JSON goes through its own parser: YAML's
 * takes half a second a megabyte, and a saved `kubectl get nodes -o json` of a
 * large cluster has a hundred of them.
 */
export function readManifest(file: string, text: string): ReadManifest {
  const manifest: ReadManifest = { objects: [], problems: [] };
  readDocuments(file, text, manifest).forEach((value, document) => {
    if (value === undefined || value === null) return;
    openDocument(value, { file, text, document, path: [] }, manifest);
  });
  return manifest;
}

function readDocuments(file: string, text: string, manifest: ReadManifest): unknown[] {
  if (/^\s*[{[]/.test(text)) {
    try {
      return [JSON.parse(text)];
    } catch {
      // YAML in its flow style, or broken: the YAML parser knows which, and where.
    }
  }
  const lines = new LineCounter();
  const values: unknown[] = [];
  for (const { document, value } of readYamlDocuments(text, lines, manifestLimits)) {
    const [error] = document.errors;
    values.push(error === undefined ? value() : undefined);
    if (error === undefined) continue;
    const { line, col } = lines.linePos(error.pos[0]);
    const what = yamlFault(error);
    const place = `${file}:${line}:${col} (document ${values.length})`;
    manifest.problems.push(() => `${place}: not YAML or JSON: ${what}`);
  }
  return values;
}

function openDocument(value: unknown, place: ManifestPlace, manifest: ReadManifest): void {
  const wrong = whyNoObject(value);
  if (wrong !== undefined) {
    manifest.problems.push(() => `${where(place)}: not a Kubernetes object: ${wrong}`);
    return;
  }
  const object = value as KubeObject & { kind: string; apiVersion: string };
  if (!object.kind.endsWith('List') || !('items' in object)) {
    manifest.objects.push({ object, place });
    return;
  }
  const { items } = object;
  if (items === null) return;
  if (!Array.isArray(items)) {
    manifest.problems.push(() => `${where(place)}: items of the ${object.kind} is no list`);
    return;
  }
  // The items of a typed list, as the API server sends it, do not repeat what they are.
  const kind = object.kind.slice(0, -'List'.length);
  items.forEach((item, at) => {
    const named =
      kind !== '' && isMap(item) ? { apiVersion: object.apiVersion, kind, ...item } : item;
    openDocument(named, { ...place, path: [...place.path, 'items', at] }, manifest);
  });
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function whyNoObject(value: unknown): string | undefined {
  if (!isMap(value)) {
    // Not the text itself: somebody may have named the file of a token.
    const what = Array.isArray(value) ? 'a bare list' : `a single ${typeof value}`;
    return `it is ${what}, not a map with apiVersion and kind`;
  }
  for (const field of ['apiVersion', 'kind']) {
    const text = value[field];
    if (text === undefined || text === null) return `it has no ${field}`;
    if (typeof text !== 'string' || text === '') return `${field} is ${shown(text)}, not text`;
  }
  return undefined;
}
