import { expect, test } from 'vitest';
import { CadastreError } from '../../base/errors.ts';
import { readCiliumConfig } from '../../model/cilium-config.ts';
import { contradictions, flagsOfCilium } from './cilium-flags.ts';
import { type IpamFlagValues, readIpamFlags } from './ipam-flags.ts';

const where = 'ConfigMap kube-system/cilium-config';
const cilium = (data: Record<string, string>) => ({ settings: readCiliumConfig({ data }), where });
const pooled = cilium({
  ipam: 'cluster-pool',
  'enable-ipv4': 'true',
  'enable-ipv6': 'false',
  'cluster-pool-ipv4-cidr': '10.5.112.0/21 10.6.0.0/21',
  'cluster-pool-ipv4-mask-size': '25',
  'cluster-pool-ipv6-cidr': 'fd00::/104',
});

test('mode, families, CIDRs and mask size are those of Cilium', () => {
  const { mode, rules, clusterPool } = readIpamFlags(flagsOfCilium({}, pooled));
  expect(mode.name).toBe('cluster-pool');
  expect(rules.families).toEqual(new Set(['ipv4']));
  expect(clusterPool?.cidrs.map(String)).toEqual(['10.5.112.0/21', '10.6.0.0/21']);
  expect(clusterPool?.blockSize).toEqual({ ipv4: 25 });
});

test('both families, in the sizes that Cilium has them by default', () => {
  const both = cilium({
    'enable-ipv6': 'true',
    'cluster-pool-ipv4-cidr': '10.0.0.0/16',
    'cluster-pool-ipv6-cidr': 'fd00::/104',
  });
  const { clusterPool } = readIpamFlags(flagsOfCilium({}, both));
  expect(clusterPool?.blockSize).toEqual({ ipv4: 24, ipv6: 112 });
});

test.each([
  ['cluster-pool-v2beta', 'cluster-pool-v2'],
  ['multi-pool', 'multi-pool'],
  ['kubernetes', 'kubernetes'],
])('ipam %s is served by mode %s', (ipam, mode) => {
  const given = cilium({ ipam, 'cluster-pool-ipv4-cidr': '10.0.0.0/16' });
  expect(readIpamFlags(flagsOfCilium({}, given)).mode.name).toBe(mode);
});

test('a flag given by hand wins, and what it does not say is still read', () => {
  const flags = { clusterPoolIpv4MaskSize: '24', enableIpv6: true };
  const { clusterPool } = readIpamFlags(flagsOfCilium(flags, pooled));
  expect(clusterPool?.blockSize).toEqual({ ipv4: 24, ipv6: 112 });
  expect(clusterPool?.cidrs.map(String)).toEqual(['10.5.112.0/21', '10.6.0.0/21', 'fd00::/104']);
});

test('a mode by hand that takes its pools from objects gets no CIDRs', () => {
  const { mode, clusterPool } = readIpamFlags(flagsOfCilium({ ipam: 'ip-pool' }, pooled));
  expect([mode.name, clusterPool]).toEqual(['ip-pool', undefined]);
});

test('every flag that says something else is named, all in one line', () => {
  const flags: IpamFlagValues = {
    ipam: 'cluster-pool-v2',
    enableIpv6: 'true',
    clusterPoolIpv4Cidr: ['10.7.0.0/16'],
    clusterPoolIpv4MaskSize: '24',
  };
  expect(contradictions(flags, pooled)).toBe(
    `flags win over ${where}: --ipam=cluster-pool-v2 (there: cluster-pool), --cluster-pool-ipv4-cidr=10.7.0.0/16 (there: 10.5.112.0/21,10.6.0.0/21), --cluster-pool-ipv4-mask-size=24 (there: 25), --enable-ipv6=true (there: false)`,
  );
});

test('a flag that says the same is no contradiction, in whatever order', () => {
  const flags = {
    ipam: 'cluster-pool',
    enableIpv4: true,
    clusterPoolIpv4Cidr: ['10.6.0.0/21', '10.5.112.0/21'],
    clusterPoolIpv4MaskSize: '25',
  };
  expect(contradictions(flags, pooled)).toBeUndefined();
  expect(contradictions({}, pooled)).toBeUndefined();
});

function refusal(ipam: string, flags: IpamFlagValues = {}): CadastreError | undefined {
  try {
    flagsOfCilium(flags, cilium({ ipam }));
    return undefined;
  } catch (error) {
    if (error instanceof CadastreError) return error;
    throw error;
  }
}

test('a mode that we cannot serve is refused by name, with what to do', () => {
  expect(refusal('eni')?.message).toBe(
    `--cilium-config: ${where}: ipam is eni, a mode that Cadastre does not serve`,
  );
  expect(refusal('eni')?.remedy).toMatch(/keep the allocator that you have/);
  expect(refusal('delegated-plugin')?.remedy).toMatch(/--ipam ip-pool/);
});

test('with --ipam by hand it is not: agents that leave allocation to a plugin take any mode', () => {
  const flags = { ipam: 'ip-pool' };
  expect(refusal('delegated-plugin', flags)).toBeUndefined();
  expect(contradictions(flags, cilium({ ipam: 'delegated-plugin' }))).toBeUndefined();
  expect(contradictions(flags, cilium({ ipam: 'eni' }))).toMatch(/--ipam=ip-pool \(there: eni\)/);
});
