/**
 * The images that Kubernetes' tests ask for, under the names that they ask for, of
 * programs that Debian and Go give: nothing can be pulled here. What each of them
 * is instead of the original stands in docs/conformance.md.
 */
import { execFileSync } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ensureDebianPackages } from '../../../scripts/debian.mjs';
import { ensureGoTool } from '../../../scripts/go-tools.mjs';
import { readElf } from '../../../scripts/image/elf.mjs';
import { ensureClusterParts } from '../../../scripts/parts.mjs';
import { agnhostImage, hostFile } from '../../../src/lab/kubelets/images.ts';
import { ociArchive, type TarEntry, textFile } from '../../../src/lab/kubelets/oci-archive.ts';
import { createAuthority, issueCertificate } from '../../parts/certificate.ts';

const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
export const corednsImage = 'registry.k8s.io/coredns/coredns:v1.14.2';
const e2eImages = 'registry.k8s.io/e2e-test-images';
/** A shell with the usual programs. */
export const shellImage = `${e2eImages}/glibc-dns-testing:2.0.0`;
export const webServerImage = `${e2eImages}/nginx:1.15-4`;
const hostNetworkWebServer = `gcr.io/k8s-staging-cri-tools/hostnet-nginx-${architecture}:latest`;

const path = 'PATH=/usr/sbin:/usr/bin:/sbin:/bin';
const triplet = process.arch === 'x64' ? 'x86_64-linux-gnu' : 'aarch64-linux-gnu';

/** Writes the archives to a folder, and gives their paths. `dns`: with CoreDNS, which takes long to build. */
export async function writeTestImages(folder: string, dns: boolean): Promise<string[]> {
  const missing = await ensureDebianPackages(['bind9-dnsutils', 'curl', 'netcat-openbsd', 'wget']);
  if (missing !== undefined) throw new Error(missing);
  const parts = await ensureClusterParts();
  const tools = [
    ...shell(['ip', 'nc', 'sh', 'wget']),
    ...debianPrograms(['bash', 'curl', 'dash', 'dig', 'getent', 'ip', 'nc.openbsd', 'wget']),
    { kind: 'link', path: 'usr/bin/nc', target: 'nc.openbsd' },
    // The shell of busybox prefers its own commands to others of the same name.
    { kind: 'link', path: 'bin/sh', target: '/usr/bin/dash' },
    textFile('etc/nsswitch.conf', 'hosts: files dns\n'),
    // As the wget of Alpine, which does not try again.
    textFile('etc/wgetrc', 'tries = 1\n'),
  ] satisfies TarEntry[];
  // Some tests serve HTTPS; nobody verifies the certificate.
  const { certPem, keyPem } = issueCertificate(createAuthority('agnhost'), {
    commonName: 'localhost',
    use: 'server',
    hosts: ['127.0.0.1', '::1'],
  });
  const agnhost = [
    hostFile('agnhost', join(parts, 'agnhost')),
    textFile('localhost.crt', certPem),
    textFile('localhost.key', keyPem),
  ];
  const images: Record<string, { layers: TarEntry[][]; config: Record<string, unknown> }> = {
    [agnhostImage]: {
      layers: [tools, agnhost],
      config: { Entrypoint: ['/agnhost'], Cmd: ['pause'], Env: [path] },
    },
    [shellImage]: {
      layers: [tools],
      config: { Cmd: ['sh'], Env: [path] },
    },
    [webServerImage]: webServer(80),
    [hostNetworkWebServer]: webServer(12003),
    [`${e2eImages}/httpd:2.4.39-4`]: webServer(80),
  };
  if (dns) {
    const coredns = join(await ensureGoTool('coredns'), 'coredns');
    images[corednsImage] = {
      layers: [[hostFile('coredns', coredns)]],
      config: { Entrypoint: ['/coredns'] },
    };
  }
  mkdirSync(folder, { recursive: true });
  return Promise.all(
    Object.entries(images).map(async ([reference, contents], index) => {
      const file = join(folder, `${index}.tar`);
      const archive = ociArchive({ reference, architecture, ...contents });
      await pipeline(Readable.from(archive), createWriteStream(file));
      return file;
    }),
  );
}

function webServer(port: number) {
  return {
    layers: [[...shell(), textFile('www/index.html', 'busybox httpd\n')]],
    config: {
      Entrypoint: ['/bin/busybox', 'httpd', '-f', '-p', String(port), '-h', '/www'],
      Env: [path],
    },
  };
}

/** A static busybox under all its names, save those of other programs in the same image. */
function shell(others: readonly string[] = []): TarEntry[] {
  const busybox = '/bin/busybox';
  const names = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  return [
    ...['bin', 'etc', 'usr', 'usr/bin'].map((one): TarEntry => ({ kind: 'folder', path: one })),
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    hostFile('bin/busybox', busybox),
    ...names
      .filter((name) => name !== 'busybox' && !others.includes(name))
      .map((name): TarEntry => ({ kind: 'link', path: `bin/${name}`, target: 'busybox' })),
  ];
}

/** Programs of this machine at /usr/bin, with the libraries that they load. */
function debianPrograms(names: string[]): TarEntry[] {
  const libraries = new Map<string, string>();
  const addLibraries = (file: string) => {
    const { needed, loader } = readElf(file);
    if (loader !== undefined) libraries.set(loader.slice(1), loader);
    for (const name of needed) {
      const target = `usr/lib/${triplet}/${name}`;
      if (libraries.has(target) || [...libraries.keys()].some((one) => one.endsWith(`/${name}`)))
        continue;
      const found = [`/lib/${triplet}`, `/usr/lib/${triplet}`]
        .map((folder) => join(folder, name))
        .find((one) => existsSync(one));
      if (found === undefined) throw new Error(`${file} needs ${name}, which is not found`);
      libraries.set(target, found);
      addLibraries(found);
    }
  };
  const programs = names.map((name) => {
    const file = ['/usr/bin', '/usr/sbin', '/bin', '/sbin']
      .map((folder) => join(folder, name))
      .find((one) => existsSync(one));
    if (file === undefined) throw new Error(`there is no program ${name}`);
    addLibraries(file);
    return hostFile(`usr/bin/${name}`, file);
  });
  return [...programs, ...[...libraries].map(([target, file]) => hostFile(target, file))];
}
