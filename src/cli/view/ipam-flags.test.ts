import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { CadastreError } from '../../base/errors.ts';
import { modes } from '../../model/modes.ts';
import { addIpamFlags, type IpamSettings, readIpamFlags } from './ipam-flags.ts';

function read(line: string): IpamSettings {
  const command = addIpamFlags(new Command().exitOverride());
  command.parse(line === '' ? [] : line.split(' '), { from: 'user' });
  return readIpamFlags(command.opts());
}

function refusal(line: string): string {
  try {
    read(line);
  } catch (error) {
    if (error instanceof CadastreError && error.code === 'BAD_FLAG') return error.message;
    throw error;
  }
  return 'accepted';
}

describe('the flags that say how blocks are given out', () => {
  test('nothing said means pools, both families as the pools offer them, every record', () => {
    expect(read('')).toEqual({
      mode: modes['ip-pool'],
      compared: [],
      rules: { families: 'auto', byDemand: false },
      sources: ['report', 'ciliumnode', 'spec', 'annotation', 'old-annotation'],
      serviceNetworks: [],
    });
  });

  test.each([
    ['--enable-ipv4', 'auto'],
    ['--enable-ipv4=true', 'auto'],
    ['--enable-ipv4=false', ['ipv6']],
    ['--enable-ipv6', ['ipv4', 'ipv6']],
    ['--enable-ipv6=false', ['ipv4']],
    ['--enable-ipv6 --enable-ipv4=false', ['ipv6']],
  ])('ip-pool with %s serves %s', (line, wanted) => {
    const { families } = read(line).rules;
    expect(families === 'auto' ? families : [...families]).toEqual(wanted);
  });

  test('cluster-pool takes CIDRs by repetition and by comma, and keeps their order', () => {
    const { clusterPool, rules } = read(
      '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.9.0.0/16,10.1.0.0/16 --cluster-pool-ipv4-cidr=10.5.0.0/16',
    );
    expect(clusterPool?.cidrs.join(' ')).toBe('10.9.0.0/16 10.1.0.0/16 10.5.0.0/16');
    expect(clusterPool?.blockSize).toEqual({ ipv4: 24 });
    expect(clusterPool?.cooldownSeconds).toBe(300);
    expect(rules).toEqual({ families: new Set(['ipv4']), byDemand: false });
  });

  test('cluster-pool-v2 serves both families by demand when told to', () => {
    const { clusterPool, rules } = read(
      '--ipam cluster-pool-v2 --enable-ipv6 --cluster-pool-ipv4-cidr 10.0.0.0/8 --cluster-pool-ipv4-mask-size 26 --cluster-pool-ipv6-cidr fd00::/104 --cooldown-seconds 9',
    );
    expect(rules).toEqual({ families: new Set(['ipv4', 'ipv6']), byDemand: true });
    expect(clusterPool?.blockSize).toEqual({ ipv4: 26, ipv6: 112 });
    expect(clusterPool?.cooldownSeconds).toBe(9);
  });

  test('a Service network inside the cluster pool is reserved there', () => {
    const { clusterPool, serviceNetworks } = read(
      '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.0.0.0/8 --service-cidr 10.96.0.0/12,192.168.0.0/16',
    );
    expect(clusterPool?.reserved.join(' ')).toBe('10.96.0.0/12');
    expect(serviceNetworks.map(({ prefix }) => prefix.toString())).toEqual([
      '10.96.0.0/12',
      '192.168.0.0/16',
    ]);
  });

  test('records are believed in the order given, both annotations as one', () => {
    expect(read('--adopt-from annotation,report,spec').sources).toEqual([
      'annotation',
      'old-annotation',
      'report',
      'spec',
    ]);
  });

  test('what agents report that they use is believed first, unless the list says where', () => {
    expect(read('--adopt-from spec').sources).toEqual(['report', 'spec']);
    expect(read('').sources[0]).toBe('report');
  });

  test('mode kubernetes believes Node.spec, then the annotation, and CiliumNode last', () => {
    expect(read('--ipam kubernetes').sources).toEqual([
      'spec',
      'annotation',
      'old-annotation',
      'ciliumnode',
    ]);
  });

  test.each([
    ['--ipam magic', '--ipam=magic is not a mode Cadastre knows'],
    ['--ipam toString', '--ipam=toString is not a mode Cadastre knows'],
    ['--enable-ipv4=maybe', '--enable-ipv4=maybe is neither true nor false'],
    [
      '--enable-ipv4=false --enable-ipv6=false',
      '--enable-ipv4 and --enable-ipv6 are both off; at least one family must be on',
    ],
    ['--ipam cluster-pool', '--cluster-pool-ipv4-cidr is missing, but --enable-ipv4 is on'],
    [
      '--ipam cluster-pool --enable-ipv6 --cluster-pool-ipv4-cidr 10.0.0.0/8',
      '--cluster-pool-ipv6-cidr is missing, but --enable-ipv6 is on',
    ],
    [
      '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.0.0.0/8 --cluster-pool-ipv6-cidr fd00::/104',
      '--cluster-pool-ipv6-cidr=fd00::/104 is given, but --enable-ipv6 is off',
    ],
    [
      '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.0.0.0/8,10.5.0.0/16',
      '--cluster-pool-ipv4-cidr: 10.5.0.0/16 overlaps 10.0.0.0/8',
    ],
    [
      '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.0.0.3/8',
      '--cluster-pool-ipv4-cidr: "10.0.0.3/8" has host bits set; the block is 10.0.0.0/8',
    ],
    [
      '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.0.0.0/26',
      '--cluster-pool-ipv4-mask-size=24 does not fit: 10.0.0.0/26 is smaller than a /24 block',
    ],
    [
      '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.0.0.0/8 --cluster-pool-ipv4-mask-size 33',
      '--cluster-pool-ipv4-mask-size=33 is not a whole number from 1 to 32',
    ],
    [
      '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.0.0.0/8 --cluster-pool-ipv4-mask-size 24.5',
      '--cluster-pool-ipv4-mask-size=24.5 is not a whole number from 1 to 32',
    ],
    [
      '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.0.0.0/8 --cooldown-seconds -1',
      '--cooldown-seconds=-1 is not a whole number from 0 to 1000000000',
    ],
    [
      '--cluster-pool-ipv4-cidr 10.0.0.0/8',
      '--cluster-pool-ipv4-cidr=10.0.0.0/8 means nothing with --ipam ip-pool',
    ],
    ['--cooldown-seconds 5', '--cooldown-seconds=5 means nothing with --ipam ip-pool'],
    ['--service-cidr 10.96.0.0', '--service-cidr: "10.96.0.0" has no prefix length'],
    ['--adopt-from spec,etcd', '--adopt-from=spec,etcd has "etcd", which is no record of blocks'],
    ['--adopt-from spec,spec', '--adopt-from=spec,spec names spec twice'],
    [
      '--ipam kubernetes --adopt-from spec',
      '--adopt-from=spec means nothing with --ipam kubernetes',
    ],
  ])('%s is refused', (line, sentence) => {
    expect(refusal(line)).toBe(sentence);
  });

  test('several mistakes are told at once', () => {
    expect(
      refusal(
        '--ipam cluster-pool --enable-ipv6 --cluster-pool-ipv4-cidr 10.0.0.0/33 --cluster-pool-ipv6-mask-size 64',
      ),
    ).toBe(
      '--cluster-pool-ipv4-cidr: "10.0.0.0/33" has a prefix length beyond 32; --cluster-pool-ipv6-cidr is missing, but --enable-ipv6 is on',
    );
  });
});
