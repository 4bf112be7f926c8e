/** The root folder of an image, as deploy/Dockerfile makes it, but for Debian's own files. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fillImage } from '../../scripts/image.mjs';

export async function makeImageRoot(folder: string): Promise<void> {
  for (const path of ['etc', 'proc', 'sys', 'dev', 'run', 'tmp', 'var/lib', 'opt']) {
    mkdirSync(join(folder, path), { recursive: true });
  }
  // Whoever the container runs as must be able to enter.
  chmodSync(folder, 0o755);
  symlinkSync('/run', join(folder, 'var/run'));
  if (existsSync('/etc/ld.so.cache'))
    copyFileSync('/etc/ld.so.cache', join(folder, 'etc/ld.so.cache'));
  await fillImage(join(folder, 'opt/cadastre'));
}
