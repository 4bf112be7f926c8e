import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseCiliumVersion, readCiliumConfig } from './cilium-config.ts';
import {
  announcedFrom,
  ciliumOperatorAllocates,
  ciliumSupport,
  compareReleases,
  curedByUpgrade,
  howToTakeOver,
  needsRestart,
  supportCells,
  supportColumns,
  supportOf,
  whatTheAgentReads,
} from './cilium-support.ts';

const v = (minor: number) => ({ major: 1, minor });

describe('versions', () => {
  test('are compared as numbers, not as text', () => {
    expect(compareReleases(v(9), v(12))).toBeLessThan(0);
    expect(compareReleases(v(17), v(2))).toBeGreaterThan(0);
    expect(compareReleases({ major: 2, minor: 0 }, v(20))).toBeGreaterThan(0);
  });

  test('an upgrade is advised only to those who are older', () => {
    expect(curedByUpgrade(v(9))).toBe(true);
    expect(curedByUpgrade(v(11))).toBe(true);
    expect(curedByUpgrade(v(12))).toBe(false);
    expect(curedByUpgrade(v(17))).toBe(false);
    expect(curedByUpgrade(undefined)).toBe(false);
  });
});

describe('a row', () => {
  test.each(['kubernetes', 'cluster-pool'])('%s: exactly one for every version', (mode) => {
    for (let minor = 0; minor < 40; minor++) {
      const row = supportOf(mode, v(minor));
      expect(row?.mode).toBe(mode);
    }
  });

  test('no two rows of a mode speak of the same version', () => {
    for (const mode of new Set(ciliumSupport.map((row) => row.mode))) {
      for (let minor = 0; minor < 40; minor++) {
        const found = ciliumSupport.filter(
          ({ mode: of, from, to }) =>
            of === mode && (from?.minor ?? 0) <= minor && minor <= (to?.minor ?? 99),
        );
        expect(found.length).toBeLessThanOrEqual(1);
      }
    }
  });

  test('cluster-pool-v2beta existed in 1.12 to 1.14 alone, multi-pool from 1.14 on', () => {
    const versions = (mode: string) =>
      Array.from({ length: 22 }, (_, minor) => minor).filter((minor) => supportOf(mode, v(minor)));
    expect(versions('cluster-pool-v2')).toEqual([12, 13, 14]);
    expect(versions('multi-pool')[0]).toBe(14);
    expect(whatTheAgentReads('cluster-pool-v2', v(17))).toBe(
      'Cilium 1.17 has no mode cluster-pool-v2beta',
    );
  });

  test('an agent with a fixed allocator must be started again; multi-pool need not', () => {
    expect(needsRestart('cluster-pool', v(17))).toBe(true);
    expect(needsRestart('kubernetes', v(20))).toBe(true);
    expect(needsRestart('multi-pool', v(17))).toBe(false);
  });

  test('annotations need a setting from 1.12 on', () => {
    expect(supportOf('kubernetes', v(11))?.needs).toEqual([]);
    expect(supportOf('kubernetes', v(12))?.needs.join()).toContain('annotate-k8s-node');
    expect(supportOf('kubernetes', v(20))?.needs.join()).toContain('annotate-k8s-node');
  });
});

describe('what BGP announces', () => {
  const settings = (data: Record<string, string>, version: string) => ({
    ...readCiliumConfig({ data }),
    version: parseCiliumVersion(version),
  });

  test('is Node.spec up to 1.11, whatever the mode', () => {
    const data = { ipam: 'cluster-pool', 'bgp-announce-pod-cidr': 'true' };
    expect(announcedFrom(settings(data, '1.11.4'))).toBe('Node.spec.podCIDRs');
    expect(announcedFrom(settings(data, '1.12.1'))).toBe('CiliumNode.spec.ipam.podCIDRs');
  });

  test('is the copy in CiliumNode in mode kubernetes from 1.15 on', () => {
    const data = { ipam: 'kubernetes', 'enable-bgp-control-plane': 'true' };
    expect(announcedFrom(settings(data, '1.14'))).toBe('Node.spec.podCIDRs');
    expect(announcedFrom(settings(data, '1.17.15'))).toBe('CiliumNode.spec.ipam.podCIDRs');
  });
});

test('taking over leaves cilium-operator running and the agents as they are', () => {
  const { steps = [], project } = howToTakeOver('cluster-pool', v(17)) ?? {};
  expect(project).toBe('ciliumnode');
  expect(steps.join()).toContain('--ipam=kubernetes');
  expect(steps.join()).not.toMatch(/scale|delegated/);
  expect(howToTakeOver('delegated-plugin', v(17))).toBeUndefined();
});

test('docs/cilium.md has the table, cell by cell', () => {
  const page = readFileSync(new URL('../../docs/cilium.md', import.meta.url), 'utf8');
  const cells = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  expect(cells).toContainEqual([...supportColumns]);
  for (const row of ciliumSupport) expect(cells).toContainEqual(supportCells(row));
});

test.each([
  ['kubernetes', false],
  ['cluster-pool', true],
  ['cluster-pool-v2beta', true],
  ['multi-pool', true],
  ['delegated-plugin', false],
  ['eni', false],
])('in mode %s cilium-operator cuts blocks: %s', (mode, isSo) => {
  expect(ciliumOperatorAllocates(mode)).toBe(isSo);
});
