/** A part of a root file system; paths are without a leading slash. */
export class Tree {
  has(path: string): boolean;
  folder(path: string, mode?: number): void;
  /** `from`: a path to read, or the bytes. */
  file(path: string, from: string | Buffer, mode?: number): void;
  link(path: string, target: string): void;
  entries(): Array<[string, { kind: 'folder' | 'file' | 'link' }]>;
  digest(): string;
  writeTo(folder: string): void;
  tar(): Buffer;
}
