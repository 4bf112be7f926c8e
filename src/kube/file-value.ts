import { statSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import { readTextFile } from '../base/text-file.ts';

/**
 * A small file that somebody replaces while we run: the kubelet renews a
 * projected token by swapping a symlink. It is looked at (one stat) at most
 * once a second and read again when it is another file or changed. A file that
 * is missing for a moment leaves the last value in use.
 */
export class FileValue {
  readonly path: string;
  readonly #clock: Clock;
  #value: string;
  #stamp: string;
  #lookedMs: number;

  /** Throws what the file system throws when the file cannot be read at first. */
  constructor(path: string, clock: Clock) {
    this.path = path;
    this.#clock = clock;
    this.#stamp = stampOf(path);
    this.#value = readTextFile(path);
    this.#lookedMs = clock.monotonicMs();
  }

  read(): string {
    if (this.#clock.monotonicMs() - this.#lookedMs >= 1_000) this.look();
    return this.#value;
  }

  /** Looks now; true when the value is another one than before. */
  look(): boolean {
    this.#lookedMs = this.#clock.monotonicMs();
    try {
      const stamp = stampOf(this.path);
      if (stamp === this.#stamp) return false;
      const value = readTextFile(this.path);
      const changed = value !== this.#value;
      this.#stamp = stamp;
      this.#value = value;
      return changed;
    } catch {
      return false;
    }
  }
}

function stampOf(path: string): string {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true });
  return `${ino}/${size}/${mtimeNs}`;
}
