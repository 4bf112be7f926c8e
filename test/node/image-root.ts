/** The image of this checkout in a containerd, and root folders made of it. */
import { mkdirSync } from 'node:fs';
import { ensureImage, type Image } from '../../scripts/image.mjs';
import type { Containerd } from './containerd.ts';

export async function importImage(containerd: Containerd): Promise<Image> {
  const image = await ensureImage();
  await containerd.ctr('images', 'import', image.file);
  return image;
}

/** A folder of its own, as each container of the image has one. */
export async function mountImage(
  containerd: Containerd,
  reference: string,
  folder: string,
): Promise<{ folder: string; unmount: () => Promise<void> }> {
  mkdirSync(folder);
  await containerd.ctr('images', 'mount', '--rw', reference, folder);
  return {
    folder,
    unmount: async () => {
      await containerd.ctr('images', 'unmount', '--rm', folder);
    },
  };
}
