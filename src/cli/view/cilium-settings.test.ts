import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { ciliumAt, readCiliumSource } from './cilium-settings.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-cilium-config-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const noCluster = () => Promise.reject(new Error('no cluster is needed for a file'));
function readFile(text: string) {
  const path = join(dir, 'file.yaml');
  writeFileSync(path, text);
  return ciliumAt({ kind: 'file', path }, noCluster);
}

test('NAMESPACE/NAME is an object, what ends like a file or cannot be a name is a file', () => {
  expect(readCiliumSource(true)).toEqual({
    kind: 'configMap',
    namespace: 'kube-system',
    name: 'cilium-config',
  });
  expect(readCiliumSource('cilium/cilium-config')).toEqual({
    kind: 'configMap',
    namespace: 'cilium',
    name: 'cilium-config',
  });
  for (const path of ['values.yaml', 'helm/values.yml', './x/y', '/etc/cilium', 'a/b/c', '']) {
    expect(readCiliumSource(path)).toEqual({ kind: 'file', path });
  }
});

const data = { ipam: 'kubernetes' };

test('a file has the ConfigMap, a list with it, or Helm values', async () => {
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'cilium-config' }, data };
  const other = { ...map, metadata: { name: 'bgp-config' }, data: {} };
  const ipamOf = async (value: unknown) => (await readFile(JSON.stringify(value))).settings.ipam;
  expect(await ipamOf(map)).toBe('kubernetes');
  expect(await ipamOf({ apiVersion: 'v1', kind: 'List', items: [other, map] })).toBe('kubernetes');
  expect(await ipamOf({ ipam: { mode: 'multi-pool' } })).toBe('multi-pool');
  const documents = `---\n${JSON.stringify(other)}\n---\n${JSON.stringify(map)}\n`;
  expect((await readFile(documents)).settings.ipam).toBe('kubernetes');
});

test('any other file is refused with what it is not, and a setting that is wrong with its key', async () => {
  await expect(readFile('a: 1')).rejects.toThrow(/neither the ConfigMap cilium-config nor Helm/);
  await expect(readFile('')).rejects.toThrow(/neither/);
  await expect(readFile('{')).rejects.toThrow(/not YAML or JSON/);
  await expect(readFile('ipam: {}\nipv6: {enabled: maybe}')).rejects.toThrow(
    /enable-ipv6: "maybe" is neither true nor false/,
  );
  const missing = { kind: 'file', path: join(dir, 'missing') } as const;
  await expect(ciliumAt(missing, noCluster)).rejects.toThrow(/there is no such file/);
});

const named = { kind: 'configMap', namespace: 'cilium', name: 'its-config' } as const;
const clusterThat = (get: () => Promise<unknown>) =>
  ciliumAt(named, (use) => use({ get } as unknown as KubeClient));

test('the ConfigMap of a cluster is read under whatever name it has', async () => {
  const { settings, where } = await clusterThat(async () => ({ data }));
  expect([settings.ipam, where]).toEqual(['kubernetes', 'ConfigMap cilium/its-config']);
});

test('a ConfigMap that is not there, or may not be read, is named with what to do', async () => {
  const fails = (status: number) =>
    clusterThat(() => Promise.reject(new ApiError({ request: 'GET /', status })));
  await expect(fails(404)).rejects.toMatchObject({
    message: '--cilium-config: ConfigMap cilium/its-config: there is no such object',
    remedy: expect.stringMatching(/--cilium-config=NAMESPACE\/NAME/),
  });
  await expect(fails(403)).rejects.toMatchObject({
    remedy: expect.stringMatching(/resourceNames \[its-config\], in the namespace cilium/),
  });
});
