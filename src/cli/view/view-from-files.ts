import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CadastreError, describeError } from '../../base/errors.ts';
import { blockName } from '../../model/node-block.ts';
import type { KubeObject } from '../../model/object.ts';
import type { Terminal } from '../terminal.ts';
import { type ClusterView, emptyView, groupOf, putObject, viewedKind } from './cluster-view.ts';
import { type PlacedObject, readManifest } from './manifest.ts';
import { where } from './manifest-place.ts';

/** More sentences than this help nobody. */
const mostProblems = 20;

/**
 * A view out of files. Files are refused as a whole when anything in them
 * cannot be understood, each fault in a sentence with its place: a dry run on
 * half of what was given would look like an answer.
 */
export async function viewFromFiles(
  paths: readonly string[],
  terminal: Terminal,
  isVerbose: boolean,
): Promise<ClusterView> {
  const { files, objects, problems } = await readPlacedObjects(paths, terminal);
  return viewOfObjects(paths, files, objects, problems, terminal, isVerbose);
}

export interface PlacedObjects {
  files: string[];
  objects: PlacedObject[];
  problems: Array<() => string>;
}

/** Every object of the files, with its place; what cannot be read is in `problems`. */
export async function readPlacedObjects(
  paths: readonly string[],
  terminal: Terminal,
): Promise<PlacedObjects> {
  const files = await findFiles(paths);
  const problems: Array<() => string> = [];
  const objects: PlacedObject[] = [];
  for (const file of files) {
    const text = decode(file === '-' ? await terminal.readStdin() : await readBytes(file));
    const name = file === '-' ? 'stdin' : file;
    if (text === undefined) {
      problems.push(() => `${name}: not text in UTF-8`);
      continue;
    }
    const manifest = readManifest(name, text);
    for (const one of manifest.objects) objects.push(one);
    problems.push(...manifest.problems);
  }
  return { files, objects, problems };
}

export function viewOfObjects(
  paths: readonly string[],
  files: readonly string[],
  objects: readonly PlacedObject[],
  problems: Array<() => string>,
  terminal: Terminal,
  isVerbose: boolean,
): ClusterView {
  const view = emptyView(files.length === 1 ? '1 file' : `${files.length} files`);
  const ignored = putAll(view, objects, problems);
  refuse(problems);
  if (objects.length === 0) {
    throw badInput(`--from ${paths.join(' --from ')}: no Kubernetes object in there`);
  }
  if (isVerbose) {
    terminal.say(`read ${objects.length} objects of ${view.origin}${tell(ignored)}`);
  }
  return view;
}

function putAll(
  view: ClusterView,
  objects: readonly PlacedObject[],
  problems: Array<() => string>,
): Map<string, number> {
  const ignored = new Map<string, number>();
  const seen = new Map<string, PlacedObject>();
  for (const placed of objects) {
    const { object, place } = placed;
    const kind = viewedKind(object);
    if (kind === undefined) {
      const group = groupOf(object.apiVersion ?? '');
      const name = group === '' ? `${object.kind}` : `${object.kind}.${group}`;
      ignored.set(name, (ignored.get(name) ?? 0) + 1);
      continue;
    }
    const label = `${kind} ${object.metadata?.name ?? 'without a name'}`;
    const known = view.malformed.length;
    putObject(view, kind, object);
    for (const malformed of view.malformed.slice(known)) {
      for (const problem of malformed.problems) {
        problems.push(() => `${where(place, problem)}: ${label}: ${problem}`);
      }
    }
    for (const key of keysOf(label, object, view)) {
      const first = seen.get(key);
      if (first === undefined) seen.set(key, placed);
      else problems.push(() => `${where(place)}: ${key} is also in ${where(first.place)}`);
    }
  }
  return ignored;
}

/** What there may be only one of: the name, and for a block the CIDR that is its name. */
function keysOf(label: string, object: KubeObject, view: ClusterView): string[] {
  if (object.metadata?.name === undefined) return [];
  const block = object.kind === 'NodeBlock' ? view.blocks.at(-1) : undefined;
  if (block === undefined || block.name !== object.metadata.name) return [label];
  return block.name === blockName(block.prefix) ? [label] : [label, `the block ${block.prefix}`];
}

async function findFiles(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  const seen = new Set<string>();
  const visit = async (path: string, isGiven: boolean): Promise<void> => {
    const real = path === '-' ? path : await attempt(path, () => realpath(path));
    if (seen.has(real)) return;
    seen.add(real);
    if (path !== '-' && (await attempt(path, () => stat(path))).isDirectory()) {
      const names = await attempt(path, () => readdir(path));
      // Hidden ones are an editor's, git's, or the inside of a ConfigMap volume.
      for (const name of names.filter((one) => !one.startsWith('.')).sort()) {
        await visit(join(path, name), false);
      }
    } else if (isGiven || /\.(json|ya?ml)$/i.test(path)) found.push(path);
  };
  for (const path of paths) await visit(path, true);
  return found;
}

function readBytes(path: string): Promise<Uint8Array> {
  return attempt(path, () => readFile(path));
}

async function attempt<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const why = isMissing ? 'no such file or folder' : describeError(error);
    throw new CadastreError('BAD_INPUT', `--from ${path}: ${why}`, { cause: error });
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function refuse(problems: ReadonlyArray<() => string>): void {
  if (problems.length === 0) return;
  const told = problems.slice(0, mostProblems).map((tell) => tell());
  const more = problems.length - told.length;
  if (more > 0) told.push(`and ${more} more`);
  throw badInput(told.join('\n'));
}

function badInput(message: string): CadastreError {
  return new CadastreError('BAD_INPUT', message);
}

function tell(ignored: ReadonlyMap<string, number>): string {
  if (ignored.size === 0) return '';
  const each = [...ignored].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, n]) => `${n} ${kind}`);
  return `; ignored ${each.join(', ')}`;
}
