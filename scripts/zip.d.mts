export interface ZipFile {
  name: string;
  content(): Uint8Array;
}
/** The files of an archive; folders are left out. */
export function readZip(archive: Buffer): ZipFile[];
/** The `h1:` hash that go.sum and the checksum database have of a module's archive. */
export function goSum(files: ZipFile[]): string;
