import { dirname, isAbsolute, resolve } from 'node:path';
import { LineCounter } from 'yaml';
import { CadastreError } from '../base/errors.ts';
import { readYamlDocument, type YamlDocument } from '../base/read-yaml.ts';
import { fileFault, readTextFile } from '../base/text-file.ts';

/**
 * One or several kubeconfig files as one: entries by name, the first file that
 * names one wins, as `kubectl` merges $KUBECONFIG. Each entry remembers its
 * file, because its relative paths are relative to that, and because messages
 * name it.
 *
 * A kubeconfig is secrets, and a broken one may have its secrets anywhere. So a
 * message says the file, the line and the field, and of what the file holds only a
 * name by which two places refer to each other: never a value, never a piece of the
 * text, never the words of the YAML parser, which quote it.
 */
export interface KubeconfigEntry {
  readonly file: string;
  readonly kind: 'cluster' | 'user' | 'context';
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** The line of a field, or of the entry itself. */
  lineOf(field?: string): number;
}

export interface MergedConfig {
  readonly files: readonly string[];
  /** Undefined if no file has one. */
  readonly currentContext: { readonly name: string; readonly where: string } | undefined;
  readonly clusters: ReadonlyMap<string, KubeconfigEntry>;
  readonly users: ReadonlyMap<string, KubeconfigEntry>;
  readonly contexts: ReadonlyMap<string, KubeconfigEntry>;
}

export function readKubeConfigs(
  paths: readonly string[],
  options: { skipMissing: boolean },
): MergedConfig {
  const files: string[] = [];
  const clusters = new Map<string, KubeconfigEntry>();
  const users = new Map<string, KubeconfigEntry>();
  const contexts = new Map<string, KubeconfigEntry>();
  let currentContext: MergedConfig['currentContext'];
  for (const path of paths) {
    const file = readOne(path, options.skipMissing);
    if (file === undefined) continue;
    files.push(path);
    collect(clusters, file, 'cluster');
    collect(users, file, 'user');
    collect(contexts, file, 'context');
    const name = file.content['current-context'];
    if (typeof name === 'string' && name !== '') {
      currentContext ??= { name, where: `${path}, line ${file.lineOf(['current-context'])}` };
    }
  }
  return { files, currentContext, clusters, users, contexts };
}

interface KubeconfigFile {
  readonly path: string;
  readonly content: Readonly<Record<string, unknown>>;
  lineOf(at: ReadonlyArray<string | number>): number;
}

function readOne(path: string, skipMissing: boolean): KubeconfigFile | undefined {
  let text: string;
  try {
    text = readTextFile(path);
  } catch (error) {
    if (skipMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CadastreError(
      'BAD_KUBECONFIG',
      `The kubeconfig ${path} could not be read: ${fileFault(error)}.`,
      { remedy: 'Give the path of a readable kubeconfig with --kubeconfig or $KUBECONFIG.' },
    );
  }
  const lines = new LineCounter();
  const read = readYamlDocument(text, lines);
  const { document } = read;
  // As kubectl does: what stands below the first document is not read.
  const fault = document.errors.find(({ code }) => code !== 'MULTIPLE_DOCS');
  if (fault !== undefined) {
    const { line, col } = lines.linePos(fault.pos[0]);
    const isLimit = fault.code === 'RESOURCE_EXHAUSTION';
    const what = isLimit ? fault.message : fault.code.toLowerCase().replaceAll('_', ' ');
    throw new CadastreError(
      'BAD_KUBECONFIG',
      `The kubeconfig ${path} is not YAML: ${what} at line ${line}, column ${col}.`,
    );
  }
  const content = contentOf(read);
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new CadastreError(
      'BAD_KUBECONFIG',
      `The kubeconfig ${path} is not a mapping with clusters, users and contexts.`,
    );
  }
  return {
    path,
    content: content as Record<string, unknown>,
    lineOf: (at) => {
      const node = document.getIn(at, true) as { range?: [number, number, number] } | undefined;
      return lines.linePos(node?.range?.[0] ?? 0).line;
    },
  };
}

/** Undefined where it cannot be told, as with an alias of nothing. */
function contentOf(document: YamlDocument): unknown {
  try {
    return document.value();
  } catch {
    return undefined;
  }
}

function collect(
  into: Map<string, KubeconfigEntry>,
  file: KubeconfigFile,
  kind: KubeconfigEntry['kind'],
): void {
  const list = file.content[`${kind}s`];
  if (list === undefined || list === null) return;
  if (!Array.isArray(list)) {
    throw new CadastreError(
      'BAD_KUBECONFIG',
      `The kubeconfig ${file.path} has ${kind}s that are no list (line ${file.lineOf([`${kind}s`])}).`,
    );
  }
  list.forEach((item, at) => {
    const name = item?.name;
    const value = item?.[kind];
    if (typeof name !== 'string') {
      throw new CadastreError(
        'BAD_KUBECONFIG',
        `The kubeconfig ${file.path} has a ${kind} without a name (line ${file.lineOf([`${kind}s`, at])}).`,
      );
    }
    if (into.has(name)) return;
    into.set(name, {
      file: file.path,
      kind,
      name,
      value: typeof value === 'object' && value ? value : {},
      lineOf: (field) =>
        file.lineOf([`${kind}s`, at, ...(field === undefined ? [] : [kind, field])]),
    });
  });
}

export function describeEntry(entry: KubeconfigEntry): string {
  return `${entry.kind} "${entry.name}" of ${entry.file}`;
}

/** A text field; anything else there is an error that names the place. */
export function textField(entry: KubeconfigEntry, field: string): string | undefined {
  const value = entry.value[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw refuseField(entry, field, 'is not text');
}

/** An embedded `…-data` field, decoded. */
export function dataField(entry: KubeconfigEntry, field: string): string | undefined {
  const value = textField(entry, field);
  if (value === undefined) return undefined;
  const compact = value.replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) {
    throw refuseField(entry, field, 'is not base64');
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
  return refusal(`The ${describeEntry(entry)} ${what}.`, remedy);
}

/** Says what is wrong with a field by its line and name, not by its value. */
export function refuseField(
  entry: KubeconfigEntry,
  field: string,
  what: string,
  remedy?: string,
): CadastreError {
  const line = entry.lineOf(field);
  return refusal(`The ${describeEntry(entry)}, line ${line}: ${field} ${what}.`, remedy);
}

function refusal(message: string, remedy: string | undefined): CadastreError {
  return new CadastreError('BAD_KUBECONFIG', message, remedy === undefined ? {} : { remedy });
}

export function readPart<T>(entry: KubeconfigEntry, field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refuseField(entry, field, `names a file that could not be read: ${fileFault(error)}`);
  }
}

export function checkPem(entry: KubeconfigEntry, field: string, text: string): string {
  if (/-----BEGIN [A-Z0-9 ]+-----/.test(text)) return text;
  throw refuseField(entry, field, 'holds no PEM block');
}
