import { expect, test } from 'vitest';
import { modes } from '../../model/modes.ts';
import { readOperatorReport } from '../../model/operator-report.ts';
import { operatorSettings } from '../../operator/operator-settings.ts';
import { reportOf } from '../../operator/settings-reporter.ts';
import { type IpamFlagValues, readIpamFlags } from './ipam-flags.ts';
import { flagsOfOperator } from './operator-flags.ts';

/** What an operator with these flags writes, as whoever looks reads it. */
function reported(flags: IpamFlagValues) {
  const { mode, ...ipam } = readIpamFlags(flags);
  const spec = reportOf(operatorSettings(mode, 'host_1', ipam));
  const object = { metadata: { name: 'cadastre' }, spec: JSON.parse(JSON.stringify(spec)) };
  return readOperatorReport(object)!;
}

const pooled: IpamFlagValues = {
  ipam: 'cluster-pool',
  clusterPoolIpv4Cidr: ['10.5.112.0/21', '10.6.0.0/16'],
  clusterPoolIpv4MaskSize: '25',
  clusterPoolIpv6Cidr: ['fd00:5::/48'],
  clusterPoolIpv6MaskSize: '64',
  enableIpv6: 'true',
  cooldownSeconds: '7',
  releaseByTimeSeconds: '0',
  maxBlocksPerNode: '3',
  adoptFrom: ['spec', 'annotation'],
};

test.each<[string, IpamFlagValues]>([
  ['cluster-pool with everything', pooled],
  ['cluster-pool-v2', { ipam: 'cluster-pool-v2', clusterPoolIpv4Cidr: ['10.0.0.0/8'] }],
  ['ip-pool', { ipam: 'ip-pool' }],
  ['ip-pool with IPv6 alone', { ipam: 'ip-pool', enableIpv4: 'false' }],
  ['ip-pool with both', { ipam: 'ip-pool', enableIpv6: 'true' }],
  ['multi-pool', { ipam: 'multi-pool' }],
  ['kubernetes', { ipam: 'kubernetes' }],
])('whoever looks without flags has the settings of an operator in %s', (_, flags) => {
  expect(readIpamFlags(flagsOfOperator({}, reported(flags)))).toEqual(readIpamFlags(flags));
});

test('a flag wins over what the operator was started with, one by one', () => {
  const flags = flagsOfOperator({ clusterPoolIpv4Cidr: ['10.9.0.0/16'] }, reported(pooled));
  expect(flags).toMatchObject({
    ipam: 'cluster-pool',
    clusterPoolIpv4Cidr: ['10.9.0.0/16'],
    clusterPoolIpv4MaskSize: '25',
  });
});

test('a family that a flag switches off has no pool of the operator either', () => {
  const { clusterPool } = readIpamFlags(flagsOfOperator({ enableIpv6: 'false' }, reported(pooled)));
  expect(clusterPool?.cidrs.map(String)).toEqual(['10.5.112.0/21', '10.6.0.0/16']);
});

test('another mode by --ipam has nothing of the mode that the operator runs in', () => {
  expect(flagsOfOperator({ ipam: 'ip-pool' }, reported(pooled))).toEqual({ ipam: 'ip-pool' });
});

test('a mode of a newer version is not read as another one', () => {
  expect(readOperatorReport({ spec: { mode: 'eni' } })).toBeUndefined();
  expect(Object.keys(modes)).not.toContain('eni');
});
