/**
 * The software of others that is delivered with this program. Lists made when it was built:
 * one beside the program (scripts/third-party.mjs), and in an image one more (scripts/image).
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CadastreError } from '../../base/errors.ts';

export interface Component {
  name: string;
  version: string;
  /** As its own package says it. */
  license: string;
  origin: 'npm' | 'debian' | 'node';
  /** Of a Debian package: `amd64`. */
  architecture?: string;
  /** Its licence, then the common ones that it refers to; absent: in THIRD-PARTY-LICENSES. */
  textFiles?: string[];
}

interface ImagePackage {
  name: string;
  version: string;
  license: string;
  texts: string[];
  debian?: string;
}

export interface Delivered {
  components: Component[];
  /** Texts of all licences of components without a file of their own. */
  textFile: string;
}

export function readDelivered(folder = findFolder()): Delivered {
  const bundled = readList<Pick<Component, 'name' | 'version' | 'license'>>(
    join(folder, 'third-party.json'),
  ).map((one): Component => ({ ...one, origin: 'npm' }));
  const imageFile = join(folder, 'image-packages.json');
  const ofImage = existsSync(imageFile) ? readList<ImagePackage>(imageFile) : [];
  const textFile = join(folder, 'THIRD-PARTY-LICENSES');
  return { components: [...bundled, ...ofImage.map(ofImagePackage)], textFile };
}

function ofImagePackage({ texts, debian, ...one }: ImagePackage): Component {
  if (debian === undefined) return { ...one, origin: 'node', textFiles: texts };
  return { ...one, origin: 'debian', architecture: debian, textFiles: texts };
}

function readList<T>(path: string): T[] {
  return JSON.parse(readFileSync(path, 'utf8')) as T[];
}

/** Beside the built program, or in the checkout's dist when run from source. */
function findFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const places = [here, join(here, '../../../dist')];
  const found = places.find((place) => existsSync(join(place, 'third-party.json')));
  if (found !== undefined) return found;
  throw new CadastreError('BAD_INPUT', `there is no third-party.json in ${places[0]}`, {
    remedy: 'Run npm run build, or keep all files of dist together.',
  });
}
