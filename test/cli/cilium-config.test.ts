/** `--cilium-config`: the settings that Cilium has already, in place of flags that repeat them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { fixture, run } from './collecting-terminal.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-cilium-config-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const values = `${fixture('cilium')}/values.yaml`;
const configMap = `${fixture('cilium')}/cilium-config.yaml`;
const incident = ['--from', fixture('incident')];
const byHand = ['--ipam', 'cluster-pool', '--cluster-pool-ipv4-cidr', '10.5.112.0/21'];

function file(text: string): string {
  const path = join(dir, 'given.yaml');
  writeFileSync(path, text);
  return path;
}

describe('plan', () => {
  test.each([
    ['Helm values', [...incident, '--cilium-config', values]],
    ['a file with the ConfigMap', [...incident, `--cilium-config=${configMap}`]],
    ['the ConfigMap among the objects', [...incident, '--from', configMap, '--cilium-config']],
  ])('with %s says what it says with the same flags by hand', async (_, flags) => {
    const expected = await run(['plan', ...incident, ...byHand]);
    expect(await run(['plan', ...flags])).toEqual(expected);
    expect(expected.code).toBe(0);
  });

  test('a flag by hand wins, and one line says against what', async () => {
    const flags = [...incident, '--cilium-config', values, '--cluster-pool-ipv4-mask-size', '25'];
    const { stdout, stderr } = await run(['plan', ...flags]);
    expect(stdout).toMatch(/^cluster-pool +16 /m);
    expect(stderr.split('\n')[0]).toBe(
      `warning: flags win over ${values}: --cluster-pool-ipv4-mask-size=25 (there: 24)`,
    );
  });

  test('a mode that Cadastre does not serve is refused by name, with what to do', async () => {
    const flags = ['--cilium-config', file('ipam: {mode: eni}')];
    const { code, stderr } = await run(['plan', ...incident, ...flags]);
    expect(code).toBe(2);
    expect(stderr).toContain('ipam is eni, a mode that Cadastre does not serve');
    expect(stderr).toContain('keep the allocator that you have');
  });

  test('values without a range name the flag that is missing: none is guessed', async () => {
    const flags = ['--cilium-config', file('ipam: {mode: cluster-pool}')];
    const { code, stderr } = await run(['plan', ...incident, ...flags]);
    expect(code).toBe(2);
    expect(stderr).toContain('--cluster-pool-ipv4-cidr is missing');
  });

  test('objects without the ConfigMap are refused: its settings would be guessed', async () => {
    const { code, stderr } = await run(['plan', ...incident, '--cilium-config']);
    expect(code).toBe(1);
    expect(stderr).toContain('ConfigMap kube-system/cilium-config is not in the files of --from');
  });
});

test('pools, migrate plan and explain read the same pool', async () => {
  const flags = [...incident, '--cilium-config', values];
  expect((await run(['pools', ...flags])).stdout).toMatch(/^cluster-pool /m);
  expect(await run(['explain', 'node1', ...flags])).toEqual(
    await run(['explain', 'node1', ...incident, ...byHand]),
  );
  expect(await run(['migrate', 'plan', ...flags])).toEqual(
    await run(['migrate', 'plan', ...incident, ...byHand]),
  );
});

test('doctor takes mode, range and announcing from it, and finds the incident', async () => {
  const version = ['--cilium-version', '1.11'];
  const live = await run(['doctor', ...incident, '--from', configMap, ...version]);
  const given = await run(['doctor', ...incident, '--cilium-config', values, ...version]);
  expect(given.stdout).toContain('ipam cluster-pool, 10.5.112.0/21 in /24');
  expect(given.stdout).toContain('announces pods by BGP');
  const findings = ({ stdout }: { stdout: string }) =>
    stdout.match(/^ .*\[(critical|warning)\]$/gm);
  expect(findings(given)?.length).toBeGreaterThan(0);
  expect(findings(given)).toEqual(findings(live));
  expect(given.code).toBe(live.code);
});

test('the operator judges it before it asks any cluster', async () => {
  const { code, stderr } = await run(['operator', '--cilium-config', file('ipam: {mode: azure}')]);
  expect(code).toBe(2);
  expect(stderr).toContain('ipam is azure');
});
