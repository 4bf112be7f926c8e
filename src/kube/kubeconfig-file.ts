import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { parse } from 'yaml';
import { CadastreError, describeError } from '../base/errors.ts';

/**
 * One or several kubeconfig files as one: entries by name, the first file that
 * names one wins, as `kubectl` merges $KUBECONFIG. Each entry remembers its
 * file, because its relative paths are relative to that, and because messages
 * name it.
 */
export interface KubeconfigEntry {
  readonly file: string;
  readonly kind: 'cluster' | 'user' | 'context';
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface MergedConfig {
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, KubeconfigEntry>;
  readonly users: ReadonlyMap<string, KubeconfigEntry>;
  readonly contexts: ReadonlyMap<string, KubeconfigEntry>;
}

export async function readKubeConfigs(
  paths: readonly string[],
  options: { skipMissing: boolean },
): Promise<MergedConfig> {
  const files: string[] = [];
  const clusters = new Map<string, KubeconfigEntry>();
  const users = new Map<string, KubeconfigEntry>();
  const contexts = new Map<string, KubeconfigEntry>();
  let currentContext: string | undefined;
  for (const path of paths) {
    const config = await readOne(path, options.skipMissing);
    if (config === undefined) continue;
    files.push(path);
    collect(clusters, path, 'cluster', config.clusters);
    collect(users, path, 'user', config.users);
    collect(contexts, path, 'context', config.contexts);
    const current = config['current-context'];
    if (typeof current === 'string' && current !== '') currentContext ??= current;
  }
  return { files, currentContext, clusters, users, contexts };
}

async function readOne(
  path: string,
  skipMissing: boolean,
): Promise<Record<string, unknown> | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (skipMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CadastreError(
      'BAD_KUBECONFIG',
      `The kubeconfig ${path} could not be read: ${describeError(error)}.`,
      { remedy: 'Give the path of a readable kubeconfig with --kubeconfig or $KUBECONFIG.' },
    );
  }
  let config: unknown;
  try {
    config = parse(text);
  } catch (error) {
    const words = describeError(error).split('\n')[0]?.replace(/:$/, '');
    throw new CadastreError('BAD_KUBECONFIG', `The kubeconfig ${path} is not YAML: ${words}.`);
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new CadastreError(
      'BAD_KUBECONFIG',
      `The kubeconfig ${path} is not a mapping with clusters, users and contexts.`,
    );
  }
  return config as Record<string, unknown>;
}

function collect(
  into: Map<string, KubeconfigEntry>,
  file: string,
  kind: KubeconfigEntry['kind'],
  list: unknown,
): void {
  if (list === undefined || list === null) return;
  if (!Array.isArray(list)) {
    throw new CadastreError(
      'BAD_KUBECONFIG',
      `The kubeconfig ${file} has ${kind}s that are no list.`,
    );
  }
  for (const item of list) {
    const name = item?.name;
    const value = item?.[kind];
    if (typeof name !== 'string') {
      throw new CadastreError(
        'BAD_KUBECONFIG',
        `The kubeconfig ${file} has a ${kind} without a name: ${JSON.stringify(item)?.slice(0, 60)}.`,
      );
    }
    if (into.has(name)) continue;
    into.set(name, { file, kind, name, value: typeof value === 'object' && value ? value : {} });
  }
}

export function describeEntry(entry: KubeconfigEntry): string {
  return `${entry.kind} "${entry.name}" of ${entry.file}`;
}

/** A text field; anything else there is an error that names the place. */
export function textField(entry: KubeconfigEntry, field: string): string | undefined {
  const value = entry.value[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw refuseEntry(entry, `has ${field} ${JSON.stringify(value)}, which is not text`);
}

/** An embedded `…-data` field, decoded. */
export function dataField(entry: KubeconfigEntry, field: string): string | undefined {
  const value = textField(entry, field);
  if (value === undefined) return undefined;
  const compact = value.replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) {
    throw refuseEntry(entry, `has ${field} "${value.slice(0, 20)}…", which is not base64`);
  }
  return Buffer.from(compact, 'base64').toString('utf8');
}

/** A path field, made absolute from the folder of the entry's own file. */
export function pathField(entry: KubeconfigEntry, field: string): string | undefined {
  const value = textField(entry, field);
  if (value === undefined) return undefined;
  return isAbsolute(value) ? value : resolve(dirname(entry.file), value);
}

export function refuseEntry(entry: KubeconfigEntry, what: string, remedy?: string): CadastreError {
  return new CadastreError(
    'BAD_KUBECONFIG',
    `The ${describeEntry(entry)} ${what}.`,
    remedy === undefined ? {} : { remedy },
  );
}

export function readPart<T>(entry: KubeconfigEntry, field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refuseEntry(
      entry,
      `has ${field} "${String(entry.value[field])}", which could not be read: ${describeError(error)}`,
    );
  }
}

export function checkPem(entry: KubeconfigEntry, field: string, text: string): string {
  if (/-----BEGIN [A-Z0-9 ]+-----/.test(text)) return text;
  throw refuseEntry(entry, `has ${field} that holds no PEM block`);
}
