/**
 * What a lab leaves on the machine, and nothing else: one folder, and the
 * namespaces named in its manifest. The manifest is there, and on disk, before
 * the first of them is made.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { CadastreError } from '../base/errors.ts';
import type { Software } from './topology.ts';

export interface LabManifest {
  readonly name: string;
  readonly createdAt: string;
  /** The text of the topology, so that later commands mean the same site. */
  readonly topologyName: string;
  readonly topologyText: string;
  /** What each router really runs. */
  readonly software: Readonly<Record<string, Software>>;
  readonly apiServer: 'real' | 'embedded';
  /** Namespaces that are, or were about to be, made. */
  readonly namespaces: readonly string[];
  /** False until `up` has come to its end. */
  readonly isUp: boolean;
  readonly pods: readonly LabPod[];
}

export interface LabPod {
  readonly name: string;
  readonly node: string;
  readonly namespace: string;
  readonly addresses: readonly string[];
}

/** What it is the folder of; also the words of the command line that makes one. */
type FolderKind = 'lab' | 'lab cluster';

export class LabFolder<Manifest extends { readonly name: string } = LabManifest> {
  readonly name: string;
  readonly path: string;
  readonly #kind: FolderKind;

  constructor(root: string, name: string, kind: FolderKind = 'lab') {
    this.name = name;
    this.path = join(root, name);
    this.#kind = kind;
  }

  /** Making it is what keeps a second one of that name away. */
  create(manifest: Manifest): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o755 });
    try {
      mkdirSync(this.path, { mode: 0o755 });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
      throw this.#alreadyThere();
    }
    this.write(manifest);
  }

  refuseIfThere(): void {
    if (this.exists) throw this.#alreadyThere();
  }

  #alreadyThere(): CadastreError {
    return new CadastreError('LAB_EXISTS', `there is a ${this.#kind} ${this.name} already`, {
      remedy: `Use it, take it down (cadastre ${this.#kind} down ${this.name}), or choose another --name.`,
    });
  }

  get exists(): boolean {
    return existsSync(this.path);
  }

  read(): Manifest {
    let text: string;
    try {
      text = readFileSync(this.file('manifest.json'), 'utf8');
    } catch (cause) {
      throw new CadastreError('NO_LAB', `there is no ${this.#kind} ${this.name}`, {
        cause,
        remedy: `cadastre ${this.#kind} status lists those there are; cadastre ${this.#kind} up makes one.`,
      });
    }
    try {
      return JSON.parse(text) as Manifest;
    } catch (cause) {
      const path = this.file('manifest.json');
      throw new CadastreError('STATE_DAMAGED', `${path} is not JSON (${text.length} bytes)`, {
        cause,
        remedy: `end the lab's processes, delete its network namespaces (ip netns), and remove ${this.path}`,
      });
    }
  }

  write(manifest: Manifest): void {
    const next = this.file('manifest.next');
    writeFileSync(next, `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
    renameSync(next, this.file('manifest.json'));
  }

  change(change: (manifest: Manifest) => Manifest): Manifest {
    const manifest = change(this.read());
    this.write(manifest);
    return manifest;
  }

  file(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  makeFolder(...parts: string[]): string {
    const path = this.file(...parts);
    mkdirSync(path, { recursive: true, mode: 0o755 });
    return path;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Labs that were made here, half-made ones included. */
export function listLabs(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
  } catch {
    return [];
  }
}
