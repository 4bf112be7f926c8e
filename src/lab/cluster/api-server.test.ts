import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findKubeParts } from './api-server.ts';

const dir = mkdtempSync(join(tmpdir(), 'lab-parts-'));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function make(folder: string, ...names: string[]): string {
  const path = join(dir, folder);
  mkdirSync(path, { recursive: true });
  for (const name of names) writeFileSync(join(path, name), '');
  return path;
}

test('the real API server is found in the named folder, the path, the cache; half of it is none', () => {
  const env = { HOME: dir, PATH: make('path', 'etcd') };
  expect(findKubeParts(env)).toBeUndefined();
  const built = make('.cache/cadastre/parts/kube-0123abcd', 'etcd', 'kube-apiserver');
  make('.cache/cadastre/parts/kube-0123abcd.77.tmp', 'etcd', 'kube-apiserver');
  expect(findKubeParts(env)).toBe(built);
  const bin = make('bin', 'etcd', 'kube-apiserver');
  expect(findKubeParts({ ...env, PATH: `${env.PATH}:${bin}` })).toBe(bin);
  const named = make('named', 'etcd', 'kube-apiserver');
  expect(findKubeParts({ ...env, PATH: bin, KUBEBUILDER_ASSETS: named })).toBe(named);
});
