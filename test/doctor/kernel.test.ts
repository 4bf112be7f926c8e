/**
 * `doctor --kernel` on the kernel itself: a namespace with the address of a node
 * and the routes that Cilium, our agent, and somebody's mistake would have made.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDoctorIn } from './doctor-inside.ts';

const namespace = `cad-${process.pid}-kernel`;
const folder = mkdtempSync(join(tmpdir(), 'cadastre-kernel-'));
const cluster = join(folder, 'cluster.json');

const ip = (...args: string[]) => execFileSync('ip', args);
const inside = (...args: string[]) => ip('-n', namespace, ...args);

beforeAll(() => {
  ip('netns', 'add', namespace);
  inside('link', 'set', 'lo', 'up');
  inside('link', 'add', 'eth0', 'type', 'bridge');
  inside('addr', 'add', '10.0.0.1/24', 'dev', 'eth0');
  inside('addr', 'add', 'fd00::1/64', 'dev', 'eth0', 'nodad');
  inside('link', 'set', 'eth0', 'up');
  inside('route', 'add', 'default', 'via', '10.0.0.254');
  // Its own block, as Cilium has it: by an address of that very block.
  inside('link', 'add', 'cilium_host', 'type', 'bridge');
  inside('addr', 'add', '10.1.0.7/32', 'dev', 'cilium_host');
  inside('link', 'set', 'cilium_host', 'up');
  inside('route', 'add', '10.1.0.7/32', 'dev', 'cilium_host');
  inside('route', 'add', '10.1.0.0/24', 'via', '10.1.0.7', 'dev', 'cilium_host');
  // Ways to the others: one true, one over a third.
  inside('route', 'add', '10.1.1.0/24', 'via', '10.0.0.2', 'proto', '83');
  inside('route', 'add', '10.1.2.0/24', 'via', '10.0.0.2');
  const node = (name: string, at: number) => [
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, uid: `uid-${name}` },
      status: { addresses: [{ type: 'InternalIP', address: `10.0.0.${at}` }] },
    },
    {
      apiVersion: 'cilium.io/v2',
      kind: 'CiliumNode',
      metadata: { name },
      spec: { ipam: { podCIDRs: [`10.1.${at - 1}.0/24`] } },
    },
  ];
  const items = [...node('a', 1), ...node('b', 2), ...node('c', 3)];
  writeFileSync(cluster, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  ip('netns', 'delete', namespace);
});

test('knows which node it is on, and finds the block that goes by a third', async () => {
  const { code, report } = await runDoctorIn(namespace, ['--from', cluster, '--kernel']);
  const source = report.sources.find(({ kind }) => kind === 'kernel');
  expect(source).toMatchObject({ name: 'kernel of a', state: 'seen', holds: '3 routes' });
  const detours = report.findings.filter(({ reason }) => reason === 'Detour');
  expect(detours).toMatchObject([{ node: 'b', owner: 'c', prefix: '10.1.2.0/24' }]);
  expect(detours[0]?.says['kernel of a']).toBe('via 10.0.0.2 (b)');
  expect(report.findings.filter(({ reason }) => reason === 'SourcesDisagree')).toEqual([]);
  expect(code).toBe(1);
});

test('a block that the kernel takes for its own and the records give to another', async () => {
  inside('route', 'replace', 'blackhole', '10.1.2.0/24');
  inside('route', 'del', '10.1.0.0/24');
  const { report } = await runDoctorIn(namespace, ['--from', cluster, '--kernel']);
  const [finding] = report.findings.filter(({ reason }) => reason === 'SourcesDisagree');
  expect(finding).toMatchObject({ node: 'a' });
  expect(Object.values(finding?.says ?? {}).join()).toContain('10.1.2.0/24');
});
