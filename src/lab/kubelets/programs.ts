/** The programs of a cluster of real kubelets, and where they are found on this machine. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import { cacheFolder, partFolders, searchPath, youngestFirst } from '../part-folders.ts';

const fromGo = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
  'agnhost',
] as const;

/** Program, and the Debian package it is in. */
const fromDebian = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  nft: 'nftables',
  ip: 'iproute2',
  mount: 'mount',
  nsenter: 'util-linux',
  unshare: 'util-linux',
  busybox: 'busybox-static',
  zebra: 'frr',
  bgpd: 'frr',
  vtysh: 'frr',
  portmap: 'containernetworking-plugins',
} as const;

type Program = (typeof fromGo)[number] | keyof typeof fromDebian;

export type ContainerdMajor = 1 | 2;

/** kube-apiserver on etcd, or our own. */
export type ApiServerKind = 'real' | 'embedded';

export interface Programs {
  /** The path of a program. */
  readonly path: (name: Program) => string;
  /** The folder with containerd, its shim and ctr of each version that is wanted. */
  readonly containerd: ReadonlyMap<ContainerdMajor, string>;
  /** The usual plugins: loopback, portmap and the rest. */
  readonly cniPlugins: string;
}

interface Wanted {
  readonly containerds: readonly ContainerdMajor[];
  readonly apiServer: ApiServerKind;
}

const ofRealApiServer: readonly Program[] = ['etcd', 'kube-apiserver'];

/** Not on everybody's search path. */
const systemFolders = ['/usr/sbin', '/sbin', '/usr/bin', '/bin', '/usr/lib/frr', '/usr/lib/cni'];

export function findPrograms(
  env: NodeJS.ProcessEnv,
  { containerds, apiServer }: Wanted,
  otherFolders: readonly string[] = systemFolders,
): Programs {
  const goPlaces = partFolders(env, ['kube', 'cluster']);
  const systemPlaces = [...searchPath(env), ...otherFolders];
  const paths = new Map<Program, string>();
  const missing: string[] = [];
  const packages = new Set<string>();
  for (const name of fromGo) {
    if (apiServer === 'embedded' && ofRealApiServer.includes(name)) continue;
    const dir = goPlaces.find((place) => existsSync(join(place, name)));
    if (dir === undefined) missing.push(name);
    else paths.set(name, join(dir, name));
  }
  const isGoMissing = missing.length > 0;
  const found = new Map<ContainerdMajor, string>();
  for (const [name, debian] of Object.entries(fromDebian) as Array<[Program, string]>) {
    if (debian === 'containerd' && !containerds.includes(1)) continue;
    const dir = systemPlaces.find((place) => existsSync(join(place, name)));
    if (dir !== undefined) paths.set(name, join(dir, name));
    else {
      missing.push(name);
      packages.add(debian);
    }
    if (name === 'containerd' && dir !== undefined) found.set(1, dir);
  }
  const second = youngestFirst(cacheFolder(env), /^containerd-v2\.[\w.-]+$/).find((dir) =>
    ['containerd', 'containerd-shim-runc-v2', 'ctr'].every((name) => existsSync(join(dir, name))),
  );
  if (second !== undefined) found.set(2, second);
  else if (containerds.includes(2)) missing.push('containerd 2');
  if (missing.length > 0) {
    const ways = [
      ...(packages.size > 0 ? [`Install the Debian packages ${[...packages].join(', ')}.`] : []),
      ...(isGoMissing || (containerds.includes(2) && second === undefined)
        ? [
            'npm test -- --only cluster in a checkout builds the others into the cache; or point KUBEBUILDER_ASSETS at a folder with those of Kubernetes, and use --containerd 1.',
          ]
        : []),
    ];
    throw new CadastreError('LAB_FAILED', `this machine lacks ${missing.join(', ')}`, {
      remedy: ways.join(' '),
    });
  }
  return {
    path: (name) => paths.get(name)!,
    containerd: found,
    cniPlugins: dirname(paths.get('portmap')!),
  };
}
