import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version in package.json, which lies above both `src/cli` and the bundle in `dist`. */
export function readVersion(from: string = import.meta.dirname): string {
  for (let dir = from; ; dir = dirname(dir)) {
    const path = join(dir, 'package.json');
    if (existsSync(path)) {
      const { name, version } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>;
      if (name === 'cadastre' && version !== undefined) return version;
    }
    if (dirname(dir) === dir) return 'unknown';
  }
}
