import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CadastreError } from '../base/errors.ts';
import { fileFault, mostDataOctets, readWholeFile } from '../base/text-file.ts';
import { type ClusterKind, clusterKindOf, clusterKinds } from '../model/cluster-kinds.ts';
import { blockName } from '../model/node-block.ts';
import { type PlacedObject, readManifest } from './manifest.ts';
import { where } from './manifest-place.ts';
import { ItemCollector, type ReadCluster } from './read-cluster.ts';

/** More sentences than this help nobody. */
const mostProblems = 20;

export interface FileReader {
  /** Of `-`. */
  readStdin(): Promise<Uint8Array>;
  nowMs: number;
  /** Told what was read and what was ignored, if somebody wants to know. */
  say?: ((line: string) => void) | undefined;
}

/**
 * A cluster out of files. Files are refused as a whole when anything in them
 * cannot be understood, each fault in a sentence with its place: a dry run on
 * half of what was given would look like an answer.
 */
export async function readFiles(
  paths: readonly string[],
  reader: FileReader,
): Promise<ReadCluster> {
  const files = await findFiles(paths);
  const problems: Array<() => string> = [];
  const objects: PlacedObject[] = [];
  /** Each kind is as old as the oldest file that has any of it. */
  const oldestMs = new Map<ClusterKind, number>();
  for (const file of files) {
    const text = decode(file === '-' ? await reader.readStdin() : await readBytes(file));
    const name = file === '-' ? 'stdin' : file;
    if (text === undefined) {
      problems.push(() => `${name}: not text in UTF-8`);
      continue;
    }
    const manifest = readManifest(name, text);
    const atMs = file === '-' ? reader.nowMs : (await stat(file)).mtimeMs;
    for (const one of manifest.objects) {
      objects.push(one);
      const kind = clusterKindOf(one.object);
      if (kind !== undefined) oldestMs.set(kind, Math.min(oldestMs.get(kind) ?? atMs, atMs));
    }
    // One by one: a file of 200,000 wrong documents has more than a call takes arguments.
    for (const problem of manifest.problems) problems.push(problem);
  }
  const collector = new ItemCollector();
  const ignored = putAll(collector, objects, problems);
  refuse(problems);
  if (objects.length === 0) {
    throw badInput(`--from ${paths.join(' --from ')}: no Kubernetes object in there`);
  }
  const origin = files.length === 1 ? '1 file' : `${files.length} files`;
  reader.say?.(`read ${objects.length} objects of ${origin}${ignoredText(ignored)}`);
  return {
    origin,
    from: 'files',
    items: collector.items,
    malformed: [],
    unread: new Map(),
    ageOf(kind) {
      const at = oldestMs.get(kind);
      return at === undefined ? null : Math.max(0, Math.round((reader.nowMs - at) / 1000));
    },
  };
}

function putAll(
  collector: ItemCollector,
  objects: readonly PlacedObject[],
  problems: Array<() => string>,
): Map<string, number> {
  const ignored = new Map<string, number>();
  const seen = new Map<string, PlacedObject>();
  for (const placed of objects) {
    const { object, place } = placed;
    const kind = clusterKindOf(object);
    if (kind === undefined) {
      const { apiVersion = '', kind: name } = object;
      const slash = apiVersion.indexOf('/');
      const full = slash < 0 ? `${name}` : `${name}.${apiVersion.slice(0, slash)}`;
      ignored.set(full, (ignored.get(full) ?? 0) + 1);
      continue;
    }
    const label = labelOf(kind, object.metadata);
    for (const problem of collector.put(kind, object)) {
      problems.push(() => `${where(place, problem)}: ${label}: ${problem}`);
    }
    for (const key of keysOf(label, kind, object.metadata?.name, collector)) {
      const first = seen.get(key);
      if (first === undefined) seen.set(key, placed);
      else problems.push(() => `${where(place)}: ${key} is also in ${where(first.place)}`);
    }
  }
  return ignored;
}

function labelOf(kind: ClusterKind, metadata: PlacedObject['object']['metadata']): string {
  const { resource } = clusterKinds[kind];
  const name = metadata?.name ?? 'without a name';
  const { namespace } = metadata ?? {};
  return `${resource.kind} ${resource.namespaced && namespace !== undefined ? `${namespace}/` : ''}${name}`;
}

/** What there may be only one of: the name, and for a block the CIDR that is its name. */
function keysOf(
  label: string,
  kind: ClusterKind,
  name: string | undefined,
  collector: ItemCollector,
): string[] {
  if (name === undefined) return [];
  const block = kind === 'blocks' ? collector.of('blocks').at(-1) : undefined;
  if (block === undefined || block.name !== name) return [label];
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
  return attempt(path, async () => readWholeFile(path, mostDataOctets));
}

async function attempt<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const why = isMissing ? 'no such file or folder' : fileFault(error);
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
  const shown = problems.slice(0, mostProblems).map((problem) => problem());
  const more = problems.length - shown.length;
  if (more > 0) shown.push(`and ${more} more`);
  throw badInput(shown.join('\n'));
}

function badInput(message: string): CadastreError {
  return new CadastreError('BAD_INPUT', message);
}

function ignoredText(ignored: ReadonlyMap<string, number>): string {
  if (ignored.size === 0) return '';
  const each = [...ignored].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, n]) => `${n} ${kind}`);
  return `; ignored ${each.join(', ')}`;
}
