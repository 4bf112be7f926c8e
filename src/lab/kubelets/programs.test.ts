import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findPrograms } from './programs.ts';

const kube = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'];
const cluster = ['kube-scheduler', 'kubelet', 'kube-proxy', 'agnhost'];
const containerd = ['containerd', 'containerd-shim-runc-v2', 'ctr'];
const system = ['runc', 'nft', 'ip', 'mount', 'nsenter', 'unshare', 'busybox', 'zebra', 'bgpd'];

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'programs-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function put(folder: string, names: readonly string[]): string {
  mkdirSync(join(root, folder), { recursive: true });
  for (const name of names) writeFileSync(join(root, folder, name), '');
  return join(root, folder);
}

test('programs are found in KUBEBUILDER_ASSETS, then the search path, then the cache', () => {
  put('cache/parts/kube-0', kube);
  const built = put('cache/parts/cluster-1', cluster);
  const second = put('cache/containerd-v2.4.2-x64', containerd);
  const assets = put('assets', ['etcd']);
  const path = put('bin', ['kube-apiserver', ...system, 'vtysh', 'portmap', ...containerd]);
  const env = { CADASTRE_CACHE: join(root, 'cache'), KUBEBUILDER_ASSETS: assets, PATH: path };
  const found = findPrograms(env, { containerds: [1, 2], apiServer: 'real' }, []);
  expect(found.path('etcd')).toBe(join(assets, 'etcd'));
  expect(found.path('kube-apiserver')).toBe(join(path, 'kube-apiserver'));
  expect(found.path('kubelet')).toBe(join(built, 'kubelet'));
  expect(found.containerd.get(1)).toBe(path);
  expect(found.containerd.get(2)).toBe(second);
  expect(found.cniPlugins).toBe(path);
});

test('what is missing is named, and how to get it', () => {
  const path = put('bin', [...system, 'vtysh', ...kube]);
  const env = { CADASTRE_CACHE: join(root, 'cache'), PATH: path };
  const refusal = (containerds: Array<1 | 2>) => {
    try {
      findPrograms(env, { containerds, apiServer: 'real' }, []);
    } catch (error) {
      const { message, remedy } = error as { message: string; remedy: string };
      return `${message}. ${remedy}`;
    }
    return 'nothing is missing';
  };
  expect(refusal([1])).toContain(
    'this machine lacks kube-scheduler, kubelet, kube-proxy, agnhost, containerd, ctr, portmap. ' +
      'Install the Debian packages containerd, containernetworking-plugins.',
  );
  expect(refusal([2])).toContain('agnhost, portmap, containerd 2. ');
  expect(refusal([2])).toContain('npm test -- --only cluster');
});

test('with the embedded API server, etcd and kube-apiserver may be missing', () => {
  const others = ['kube-controller-manager', 'kubectl', ...cluster];
  const path = put('bin', [...system, 'vtysh', 'portmap', ...containerd, ...others]);
  const env = { CADASTRE_CACHE: join(root, 'cache'), PATH: path };
  const find = (apiServer: 'real' | 'embedded') =>
    findPrograms(env, { containerds: [1], apiServer }, []);
  expect(find('embedded').path('kubelet')).toBe(join(path, 'kubelet'));
  expect(() => find('real')).toThrow('this machine lacks etcd, kube-apiserver');
});
