/** The images that every node has from the start: nothing here can be pulled. */
import { createReadStream, createWriteStream, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CadastreError } from '../../base/errors.ts';
import { type ImageContents, ociArchive, type TarEntry } from './oci-archive.ts';
import type { Programs } from './programs.ts';

/** The versions that Kubernetes 1.36 and its tests ask for. */
export const pauseImage = 'registry.k8s.io/pause:3.10.2';
export const agnhostImage = 'registry.k8s.io/e2e-test-images/agnhost:2.63.0';
export const busyboxImage = 'registry.k8s.io/e2e-test-images/busybox:1.37.0-1';

/** Writes the archives, and gives their paths. */
export async function writeImages(programs: Programs, folder: string): Promise<string[]> {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const shell = busyboxEntries(programs.path('busybox'));
  const images: Record<string, Omit<ImageContents, 'architecture'>> = {
    pause: {
      reference: pauseImage,
      layers: [shell],
      // Its only task is to hold the namespaces of a pod.
      config: { Entrypoint: ['/bin/busybox', 'sleep', '2147483647'], User: '65535:65535' },
    },
    agnhost: {
      reference: agnhostImage,
      layers: [shell, [hostFile('agnhost', programs.path('agnhost'))]],
      config: { Entrypoint: ['/agnhost'], Cmd: ['pause'], Env: shellEnv },
    },
    busybox: { reference: busyboxImage, layers: [shell], config: { Cmd: ['sh'], Env: shellEnv } },
  };
  return Promise.all(
    Object.entries(images).map(async ([name, contents]) => {
      const path = join(folder, `${name}.tar`);
      const archive = Readable.from(ociArchive({ ...contents, architecture }));
      await pipeline(archive, createWriteStream(path));
      return path;
    }),
  );
}

const shellEnv = ['PATH=/bin'];

/** What probes and people run in a container. */
const applets =
  'cat date echo env false hostname id ip ls mkdir nc nslookup ping ping6 ps rm sh sleep test timeout touch true wget';

function busyboxEntries(busybox: string): TarEntry[] {
  if (isDynamic(busybox)) {
    throw new CadastreError('LAB_FAILED', `${busybox} needs shared libraries, an image has none`, {
      remedy: 'Install the Debian package busybox-static.',
    });
  }
  return [
    { kind: 'folder', path: 'bin' },
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    hostFile('bin/busybox', busybox),
    ...applets
      .split(' ')
      .map((name): TarEntry => ({ kind: 'link', path: `bin/${name}`, target: 'busybox' })),
  ];
}

/** A program of this machine, at another path. */
export function hostFile(path: string, source: string): TarEntry {
  const { size } = statSync(source);
  return { kind: 'file', path, mode: 0o755, size, read: () => createReadStream(source) };
}

/** ELF: has it a program header PT_INTERP (3)? */
function isDynamic(path: string): boolean {
  const bytes = readFileSync(path);
  const start = Number(bytes.readBigUInt64LE(32));
  const [size, count] = [bytes.readUInt16LE(54), bytes.readUInt16LE(56)];
  return Array.from({ length: count }, (_, at) => bytes.readUInt32LE(start + at * size)).includes(
    3,
  );
}
